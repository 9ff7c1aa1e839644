"""A person's answer to a dialog of Claude Code below a mark that blinks: it is bound to the dialog's own rows."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from drawn_dialog import SCREENS
from terminals import Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.packs.screenfile import read_screen
from stallkit.press.check import observe
from stallkit.press.gate import End, Pick, press
from stallkit.transports.base import Transport
from stallkit.transports.pty import PtyTransport
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

# Its arguments: the file for the keys, the screen, whether something blinks above it.  SIGUSR1 exchanges the command.
PROGRAM = """
import os, select, signal, sys, tty
from pathlib import Path

heard, screen = Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8")
commands = ["rm -rf build && ls", "rm -rf /home/ & ls"]

def draw(*_):
    shown = screen.replace("rm -rf build && ls", commands[0])
    os.write(1, ("\\x1b[?25l\\x1b[2;1H" + shown.rstrip("\\n").replace("\\n", "\\r\\n")).encode())
    commands.reverse()

tty.setraw(0)
signal.signal(signal.SIGUSR1, draw)
os.write(1, b"\\x1b[2J")
draw()
marks = "\u25cf "
while True:
    if select.select([0], [], [], 0.25)[0]:
        with heard.open("ab") as file:
            file.write(os.read(0, 1))
        os.write(1, b"\\x1b[2J\\x1b[HWorking\\r\\n")
    elif not heard.stat().st_size:
        os.write(1, ("\\x1b[1;1H" + marks[0] + " Bash(rm -rf build)").encode())
        marks = marks[::-1]
"""
CHANGES = 8


@pytest.fixture
def heard(tmp_path: Path) -> Path:
    made = tmp_path / "heard"
    made.touch()
    return made


@pytest.fixture
def words(tmp_path: Path, heard: Path) -> list[str]:
    program, screen = tmp_path / "claude", tmp_path / "screen"
    program.symlink_to(Path(sys.executable).resolve())
    screen.write_text(read_screen(SCREENS / "hit-bash-narrow.txt").screen.text, encoding="utf-8")
    return [str(program), "-c", PROGRAM, str(heard), str(screen)]


@pytest.fixture
def dialog(server: Server, words: list[str]) -> TmuxTransport:
    return server.start("a", *words, shows="Tab to amend", size=(40, 24))


@pytest.mark.parametrize("outside", [False, True], ids=["in tmux", "on a terminal of its own"])
def test_it_is_answered_whatever_blinks_above_it(
    request: pytest.FixtureRequest, words: list[str], heard: Path, engine: Engine, outside: bool
) -> None:
    if outside:
        dialog: Transport = PtyTransport.spawn(words, size=(40, 24))
        request.addfinalizer(dialog.close)
        wait_for(lambda: "Tab to amend" in dialog.capture().screen.text, "its dialog")
    else:
        dialog = request.getfixturevalue("dialog")
    verdict, seen = observe(dialog, engine)
    assert verdict.detection.dialog is not None, verdict.reasons
    outcome = press(dialog, Pick("Yes"), seen, engine)
    assert outcome and heard.read_bytes() == b"1", outcome


def test_one_that_was_exchanged_for_another_gets_no_key(
    server: Server, dialog: TmuxTransport, heard: Path, engine: Engine
) -> None:
    _, seen = observe(dialog, engine)
    commands = ["rm -rf /home/", "rm -rf build"]
    pid = seen.process.pid if seen.process else None
    assert pid is not None
    for _ in range(CHANGES):
        os.kill(pid, signal.SIGUSR1)
        server.wait(dialog, f" {commands[0]}")
        outcome = press(dialog, Pick("Yes"), seen, engine)
        assert (outcome.end, outcome.pressed) == (End.REFUSED, False), outcome
        seen, commands = dialog.capture(), commands[::-1]
    assert heard.read_bytes() == b""
