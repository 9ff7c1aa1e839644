"""Real programs on a pseudo-terminal of stallkit's own."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
from pathlib import Path
from typing import Callable, Iterator

import pytest
from terminals import wait_for

from stallkit.errors import KeysRefused, SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.keys import Keys
from stallkit.transports.pty import PtyTransport

PATIENCE_S = 20.0

Spawn = Callable[..., PtyTransport]


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    made = []

    def start(*command: str, **options: object) -> PtyTransport:
        made.append(PtyTransport.spawn(command, cwd=tmp_path, **options))
        return made[-1]

    yield start
    for transport in made:
        transport.close()
        assert transport._process.returncode is not None, "a process was left behind"


def look(transport: PtyTransport, condition: Callable[[Snapshot], object]) -> Snapshot:
    """The first look for which a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition(seen := transport.capture()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.01)
    return seen


def shows(text: str) -> Callable[[Snapshot], bool]:
    return lambda seen: text in seen.screen.text


def test_a_question_is_seen_and_answered(spawn: Spawn) -> None:
    transport = spawn("bash", "--norc", "-c", "read -p 'Proceed? [y/N] ' answer; echo got $answer; exit 3")
    seen = look(transport, shows("[y/N]"))
    assert seen.screen.prompt_line.text == "Proceed? [y/N] "
    assert (seen.alive, seen.exit_status, seen.accepts_keys, seen.target) == (True, None, True, "pty:bash")
    assert seen.taken_at is not None
    transport.send(Keys.parse("y Enter"), seen)
    seen = look(transport, lambda seen: not seen.alive)
    assert (seen.alive, seen.exit_status, seen.accepts_keys) == (False, 3, False)
    assert "got y" in seen.screen.text
    with pytest.raises(SessionGone) as raised:
        transport.send(Keys.parse("y"), seen)
    assert raised.value.exit_status == 3


def test_the_size_and_the_terminal_are_told_to_the_program(spawn: Spawn) -> None:
    transport = spawn("sh", "-c", "stty size; echo $TERM; tty; read x; stty size; read x", size=(50, 10))
    look(transport, shows("10 50\nxterm-256color\n/dev/"))
    transport.resize(60, 12)
    transport.send(Keys.parse("Enter"), transport.capture())
    seen = look(transport, shows("12 60"))
    assert seen.screen.size is not None
    assert (seen.screen.size.columns, seen.screen.size.rows) == (60, 12)


def test_words_never_pass_a_shell(spawn: Spawn, tmp_path: Path) -> None:
    look(spawn("echo", "$(touch made); `touch made`", "a  b"), shows("$(touch made); `touch made` a  b"))
    assert not (tmp_path / "made").exists()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the foreground's name comes from /proc")
def test_the_foreground_is_who_is_in_front(spawn: Spawn) -> None:
    transport = spawn("bash", "--norc", "-i", env={**os.environ, "PS1": "ready> "})
    seen = look(transport, shows("ready>"))
    assert seen.foreground == "bash"
    transport.send(Keys.parse("'cat; true' Enter"), seen)
    look(transport, lambda seen: seen.foreground == "cat")
    transport.send(Keys.parse("C-d"), transport.capture())
    look(transport, lambda seen: seen.foreground == "bash")


def test_the_interrupt_key_reaches_the_foreground(spawn: Spawn) -> None:
    transport = spawn("sh", "-c", "echo up; exec cat")
    transport.send(Keys.parse("C-c"), look(transport, lambda s: shows("up")(s) and s.foreground in (None, "cat")))
    assert look(transport, lambda seen: not seen.alive).exit_status == -signal.SIGINT


