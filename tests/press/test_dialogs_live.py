"""A person's answer to a real dialog: below a mark that blinks, and by buttons of which colour alone shows the one."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from attrs import evolve
from drawn_dialog import BUTTONS, CLICK, CLICKED, MOUSE, SCREENS
from terminals import Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.packs.screenfile import read_screen
from stallkit.press.check import observe
from stallkit.press.gate import End, Outcome, Pick, answer, press
from stallkit.press.policy import Choose
from stallkit.press.strokes import choosing
from stallkit.terminal.screen import Size
from stallkit.transports.base import Transport
from stallkit.transports.pty import PtyTransport

pytestmark = pytest.mark.e2e

# Its arguments: the file for the keys, the screen.  A mark blinks above it; SIGUSR1 exchanges the command.
BLINKS = """
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


def words(folder: Path, name: str, program: str, screen: Path, *more: str) -> tuple[Path, list[str]]:
    """The file for what it gets, and the command that draws this captured screen as a program of that name."""
    folder.mkdir()
    link, text, heard = folder / name, folder / "screen", folder / "heard"
    link.symlink_to(Path(sys.executable).resolve())
    text.write_text(read_screen(screen).screen.text, encoding="utf-8")
    heard.touch()
    return heard, [str(link), "-c", program, str(heard), str(text), *more]


def blinking(folder: Path) -> tuple[Path, list[str]]:
    return words(folder, "claude", BLINKS, SCREENS / "hit-bash-narrow.txt")


def buttons(folder: Path, modes: str = MOUSE) -> tuple[Path, list[str]]:
    return words(folder, "opencode", CLICKED, BUTTONS, modes)


def test_it_is_answered_whatever_blinks_above_it(server: Server, tmp_path: Path, engine: Engine) -> None:
    in_tmux, inside = blinking(tmp_path / "in tmux")
    on_its_own, outside = blinking(tmp_path / "on a terminal of its own")
    with PtyTransport.spawn(outside, size=(40, 24)) as other:
        dialogs: list[tuple[Transport, Path]] = [
            (server.start("a", *inside, shows="Tab to amend", size=(40, 24)), in_tmux),
            (other, on_its_own),
        ]
        wait_for(lambda: "Tab to amend" in other.capture().screen.text, "its dialog")
        for dialog, heard in dialogs:
            verdict, seen = observe(dialog, engine)
            assert verdict.detection.dialog is not None, verdict.reasons
            outcome = press(dialog, Pick("Yes"), seen, engine)
            assert outcome and heard.read_bytes() == b"1", outcome


def test_one_that_was_exchanged_for_another_gets_no_key(server: Server, tmp_path: Path, engine: Engine) -> None:
    heard, command = blinking(tmp_path / "a")
    dialog = server.start("a", *command, shows="Tab to amend", size=(40, 24))
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


def pick(dialog: Transport, engine: Engine, label: str = "Allow once") -> Outcome:
    _, seen = observe(dialog, engine)
    return press(dialog, Pick(label), seen, engine, clock=iter(range(0, 1000, 20)).__next__)


def test_a_button_is_clicked_where_it_stands_or_takes_its_own_key(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    for label, keys in (("Allow once", CLICK), ("Reject", b"\x1b")):
        heard, command = buttons(tmp_path / label)
        dialog = server.start(label, *command, shows="enter confirm", size=(60, 24))
        _, seen = observe(dialog, engine)
        outcome = press(dialog, Pick(label), seen, engine)
        assert outcome and heard.read_bytes() == keys, outcome


def test_a_program_of_which_it_is_not_known_that_it_takes_clicks_gets_none(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    for name, modes in (("no mouse", ""), ("another form", "\x1b[?1003h"), ("no clicks", "\x1b[?1006h")):
        heard, command = buttons(tmp_path / name, modes)
        outcome = pick(server.start(name, *command, shows="enter confirm", size=(60, 24)), engine)
        assert outcome.end is End.REFUSED and "takes no clicks" in outcome.why, name
        assert not heard.read_bytes(), name
    heard, command = buttons(tmp_path / "outside of tmux")
    with PtyTransport.spawn(command, size=(60, 24), env={**os.environ, "TERM": "xterm-256color"}) as dialog:
        wait_for(lambda: "enter confirm" in dialog.capture().screen.text, "the dialog")
        outcome = pick(dialog, engine)
        assert outcome.end is End.REFUSED and "takes no clicks" in outcome.why
        assert not heard.read_bytes()


def test_a_machine_chooses_no_button_and_no_text_reaches_one_but_its_label(
    server: Server, tmp_path: Path, engine: Engine
) -> None:
    heard, command = buttons(tmp_path / "a")
    dialog = server.start("a", *command, shows="enter confirm", size=(60, 24))
    verdict, seen = observe(dialog, engine)
    assert verdict.match is not None and verdict.request is not None
    assert not verdict.request.options and verdict.request.once is None
    assert choosing("Allow once", verdict, seen, exactly=True) == "it shows no menu whose rows can be read"
    assert press(dialog, Choose(verdict.match.signature, "Allow once"), seen, engine).end is End.REFUSED
    found = choosing("Allow", verdict, seen, exactly=False)
    assert found == "it has no button 'Allow': it has 'Allow once', 'Allow always', 'Reject'"
    small = evolve(verdict, detection=evolve(verdict.detection, screen=evolve(seen.screen, size=Size(20, 24))))
    found = choosing("Allow once", small, seen, exactly=False)
    assert isinstance(found, str) and "wrapped" in found
    assert not heard.read_bytes()
    assert answer(dialog, "reject", dialog.capture(), engine)
    assert heard.read_bytes() == b"\x1b"
