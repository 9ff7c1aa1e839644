"""The relay between a program and a person's terminal: what passes, how it ends, and what it leaves."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Callable, Iterator

import pytest
from stallkit_wrap.relay.driver import wrapped
from streams import osc
from terminals import wait_for
from wrapped import RAW, RECORDED, Outside, python

from stallkit.config import relay_socket
from stallkit.probes.procfs import Process, all_pids, stat_of, text_of

Start = Callable[..., Outside]


def test_it_ends_as_the_program_ended(start: Start) -> None:
    for status in (0, 7, 255):
        at = start("sh", "-c", f"echo over; exit {status}")
        assert (at.over(), at.seen) == (status, b"over\r\n")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGHUP):
        assert start("sh", "-c", f"kill -{number} $$").over() == -number
    at = start("no-such-program")
    assert at.over() == 127
    assert b"stallkit: could not start no-such-program: No such file or directory; check the command" in at.seen


def test_size_and_its_changes_pass_also_in_pixels(start: Start) -> None:
    code = """
import fcntl, os, signal, struct, termios
def show(*_):
    os.write(1, b"size %d %d %d %d." % struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\\0" * 8)))
signal.signal(signal.SIGWINCH, show)
show()
while True: signal.pause()
"""
    at = start(*python(code), size=(30, 100, 1_000, 600))
    at.shows(b"size 30 100 1000 600.")
    at.resize(31, 101, 1_010, 620)
    at.shows(b"size 31 101 1010 620.")


EVERY_KEY = bytes(range(256)) + b"\x1b[200~pasted\r\n\x1b[201~\x1b[<0;10;20M\x1b[97;5u\x1b[?1;2c" + "✳é".encode()


def test_every_key_passes_as_it_is(start: Start) -> None:
    code = f"os.write(1, b'ready.'); got = b''\nwhile len(got) < {len(EVERY_KEY)}: got += os.read(0, 4096)"
    at = start(*python(f"{RAW}{code}\nos.write(1, got.hex().encode())"))
    at.shows(b"ready.")
    at.type(EVERY_KEY)
    at.shows(EVERY_KEY.hex().encode())


def test_streams_pass_byte_for_byte(start: Start, tmp_path: Path) -> None:
    """Recorded ones, and much of images and colours."""
    image = b"\x1bPq#0;2;0;0;0" + b"#0!14~-" * 30_000 + b"\x1b\\" + b"\x1b_Ga=T,f=100;" + b"QUFB" * 50_000 + b"\x1b\\"
    rest = b"\x1b[38;2;1;2;3mcolour\x1b[0m" * 50_000 + b"\x1b]1337;File=:" + b"QUFB" * 50_000 + b"\a"
    (much := tmp_path / "stream").write_bytes(image + rest + bytes(range(256)))
    for path in (*RECORDED, much):
        data = path.read_bytes()
        assert b"]7501;?" not in data
        at = start(*python(f"{RAW}import shutil; shutil.copyfileobj(open({str(path)!r}, 'rb'), open(1, 'wb'))"))
        assert (at.over(), at.seen) == (0, data), path


ASKING = """
os.write(1, b"\\x1b]7501;?\\x07\\x1b[c")
got = b""
while not got.endswith(b"c"): got += os.read(0, 64)
os.write(1, b"\\x1b]7501;state=blocked:kind=permission:app=acme\\x07got " + got.hex().encode() + b".")
os.read(0, 1)
"""


def test_the_answer_comes_first_and_whoever_asks_is_told_what_the_program_reports(start: Start) -> None:
    at = start(*python(RAW + ASKING))
    assert at.shows(b"\x1b[c") == b"\x1b[c", "the terminal outside is not asked"
    at.type(b"\x1b[?62c")  # as a terminal answers
    at.shows(osc("7501;state=blocked:kind=permission:app=acme", b"\a"))  # passed on
    at.shows(b"got " + (osc("7501;?", b"\a") + b"\x1b[?62c").hex().encode() + b".")
    known = at.known
    assert known is not None and known.marks.root is not None
    assert (known.marks.root.state, known.marks.root.kind, known.marks.root.app) == ("blocked", "permission", "acme")
    assert Process.of(known.pid) and known.foreground == known.pid and known.judged is None
    assert os.readlink(f"/proc/{known.pid}/fd/0") == known.terminal != at.path  # noqa: PTH115
    process = Process.of(at.process.pid)
    assert process is not None
    path = relay_socket(*process)
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    at.type(b"q")
    at.over()
    assert not path.exists()


def test_the_settings_are_those_of_the_terminal_and_restored_in_the_end(start: Start) -> None:
    at = start("sh", "-c", "stty -a | tr ';' '\\n' | grep -x -e ' *-echo' ; stty -echo; echo hidden; read x; exit 3")
    at.shows(b"hidden")
    assert at.raw
    at.type(b"secret\r")
    assert at.over() == 3
    assert b"secret" not in at.seen


def test_signals_pass_and_the_terminal_is_restored(start: Start) -> None:
    for number in [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGHUP]:
        at = start("sh", "-c", f"trap 'echo caught; exit 9' {number}; echo ready; while :; do sleep 0.05; done")
        at.shows(b"ready")
        assert at.raw, number
        at.process.send_signal(number)
        at.process.wait(20)
        assert at.restored, number
        assert at.over() == 9, number
        assert b"caught" in at.seen, number


@pytest.mark.alone
def test_ctrl_c_is_for_the_programs_own_foreground(start: Start) -> None:
    at = start("bash", "--norc", "-c", "trap 'echo interrupted' INT; echo ready; sleep 1000; echo on; exit 4")
    at.shows(b"ready")
    at.type(b"\x03")
    assert at.over() == 4
    assert b"interrupted" in at.seen and b"on" in at.seen


GOES_ON = "trap 'echo hung up > {file}; exit' HUP; echo ready; while :; do sleep 0.05; done"


def test_a_terminal_that_closes_and_a_relay_that_is_killed_hang_the_program_up(start: Start, tmp_path: Path) -> None:
    file, other = tmp_path / "told", tmp_path / "other"
    at = start("sh", "-c", GOES_ON.format(file=file))
    at.shows(b"ready")
    at.hang_up()
    wait_for(file.exists, "the program to be told")
    assert at.process.wait(20) == 0  # the program's own
    at = start("sh", "-c", GOES_ON.format(file=other))
    at.shows(b"ready")
    process = Process.of(at.process.pid)
    assert process is not None and relay_socket(*process).exists()
    at.process.kill()
    wait_for(other.exists, "the program to be told")
    at.over()
    assert relay_socket(*process).exists()
    assert start("true").over() == 0
    assert not relay_socket(*process).exists(), "what a killed relay left is removed by the next"


def test_the_last_output_is_not_lost_and_background_processes_are_not_waited_for(start: Start) -> None:
    at = start("bash", "-c", "trap '' HUP; sleep 1000 & head -c 300000 /dev/zero | tr '\\0' x; echo end; kill -9 $!")
    assert at.over() == 0
    assert at.seen == b"x" * 300_000 + b"end\r\n"


def test_without_a_terminal_there_is_nothing_between() -> None:
    done = subprocess.run(
        wrapped(["sh", "-c", "cat; readlink /proc/self/fd/1"]), input=b"a", capture_output=True, check=True
    )
    assert done.stdout.startswith(b"apipe:")


def test_standard_error_goes_where_it_went(start: Start, tmp_path: Path) -> None:
    with (tmp_path / "errors").open("wb") as errors:
        command = wrapped(["sh", "-c", "echo wrong >&2; tty"], judge=False)
        at = Outside("sh", "-c", f'exec "$@" 2>{errors.name}', "sh", *command)
        assert at.over() == 0
    assert (tmp_path / "errors").read_text() == "wrong\n" and b"/dev/pts/" in at.seen


def test_a_program_that_reads_nothing_holds_up_neither_side(start: Start) -> None:
    at = start(
        *python(f"{RAW}os.write(1, b'ready.'); import time\nwhile True: time.sleep(0.05); os.write(1, b'tick.')")
    )
    at.shows(b"ready.")
    at.type(b"x" * 20_000)
    ticks = at.seen.count(b"tick.")
    wait_for(lambda: at.seen.count(b"tick.") > ticks + 3, "more output")
    at.process.send_signal(signal.SIGTERM)
    assert at.over() == -signal.SIGTERM


def test_a_program_that_closes_its_terminal_goes_on(start: Start) -> None:
    closes = "import os, time\nfor n in (0, 1, 2): os.close(n)\n"
    code = f"{closes}time.sleep(0.5); os.write(os.open('/dev/tty', os.O_RDWR), b'again')"
    at = start(*python(code))
    assert at.over() == 0
    assert at.seen == b"again"


SHELL = ("env", "PS1=$ ", "bash", "--norc", "--noprofile", "-i")


@pytest.fixture
def shell(start: Start) -> Iterator[Outside]:
    """A shell with job control, in which a person types."""
    at = Outside(*SHELL)
    at.shows(b"$ ")
    yield at
    at.close()


def typed(at: Outside, *command: str) -> None:
    assert wrapped(command)[:2] == [sys.executable, "-P"]
    at.type(shlex.join(wrapped(command, judge=False)).encode() + b"\r")


COUNTS = "import itertools, time; [(print('count', n, 'end', flush=True), time.sleep(0.1)) for n in itertools.count()]"


def test_ctrl_z_stops_it_and_the_shell_continues_it(shell: Outside) -> None:
    typed(shell, *python(COUNTS))
    shell.shows(b"count 3 end")
    shell.type(b"\x1a")
    shell.shows(b"Stopped")
    assert not shell.raw
    shell.type(b"echo still $((40 + 2))\r")
    shell.shows(b"still 42")
    stopped = shell.seen.count(b"count ")
    shell.type(b"fg\r")
    wait_for(lambda: shell.seen.count(b"count ") > stopped + 3, "it to go on")
    shell.type(b"\x03")
    shell.shows(b"KeyboardInterrupt")
    wait_for(lambda: not shell.raw, "the shell to have its terminal again")
    shell.type(b"echo $?.over\r")
    shell.shows(b"130.over")


def test_a_job_in_the_background_goes_on_and_takes_no_keys(shell: Outside) -> None:
    typed(shell, *python(COUNTS))
    shell.shows(b"count 3 end")
    shell.type(b"\x1a")
    shell.shows(b"Stopped")
    shell.type(b"bg\r")
    stopped = shell.seen.count(b"count ")
    wait_for(lambda: shell.seen.count(b"count ") > stopped + 3, "it to go on")
    shell.type(b"echo shell $((40 + 2))\r")
    shell.shows(b"shell 42")
    shell.type(b"fg\r")
    wait_for(lambda: shell.raw, "it to take the keys")
    shell.type(b"\x03")
    shell.shows(b"KeyboardInterrupt")


def test_a_program_that_stops_itself_stops_its_relay(shell: Outside) -> None:
    typed(shell, "sh", "-c", "echo begun; kill -STOP $$; echo continued; exit 5")
    shell.shows(b"begun", b"Stopped")
    shell.type(b"fg; echo $?.over\r")
    shell.shows(b"continued", b"5.over")


def test_a_relay_that_is_killed_in_a_shell_hangs_the_program_up(shell: Outside, tmp_path: Path) -> None:
    file = tmp_path / "told"
    typed(shell, "sh", "-c", f"echo relay $PPID; {GOES_ON.format(file=file)}")
    shell.shows(b"\nready\r")
    between = int(re.findall(rb"relay (\d+)\r", shell.seen)[0])
    assert not list(Path(f"/proc/{between}/fd").iterdir())
    relay = Process.of(between)
    assert relay is not None
    os.kill(int(Path(f"/proc/{between}/stat").read_text().split()[3]), signal.SIGKILL)
    wait_for(file.exists, "the program to be told")
    wait_for(lambda: not relay.alive(), "the go-between to end")


def in_front(command: str) -> bool:
    """Whether a process with this command line is in its terminal's foreground: before, its keys are its shell's."""
    for pid in all_pids():
        with suppress(OSError):
            found = stat_of(pid) if text_of(pid, "cmdline") == command else None
            if found is not None and found.group == found.foreground:
                return True
    return False


def test_a_shell_behind_a_relay_has_its_own_job_control(shell: Outside) -> None:
    typed(shell, "env", "PS1=inner> ", "bash", "--norc", "-i")
    shell.shows(b"hinner> ")
    shell.type(b"sleep 1000.25\r")
    wait_for(lambda: in_front("sleep\0" + "1000.25\0"), "the job to be in the foreground")
    shell.type(b"\x1a")
    shell.shows(b"Stopped")
    shell.type(b"echo inner $((40 + 2))\r")
    shell.shows(b"inner 42")
    shell.type(b"kill -9 %1; disown -a; exit 6\r")
    wait_for(lambda: not shell.raw, "the outer shell")
    shell.type(b"echo $?.over\r")
    shell.shows(b"6.over")