def test_a_pager_shows_its_page_on_the_alternate_screen(spawn: Spawn, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("".join(f"line {n}\n" for n in range(100)))
    transport = spawn("less", "text", size=(40, 10), env={**os.environ, "LESS": ""})
    seen = look(transport, lambda seen: seen.screen.prompt_line.text == "text")
    assert seen.screen.alternate
    transport.send(Keys.parse("Space"), seen)
    look(transport, shows("line 17"))


def test_a_program_that_asks_where_the_cursor_is_gets_an_answer(spawn: Spawn) -> None:
    program = (
        "import os, tty; tty.setraw(0); os.write(1, b'abc\\x1b[6n'); answer = b''\n"
        "while not answer.endswith(b'R'): answer += os.read(0, 9)\n"
        "print(repr(answer)); os.read(0, 1)"
    )
    look(spawn(sys.executable, "-c", program), shows(r"b'\x1b[1;4R'"))


def test_keys_for_another_prompt_in_the_same_place_are_refused(spawn: Spawn, tmp_path: Path) -> None:
    """The cursor is where it was: only what stands there is not."""
    before = "请按任意键继续 "
    script = "printf '%s\\r' \"$1\"; until [ -e go ]; do sleep 0.01; done; printf '%s\\r' \"$2\"; touch gone; cat"
    for after in ("请按任意键删除 ", "请按任意键继续\N{COMBINING DOT ABOVE}"):
        for mark in ("go", "gone"):
            (tmp_path / mark).unlink(missing_ok=True)
        transport = spawn("sh", "-c", script, "sh", before, after)
        seen = look(transport, shows("继续"))
        (tmp_path / "go").touch()
        wait_for((tmp_path / "gone").exists, "the other prompt")
        with pytest.raises(KeysRefused, match="changed"):
            transport.send(Keys.parse("y"), seen)


def test_keys_for_a_terminal_that_hides_them_by_now_are_refused(spawn: Spawn) -> None:
    transport = spawn("cat")
    seen = look(transport, lambda seen: seen.tty is not None)
    settings = termios.tcgetattr(transport.fileno())
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(transport.fileno(), termios.TCSANOW, settings)
    with pytest.raises(KeysRefused, match="echo or canonical mode"):
        transport.send(Keys.parse("y"), seen)


def test_keys_that_nobody_reads_are_given_up(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stallkit.transports.pty.DEADLINE_S", 0.2)
    transport = spawn("sh", "-c", "stty raw -echo; printf up; exec sleep 1000")
    seen = look(transport, shows("up"))
    begun = time.monotonic()
    with pytest.raises(TransportError, match=r"it took \d+ of \d+ bytes|its input is full"):
        for _ in range(100):
            transport.send(Keys.typed("x" * 10_000), seen)
    assert time.monotonic() - begun < PATIENCE_S


def test_a_flood_holds_no_look_up(spawn: Spawn) -> None:
    transport = spawn("sh", "-c", "yes 'a line of a flood' | head -c 5000000; printf '\\nDone? '; read x")
    begun = time.monotonic()
    seen, looks = transport.capture(), 1
    while not seen.screen.prompt_line.text.startswith("Done?"):
        assert time.monotonic() - begun < PATIENCE_S
        seen, looks = transport.capture(), looks + 1
    assert looks >= 5, "one look took in more than a megabyte"


def test_keys_into_a_flood_are_refused(spawn: Spawn) -> None:
    transport = spawn("seq", "1", "1000000000")
    seen = look(transport, lambda seen: seen.screen.cursor is not None and seen.screen.cursor.row == 23)
    assert select.select([transport], [], [], PATIENCE_S)[0], "more to come"
    with pytest.raises(KeysRefused):
        transport.send(Keys.parse("y"), seen)


def test_close_ends_what_was_started(spawn: Spawn) -> None:
    for trap in ("", "trap '' HUP;", "trap '' HUP TERM;"):
        transport = spawn("sh", "-c", f"{trap} printf up; while :; do sleep 0.1; done")
        look(transport, shows("up"))
        transport.close()
        with pytest.raises(ProcessLookupError):
            os.kill(transport._process.pid, 0)
        with pytest.raises(TransportError):
            transport.capture()


def test_what_does_not_start_is_said() -> None:
    for command in (["no-such-program"], ["/"], ["a\0b"]):
        with pytest.raises(TransportError, match="does not start") as raised:
            PtyTransport.spawn(command, name="it")
        assert raised.value.target == "pty:it"
    for no_words in ([], "ls -l"):
        with pytest.raises(ValueError, match="sequence of words"):
            PtyTransport.spawn(no_words)


def test_nothing_is_left_open(spawn: Spawn) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        transport = spawn("true")
        look(transport, lambda seen: not seen.alive)
        transport.close()
        with pytest.raises(TransportError):
            PtyTransport.spawn(["no-such-program"])
    assert len(list(Path("/dev/fd").iterdir())) == before


REPORTING = """
import os, sys, tty
tty.setraw(0)
os.write(1, b"\\x1b]7501;?\\x07\\x1b[c")  # as agents do: the second is answered by every terminal
answer = b""
while not (b"c" in answer and b"7501" in answer):
    answer += os.read(0, 64)
first = answer.startswith(b"\\x1b]7501;?\\x07\\x1b[?")
os.write(1, b"\\x1b]7501;state=blocked:kind=permission\\x07" + (b"first 7501" if first else ascii(answer).encode()))
os.read(0, 1)
"""


def test_a_program_that_asks_is_told_that_its_status_is_read_before_its_device_attributes(
    spawn: Spawn,
) -> None:
    transport = spawn(sys.executable, "-c", REPORTING)
    marks = look(transport, shows("first 7501")).marks
    assert marks is not None and marks.strongest is not None
    assert (marks.strongest.state, marks.strongest.kind, marks.queries) == ("blocked", "permission", 1)
