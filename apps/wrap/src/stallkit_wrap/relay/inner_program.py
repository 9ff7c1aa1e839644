"""The program behind a relay: started on a terminal of its own, with the job control that it would have had outside.

A shell stops and continues its jobs.  A program that a shell started through a relay can be stopped by Ctrl-Z only if
its parent is in its own terminal's session, as the kernel stops no group that nobody could continue: a go-between, a
child of the relay, is that parent.  It stops itself when the program is stopped, which the relay sees.  A program whose
relay is itself the first process of a terminal, as in a pane of tmux, had no such parent outside, and gets none.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import termios
from contextlib import suppress
from typing import NoReturn, Sequence

from stallkit.errors import StartRefused

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


class InnerProgram:
    """A running program, by the child that the relay waits for: the program itself, or its go-between."""

    def __init__(self, child: int, program: int) -> None:
        self.pid = program
        self.leader = child  # of its terminal's session
        self.status: int | None = None  # as os.wait gives it, once it has ended

    @classmethod
    def start(cls, command: Sequence[str], terminal: int, keep_stderr: bool) -> InnerProgram:
        """Start a program on a terminal, given by the slave's descriptor; its standard error may stay the relay's.

        The process must have one thread only.  Raises StartRefused where it cannot be started.
        """
        between = os.getsid(os.getppid()) == os.getsid(0)
        told, tells = os.pipe()  # the program's pid, then the number of an error; closed by exec
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                os.close(told)
                os.setsid()
                fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
                if between:
                    _go_between(command, terminal, keep_stderr, tells)
                else:
                    _tell(tells, os.getpid())
                    _become(command, terminal, keep_stderr, tells)
            os._exit(_NOT_EXECUTABLE)
        os.close(tells)
        with os.fdopen(told, "rb") as said:
            words = said.read().split()
        if len(words) != 1:
            os.waitpid(child, 0)
            number = int(words[1]) if len(words) > 1 else errno.EAGAIN
            raise StartRefused(command[0], os.strerror(number), "check the command")
        return cls(child, int(words[0]))

    def look(self) -> bool:
        """Note whether it has ended; True where it was stopped by job control."""
        if self.status is None:
            pid, status = os.waitpid(self.leader, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                return self.leader != self.pid
            if pid:
                self.status = status
        return False

    def resume(self) -> None:
        """Continue a program that was stopped."""
        with suppress(ProcessLookupError):
            os.kill(self.leader, signal.SIGCONT)

    def signal(self, number: int) -> None:
        """Pass on a signal to its process group, as a shell sends it to a job."""
        if self.status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)


def _go_between(command: Sequence[str], terminal: int, keep_stderr: bool, tells: int) -> NoReturn:
    """Start the program in a group of its own, stop and continue with it, and end as it ends."""
    for number in (*FORWARDED, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # its end tells the terminal's foreground that the terminal is gone
    program = os.fork()
    if program == 0:
        with suppress(BaseException):
            os.setpgid(0, 0)
            os.tcsetpgrp(terminal, os.getpid())  # SIGTTOU is still ignored
            _tell(tells, os.getpid())
            for number in (*FORWARDED, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
                signal.signal(number, signal.SIG_DFL)
            _become(command, terminal, keep_stderr, tells)
        os._exit(_NOT_EXECUTABLE)
    with suppress(BaseException):
        # Above all the master: with the relay it closes.
        os.closerange(0, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        status = os.waitpid(program, os.WUNTRACED)[1]
        while os.WIFSTOPPED(status):
            os.kill(os.getpid(), signal.SIGSTOP)
            os.killpg(program, signal.SIGCONT)
            status = os.waitpid(program, os.WUNTRACED)[1]
        end_as(status)
    os._exit(_NOT_EXECUTABLE)


def _become(command: Sequence[str], terminal: int, keep_stderr: bool, tells: int) -> NoReturn:
    """Run the program in this process."""
    try:
        for descriptor in (0, 1) if keep_stderr else (0, 1, 2):
            os.dup2(terminal, descriptor, inheritable=True)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python's own doing
            signal.signal(ignored, signal.SIG_DFL)
        os.execvp(command[0], list(command))
    except OSError as error:
        _tell(tells, error.errno or errno.EIO)
        os._exit(_NOT_FOUND if error.errno == errno.ENOENT else _NOT_EXECUTABLE)


def _tell(tells: int, number: int) -> None:
    os.write(tells, b"%d\n" % number)


def end_as(status: int) -> NoReturn:
    """End this process as another one ended, by its status as os.wait gives it: by the same signal, or exit code."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        with suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.waitstatus_to_exitcode(status))
