"""Notices in the terminal that stallkit runs in: on a real pty, and through a real tmux to its client's terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
from stallkit_supervisor.notify.terminal import Terminal
from terminals import Server, wait_for
from tmux_in_tmux import Seat
from told_events import said

from stallkit.terminal.osc_stream import OscReader

TESTS = str(Path(__file__).parents[4] / "tests")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
PATH = f"PYTHONPATH={ENVIRONMENT['PYTHONPATH']}"

# Its output is a terminal, and so is what it finds by itself.
PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
from stallkit_supervisor.notify.terminal import Terminal
from told_events import said
terminal = Terminal()
print(terminal.deliver(said(what="asks", line="Shall I continue?")), flush=True)
print(terminal.deliver(said("cleared")), flush=True)
time.sleep(1000)
"""


def written(environment: dict[str, str], *names: str) -> tuple[bytes, list[str]]:
    got: list[bytes] = []
    terminal = Terminal(write=got.append, environment=environment)
    done = [terminal.deliver(said(name, what="asks", line="Shall I continue?")) for name in names]
    return b"".join(got), done


def test_a_terminal_is_told_as_it_understands() -> None:
    data, done = written({"TERM_PROGRAM": "WezTerm"}, "escalation", "cleared")
    assert data == b"\x1b]777;notify;one asks a question;Shall I continue?\x1b\\"
    assert done == ["OSC 777 was written", "nothing to take away by OSC 777"]


def test_a_terminal_that_is_not_known_rings() -> None:
    assert written({"TERM": "xterm-256color"}, "escalation", "cleared")[0] == b"\a"


def test_kitty_takes_a_notice_away() -> None:
    data, _ = written({"TERM": "xterm-kitty"}, "escalation", "cleared")
    *shown, closed = OscReader().feed(data)
    assert len(shown) == 2 and b":p=close;" in closed and b"".join([*shown, closed]) == data


def test_where_no_stream_is_a_terminal_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, TESTS], env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=20
    )
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.endswith("OSError: neither standard output nor error is a terminal\n")


def test_what_is_printed_beside_it_stays_whole() -> None:
    """Lines that another thread prints, and notices: each whole, whatever comes between two of them."""
    program = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from stallkit_supervisor.notify.terminal import Terminal
from told_events import said
terminal = Terminal("osc9")
lines = threading.Thread(target=lambda: [print("x" * 9_000, flush=True) for _ in range(50)])
lines.start()
for _ in range(200):
    terminal.deliver(said(what="waits", line="Proceed?"))
lines.join()
"""
    terminal, inside = pty.openpty()
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "TMUX"}
    with subprocess.Popen([sys.executable, "-c", program, TESTS], env=environment, stdout=inside):
        os.close(inside)
        data = bytearray()
        while chunk := _read(terminal):
            data += chunk
    os.close(terminal)
    notice = b"\x1b]9;stallkit: one waits for an answer: Proceed?\x1b\\"
    assert data.count(notice) == 200
    assert data.replace(notice, b"").split() == [b"x" * 9_000] * 50


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # its other side is closed
        return b""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "own").mkdir()
    made = Server(tmp_path / "own")
    made.tmux("new-session", "-d", "-s", "one", "-x", "100", "-y", "24", "cat")
    yield made
    made.end()


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("passes", "term", "says", "notices"),
    [
        ("on", "rxvt-unicode-256color", "OSC 777 was written", 1),
        ("off", "rxvt-unicode-256color", "a bell (tmux: allow-passthrough is off) was written", 0),
        ("on", "xterm-256color", "a bell was written", 0),
    ],
)
def test_through_tmux_the_clients_terminal_is_told(
    server: Server, tmp_path: Path, passes: str, term: str, says: str, notices: int
) -> None:
    server.tmux("set-option", "-g", "allow-passthrough", passes)
    seat = Seat(server, tmp_path / "seat", term)
    try:
        server.tmux("new-window", "-t", "one", "env", PATH, sys.executable, "-c", PROGRAM, TESTS)
        seat.sees(says, "nothing to take away")
        wait_for(lambda: len(seat.notices) == notices and (notices or b"\a" in seat.raw), f"it, in {seat.raw!r}")
        if notices:
            assert seat.notices == [b"\x1b]777;notify;one asks a question;Shall I continue?\x1b\\"]
            assert b"\a" not in seat.raw
    finally:
        seat.end()


@pytest.mark.e2e
def test_from_a_window_that_is_not_shown_tmux_gets_a_bell(server: Server, tmp_path: Path) -> None:
    server.tmux("set-option", "-g", "allow-passthrough", "on")
    seat = Seat(server, tmp_path / "seat", "rxvt-unicode-256color")
    try:
        new = ("new-window", "-d", "-n", "watch", "-t", "one", "env", PATH)
        server.tmux(*new, sys.executable, "-c", PROGRAM, TESTS)
        seat.sees("watch!")  # the flag of a bell
        assert seat.notices == []
        assert "this window is not shown" in server.tmux("capture-pane", "-p", "-t", "one:watch")
    finally:
        seat.end()
