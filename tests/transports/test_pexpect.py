"""An adopted spawn: the caller's `expect` finds everything, and so does the look."""

from __future__ import annotations

import io
import signal
import time
from typing import Any, Callable, Iterator

import pexpect
import pytest

from stallkit.errors import KeysRefused, SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports import pexpect as subject
from stallkit.transports.pexpect import PexpectTransport

PATIENCE_S = 20.0
ASK = "echo début; read -p 'Proceed? [y/N] ' answer; echo got $answer; exit 3"

Spawn = Callable[..., Any]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts bash on a script; ends it afterwards."""
    made: list[Any] = []

    def start(script: str, **options: Any) -> Any:
        made.append(pexpect.spawn("bash", ["--norc", "-c", script], **{"encoding": "utf-8", **options}))
        made[-1].delayafterclose = made[-1].ptyproc.delayafterclose = 0
        return made[-1]

    yield start
    for each in made:
        each.close(force=True)


def text(read: str | bytes) -> str:
    return read.decode() if isinstance(read, bytes) else read


def look(transport: PexpectTransport, condition: Callable[[Snapshot], object]) -> Snapshot:
    """The first look for which a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition(seen := transport.capture()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.01)
    return seen


def shows(part: str) -> Callable[[Snapshot], bool]:
    return lambda seen: part in seen.screen.text


BYTES_AND_TEXT = (None, "utf-8")


def test_look_answer_and_expect_share_one_session(spawn: Spawn) -> None:
    for encoding in BYTES_AND_TEXT:
        child = spawn(ASK, encoding=encoding)
        transport = PexpectTransport(child, name="ask")
        seen = look(transport, shows("[y/N]"))
        assert seen.screen.prompt_line.text == "Proceed? [y/N] "
        assert (seen.alive, seen.target, seen.accepts_keys) == (True, "pexpect:ask", True)
        assert child.expect("Proceed\\? ") == 0
        assert text(child.before) == "début\r\n"
        transport.send(Keys.parse("y Enter"), transport.capture())
        assert child.expect("got y") == 0
        assert text(child.before) == "[y/N] y\r\n"
        child.expect(pexpect.EOF)
        seen = look(transport, lambda seen: not seen.alive)
        assert (seen.exit_status, seen.accepts_keys) == (3, False)
        assert seen.screen.text.rstrip() == "début\nProceed? [y/N] y\ngot y"


def test_the_caller_may_look_on_every_side_of_an_expect(spawn: Spawn) -> None:
    child = spawn('for i in 1 2 3; do read -p "step $i? "; done; echo end')
    transport = PexpectTransport(child)
    for step in "123":
        seen = look(transport, shows(f"step {step}?"))
        child.expect_exact(f"step {step}? ")
        transport.send(Keys.parse("Enter"), seen)
    child.expect("end\r\n")
    assert "step" not in text(child.before)


def test_what_was_read_before_the_adoption_is_shown(spawn: Spawn) -> None:
    for encoding in BYTES_AND_TEXT:
        child = spawn(ASK, encoding=encoding)
        child.expect("d.but\r\n" if encoding else b"d.{1,2}but\r\n")
        assert PexpectTransport(child).capture().screen.lines[0] == "début"
        with pytest.raises(pexpect.TIMEOUT):
            child.expect("never", timeout=0.1)
        seen = look(PexpectTransport(child), shows("[y/N]"))
        assert seen.screen.prompt_line.text.endswith("Proceed? [y/N] ")


def test_the_log_that_was_there_gets_everything_once_and_comes_back(spawn: Spawn) -> None:
    for encoding in BYTES_AND_TEXT:
        child = spawn(ASK, encoding=encoding)
        log = child.logfile_read = io.StringIO() if encoding else io.BytesIO()
        transport = PexpectTransport(child)
        look(transport, shows("[y/N]"))
        child.expect("Proceed")
        later = child.logfile_read = io.StringIO() if encoding else io.BytesIO()
        seen = transport.capture()
        transport.send(Keys.parse("y Enter"), seen)
        look(transport, shows("got y"))
        assert text(log.getvalue()) == "début\r\nProceed? [y/N] "
        assert text(later.getvalue()).startswith("y\r\n")
        transport.close()
        assert child.logfile_read is later


def test_the_program_outlives_the_transport(spawn: Spawn) -> None:
    child = spawn(ASK)
    transport = PexpectTransport(child)
    transport.close()
    with pytest.raises(TransportError, match="closed"):
        transport.capture()
    assert child.isalive()
    assert child.delaybeforesend == 0.05


def test_keys_for_a_terminal_that_hides_them_by_now_are_refused(spawn: Spawn) -> None:
    child = spawn("cat")
    transport = PexpectTransport(child)
    seen = look(transport, lambda seen: seen.tty is not None)
    child.setecho(False)
    with pytest.raises(KeysRefused, match="echo or canonical mode"):
        transport.send(Keys.parse("y"), seen)


def test_a_signal_is_a_negative_exit_status(spawn: Spawn) -> None:
    child = spawn("kill -TERM $$")
    assert look(PexpectTransport(child), lambda seen: not seen.alive).exit_status == -signal.SIGTERM


def test_a_spawn_that_was_closed_is_gone(spawn: Spawn) -> None:
    child = spawn(ASK)
    transport = PexpectTransport(child)
    seen = look(transport, shows("[y/N]"))
    child.close(force=True)
    for call in (transport.capture, lambda: transport.send(Keys.parse("y"), seen)):
        with pytest.raises(SessionGone) as raised:
            call()
        assert raised.value.target == transport.target


def test_foreign_errors_are_mapped_with_their_cause(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    child = spawn(ASK)
    transport = PexpectTransport(child)
    seen = look(transport, shows("[y/N]"))

    def fail(data: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(child, "send", fail)
    with pytest.raises(TransportError, match="Input/output error") as raised:
        transport.send(Keys.parse("y"), seen)
    assert isinstance(raised.value.__cause__, OSError)


def test_keys_that_the_encoding_lacks_are_refused(spawn: Spawn) -> None:
    child = spawn("read -p 'Name? ' x", encoding="latin-1")
    transport = PexpectTransport(child)
    with pytest.raises(KeysRefused, match="encoding"):
        transport.send(Keys.typed("你"), look(transport, shows("Name?")))


class Counting:
    """An emulator that counts the bytes it is fed."""

    application_cursor = False

    def __init__(self) -> None:
        self.fed = 0

    def feed(self, data: bytes) -> None:
        self.fed += len(data)

    def screen(self) -> Screen:
        return Screen.from_text(str(self.fed), cursor=(0, 0))

    def resize(self, columns: int, rows: int) -> None:
        raise NotImplementedError

    def replies(self) -> bytes:
        return b""


def test_every_byte_is_fed_once_and_what_is_kept_is_bounded(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "KEPT", 10_000)
    child = spawn("stty -onlcr; head -c 1000000 /dev/zero | tr '\\\\0' a; echo; read -p 'Done? '")
    emulator = Counting()
    transport = PexpectTransport(child, emulator=emulator)
    deadline = time.monotonic() + PATIENCE_S
    while emulator.fed < 1_000_007:
        transport.capture()
        assert len(child.buffer) <= 20_000
        assert time.monotonic() < deadline, emulator.fed
    assert emulator.fed == 1_000_007
    child.expect_exact("Done? ", timeout=1)
