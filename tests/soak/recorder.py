"""The first process of a pane: runs a command in the foreground, and finds every byte that it did not read.

    python -I recorder.py RECORD NICE COMMAND...

Once the command has ended, the screen is cleared and the terminal read on: ``after HEX`` is what came since.  SIGUSR1
ends the command, if it still runs: ``left HEX`` is what was waiting in the terminal.  ``status N`` is how it ended.
"""

import os
import select
import signal
import sys
import termios
import tty
from contextlib import suppress

if __name__ != "__main__":  # as somebody else's first argument would be the file that it writes
    raise ImportError("recorder.py is a program, not a module")

record, nice, *command = sys.argv[1:]
handle = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP):
    signal.signal(number, signal.SIG_IGN)
asked: "list[int]" = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
awake, _bell = os.pipe()
os.set_blocking(_bell, False)
os.set_blocking(awake, False)
signal.set_wakeup_fd(_bell)
signal.signal(signal.SIGCHLD, lambda *_: None)  # so that its coming rings as well


def note(text: str) -> None:
    os.write(handle, (text + "\n").encode())


def waiting() -> bytes:
    """Every byte that waits in the terminal, also those of a line that nobody has ended."""
    tty.setraw(0, termios.TCSANOW)
    os.set_blocking(0, False)
    found = b""
    try:
        while True:
            more = os.read(0, 4096)
            if not more:
                break
            found += more
    except BlockingIOError:
        pass
    os.set_blocking(0, True)
    return found


def wait(*handles: int) -> bool:
    """Until one of these can be read, a signal comes, or a second is over; whether one can be read."""
    ready = select.select([*handles, awake], [], [], 1.0)[0]
    with suppress(BlockingIOError):
        os.read(awake, 100)
    return any(handle in ready for handle in handles)


def end(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


os.nice(int(nice))
with suppress(OSError):  # Linux may share out time by sessions, whatever the niceness in each
    group = os.open("/proc/self/autogroup", os.O_WRONLY)
    os.write(group, nice.encode())
    os.close(group)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)
    os.close(handle)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, str(error).encode())
        os._exit(127)
signal.signal(signal.SIGHUP, lambda *_: (end(child), os._exit(0)))

status = None
while status is None and not asked:
    wait()
    found, code = os.waitpid(child, os.WNOHANG)
    status = os.waitstatus_to_exitcode(code) if found else None
os.tcsetpgrp(0, os.getpgrp())
note(f"status {status}")
if status is None:
    end(child)
else:
    os.write(1, b"\033c\033[2J\033[Hwent on\r\n")
note(f"left {waiting().hex()}")
while not asked:
    if wait(0):
        note(f"after {os.read(0, 4096).hex()}")
note("over")
while True:
    signal.pause()
