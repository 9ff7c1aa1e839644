"""Bytes pushed in: a transport like the others, from any thread; remote facts make it sure, and only fresh ones."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest
from attrs import evolve
from terminals import wait_for

from stallkit import Policy, Press, Rule, StreamTransport, check, dismiss, dump, load, may_press
from stallkit.errors import KeysRefused, TransportError
from stallkit.signals.collect import asked_inside, at_work
from stallkit.terminal.keys import Keys
from stallkit.testing import FakeClock, check_transport
from stallkit.testing.checks import Session, Stage
from stallkit.transports.base import Transport
from stallkit.transports.stream import FACTS_S, GAP_S, TerminalReport, report

ASKS = b"Overwrite notes.txt? [y/N] "


class Remote:
    """A program on a terminal of its own, whose bytes a thread feeds to a stream."""

    def __init__(self, *command: str, here: bool = False) -> None:
        self._master, slave = pty.openpty()
        self.program = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        pid = self.program.pid if here else None
        self.stream = StreamTransport(lambda data: os.write(self._master, data), name="stage", pid=pid)
        self._thread = threading.Thread(target=self._pump)
        self._thread.start()

    def _pump(self) -> None:
        while True:
            try:
                data = os.read(self._master, 4096)
            except OSError:
                break
            try:
                self.stream.feed(data)
            except TransportError:  # it was closed by a check
                continue
        self.stream.end(self.program.wait())

    def close(self) -> None:
        self.program.kill()
        self._thread.join()
        os.close(self._master)


@contextmanager
def remote(*command: str, here: bool = False) -> Iterator[Remote]:
    made = Remote(*command, here=here)
    try:
        yield made
    finally:
        made.close()


class Staged(Stage):
    transport: Transport


@pytest.mark.parametrize("here", [False, True])
def test_it_is_held_to_the_protocol(tmp_path: Path, here: bool) -> None:
    folders = (folder for number in range(1_000) if (folder := tmp_path / str(number)).mkdir() is None)

    @contextmanager
    def make() -> Iterator[Session]:
        stage = Staged(next(folders))
        with remote(*stage.command, here=here) as there:
            stage.transport = there.stream
            yield stage

    assert check_transport(make) >= 8


READS = "import sys; sys.stdout.write('Continue? [y/N] '); sys.stdout.flush(); sys.stdin.readline(); print('thanks')"


def asked(pid: int) -> str:
    """What the command prints."""
    words = [sys.executable, "-c", "from stallkit.cli.main import main; main()", "probe", str(pid), "--json"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_facts_of_the_probe_command_make_a_verdict_sure() -> None:
    command = [sys.executable, "-c", f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); {READS}"]
    with remote(*command) as there, there.stream as stream:
        wait_for(lambda: "Continue?" in stream.capture().screen.text, "the question")
        wait_for(lambda: bool(stream.capture().quiet_s), "rest")
        before = stream.verdict()
        told = asked(there.program.pid)
        stream.facts(told)
        assert stream.capture().kernel is None, "one report alone may be older than the screen"
        stream.facts(asked(there.program.pid))
        sure = stream.verdict()
    assert (str(before.state), str(sure.state), str(sure.certainty)) == ("waiting", "waiting", "sure")
    assert any("waits in read" in reason for reason in sure.reasons), sure.reasons
    assert not any("waits in read" in reason for reason in before.reasons)


OWN_TERMINAL = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
ANY_KEY = "sys.stdout.write('Press any key to continue '); sys.stdout.flush(); tty.setcbreak(0); os.read(0, 1)"


def test_with_a_pid_each_look_asks_the_kernel() -> None:
    allows = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_any_key", session="stream:stage")])
    then = "sys.stdout.write('\\x1b[2J\\x1b[Hthanks'); sys.stdout.flush(); sys.stdin.read()"
    program = f"{OWN_TERMINAL}; import os, sys, tty; {ANY_KEY}; {then}"
    with remote(sys.executable, "-c", program, here=True) as there, there.stream as stream:
        wait_for(lambda: "Press" in stream.capture().screen.text, "the question")
        wait_for(lambda: str(stream.verdict().certainty) == "sure", "a sure verdict")
        seen = stream.capture()
        assert seen.process is not None and seen.process.pid == there.program.pid and not seen.elsewhere
        assert not may_press(stream.verdict()) and not dismiss(stream).pressed
        assert isinstance(may_press(stream.verdict(), allows), Press)
        outcome = dismiss(stream, policy=allows)
        assert bool(outcome), outcome.why
        assert "thanks" in stream.capture().screen.text


def test_of_a_program_that_only_printed_a_question_a_pid_tells() -> None:
    program = f"{OWN_TERMINAL}; import time; print('Proceed? [y/N] ', end='', flush=True); time.sleep(99)"
    with remote(sys.executable, "-c", program, here=True) as there, there.stream as stream:
        wait_for(lambda: "Proceed" in stream.capture().screen.text, "the question")
        wait_for(lambda: str(stream.verdict().state) == "working", "a verdict by the kernel")


def test_what_a_key_meets_with_a_pid_is_the_program_that_was_seen() -> None:
    program = f"{OWN_TERMINAL}; {READS}; sys.stdin.read()"
    with remote(sys.executable, "-c", program, here=True) as there, there.stream as stream:
        wait_for(lambda: str(stream.verdict().certainty) == "sure", "a sure verdict")
        seen = stream.capture()
        os.kill(there.program.pid, signal.SIGSTOP)
        wait_for(lambda: stream.capture().kernel != seen.kernel, "the stop to be seen")
        with pytest.raises(KeysRefused, match="nothing in its foreground reads"):
            stream.send(Keys.typed("y"), seen)
        os.kill(there.program.pid, signal.SIGCONT)


def test_a_pid_that_is_nobodys_is_refused_and_one_without_a_terminal_tells_nothing() -> None:
    with pytest.raises(ValueError, match=f"there is no process {2**30}: give the pid"):
        StreamTransport(pid=2**30)
    silent = subprocess.Popen(["sleep", "99"], start_new_session=True)
    try:
        stream = StreamTransport(pid=silent.pid)
        stream.feed(ASKS)
        assert stream.capture().kernel is None
    finally:
        silent.kill()
        silent.wait()
    assert stream.capture().kernel is None and stream.capture().alive, "the caller says when it ended"


def test_an_empty_report_makes_the_facts_unknown(told: str) -> None:
    """As that of a program which ended while it was asked for."""
    clock = FakeClock()
    stream = StreamTransport(clock=clock)
    stream.feed(ASKS)
    silent(stream, clock, told)
    assert stream.capture().kernel is not None
    stream.facts(b"\n")
    assert stream.capture().kernel is None
    assert str(stream.verdict().certainty) == "maybe"


def test_a_dialog_at_the_foot_or_the_top_is_seen_however_tall_the_terminal_is() -> None:
    for columns, rows in ((80, 24), (80, 1_000), (200, 1_000)):
        stream = StreamTransport(size=(columns, rows))
        stream.feed(f"\x1b[?25l\x1b[{rows - 3};1HProceed? [y/N] \x1b[H".encode())
        assert "Proceed? [y/N]" in stream.capture().screen.text
        stream.feed(f"\x1b[{rows - 3};16H\x1b[?25h".encode())
        assert str(stream.verdict().state) == "waiting", rows
    asks = "? Which one? (Use arrow keys)\r\n❯ apple\r\n  pear\r\n"
    for rows in (40, 1_000):  # whatever is fixed to the foot
        stream = StreamTransport(size=(80, rows))
        stream.feed(f"\x1b[?25l{asks}\x1b[{rows};1H  +28 files edited before this session".encode())
        assert "Which one?" in stream.capture().screen.text, rows


def silent(stream: StreamTransport, clock: FakeClock, told: str) -> None:
    clock.sleep(1)
    stream.facts(told, asked_at=clock())


@pytest.fixture(scope="module")
def told() -> Iterator[str]:
    with remote(sys.executable, "-c", "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); input()") as there:

        def reads() -> bool:
            try:
                return report(there.program.pid).kernel.listening is True
            except ValueError:  # it has no terminal yet
                return False

        wait_for(reads, "a read")
        yield json.dumps(dump(report(there.program.pid)))


def test_facts_count_only_for_the_screen_that_they_were_asked_at(told: str) -> None:
    clock = FakeClock()
    written: list[bytes] = []
    stream = StreamTransport(written.append, clock=clock)
    stream.feed(ASKS)
    silent(stream, clock, told)
    seen = stream.capture()
    assert seen.kernel is not None and seen.kernel.listening
    clock.sleep(FACTS_S + 1)
    assert stream.capture().kernel is None, "too old"
    with pytest.raises(KeysRefused, match="out of date"):
        stream.send(Keys.typed("y"), seen)
    silent(stream, clock, told)
    stream.send(Keys.typed("y"), stream.capture())
    assert written == [b"y"]
    assert stream.capture().kernel is None, "a key was pressed"
    silent(stream, clock, told)
    assert stream.capture().kernel is not None
    asked_at = clock()
    clock.sleep(1)
    stream.feed(b"\r\nDelete all? [y/N] ")
    stream.facts(told, asked_at)
    assert stream.capture().kernel is None, "asked before the output came"


def test_a_line_is_sure_only_after_a_rest() -> None:
    clock = FakeClock()
    stream = StreamTransport(clock=clock)
    stream.feed(ASKS)
    for _ in range(2):
        assert "two looks agree" not in stream.verdict().reasons
        clock.sleep(GAP_S / 3)
    clock.sleep(GAP_S)
    rested = stream.verdict()
    assert str(rested.state) == "waiting" and "two looks agree" in rested.reasons
    stream.feed(b"y\r\n" + b"compiling 1\r\n")
    assert str(stream.verdict().state) != "waiting"


def test_bytes_may_be_cut_anywhere() -> None:
    whole, cut = StreamTransport(), StreamTransport()
    data = "\x1b[2J\x1b[H\x1b[1mé 你👍\x1b[0m? [y/N] ".encode()
    whole.feed(data)
    for place in range(len(data)):
        cut.feed(data[place : place + 1])
    assert cut.capture().screen == whole.capture().screen


def test_without_write_nothing_is_pressed_and_a_size_is_taken() -> None:
    with StreamTransport(size=(20, 5)) as stream:
        stream.feed(b"x" * 25)
        stream.resize(40, 5)
        assert stream.capture().screen.size == evolve(stream.capture().screen.size, columns=40)  # type: ignore[misc]
        with pytest.raises(KeysRefused, match="write="):
            stream.send(Keys.typed("y"), stream.capture())
    with pytest.raises(TransportError, match="closed"):
        stream.feed(b"x")


def test_the_terminal_replies_only_where_it_is_told_to() -> None:
    replies: list[bytes] = []
    for answers in (False, True):
        StreamTransport(replies.append, answers=answers).feed(b"\x1b[6n")
    assert replies == [b"\x1b[1;1R"]


def test_a_write_that_fails_says_so_and_one_that_feeds_does_not_hang() -> None:
    def broken(data: bytes) -> None:
        raise OSError("the connection is closed")

    stream = StreamTransport(broken, name="web")
    with pytest.raises(TransportError, match=r"stream:web.*the connection is closed"):
        stream.send(Keys.typed("y"), stream.capture())
    echoing = StreamTransport(lambda data: echoing.feed(data))  # noqa: PLW0108  # not bound yet
    echoing.send(Keys.typed("y"), echoing.capture())
    assert echoing.capture().screen.text.strip() == "y"


def test_a_press_goes_through_the_gate_and_only_with_facts(told: str) -> None:
    written: list[bytes] = []

    def program(data: bytes) -> None:
        written.append(data)
        stream.feed(b"\x1b[2J\x1b[H$ ")

    allows = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_any_key", session="stream:pager")])
    stream = StreamTransport(program, name="pager")
    stream.feed(b"Press any key to continue . . . ")
    assert str(check(stream, allows).status) == "maybe"
    assert not dismiss(stream, policy=allows).pressed and written == []
    stream.facts(told, asked_at=time.monotonic())
    assert "any program may show this prompt" in dismiss(stream).why and written == []
    stream.facts(told, asked_at=time.monotonic())
    outcome = dismiss(stream, policy=allows)
    assert (bool(outcome), written) == (True, [b" "]), outcome.why


def test_mistakes_are_told_in_one_line() -> None:
    stream = StreamTransport()
    with pytest.raises(TypeError, match="bytes"):
        stream.feed("text")  # type: ignore[arg-type]
    for wrong in ("no", "[]", '{"version": 99}', '{"version": 1}', '{"version": 1, "pid": "x"}'):
        with pytest.raises(ValueError, match="stallkit explain --pid") as raised:
            stream.facts(wrong)
        assert "\n" not in str(raised.value)
    for pid in (os.getpid(), 2**30):
        try:
            assert report(pid).pid == pid  # the tests may run in a terminal
        except ValueError as error:
            assert str(pid) in str(error)


def test_a_report_is_read_as_it_was_written(told: str) -> None:
    read = load(TerminalReport, json.loads(told))
    assert dump(read) == json.loads(told) or read.kernel.standstill is not None
    assert load(TerminalReport, json.loads(json.dumps(dump(read)))) == read
    assert read.kernel.members[0].names & {"python"}


FIXTURES = Path(__file__).parents[2] / "docs" / "examples"


def run_example(name: str, program: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = [sys.executable, str(FIXTURES / name), "bash", "-c", program]
    environ = {**os.environ, "PATH": path}
    done = subprocess.run(words, env=environ, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_the_examples_run() -> None:
    assert "the prompt went away" in run_example("embed_asyncio.py", "read -n1 -sp 'Press any key to continue '; clear")
    assert run_example("embed_threads.py", "read -p 'Proceed? [y/N] '") == "stalled, then ended\n"


def test_numbers_of_processes_elsewhere_are_not_looked_up_here(told: str) -> None:
    stream = StreamTransport(lambda data: None)
    stream.feed(ASKS)
    stream.facts(told, asked_at=time.monotonic())
    seen = stream.capture()
    assert seen.kernel is not None and seen.kernel.members and seen.elsewhere
    assert at_work(seen) == () and at_work(evolve(seen, elsewhere=False)) != ()
    assert asked_inside(seen) == ()


def test_starts_are_told_by_the_clock_of_who_listens(told: str) -> None:
    report = load(TerminalReport, json.loads(told))
    began = report.kernel.members[0].began
    moved = report.by_clock_of(report.wall_at + 3600).kernel
    assert began is not None and moved.readers is not None
    assert (moved.members[0].began, moved.readers[0].began) == (began + 3600, began + 3600)
