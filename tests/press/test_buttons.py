"""Options side by side, of which colour alone shows the selected one: clicked where they stand, or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from attrs import evolve
from drawn_dialog import BUTTONS, CLICK, CLICKED, MOUSE
from terminals import Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.packs.screenfile import read_screen
from stallkit.press.check import observe
from stallkit.press.gate import End, Pick, answer, press
from stallkit.press.policy import Choose
from stallkit.press.strokes import choosing
from stallkit.terminal.screen import Size
from stallkit.transports.pty import PtyTransport
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e


def words(folder: Path, modes: str) -> list[str]:
    program, screen, heard = folder / "opencode", folder / "screen", folder / "heard"
    program.symlink_to(Path(sys.executable).resolve())
    screen.write_text(read_screen(BUTTONS).screen.text, encoding="utf-8")
    heard.touch()
    return [str(program), "-c", CLICKED, str(heard), str(screen), modes]


def start(server: Server, folder: Path, modes: str = MOUSE) -> TmuxTransport:
    return server.start("a", *words(folder, modes), shows="enter confirm", size=(60, 24))


@pytest.mark.parametrize(("label", "keys"), [("Allow once", CLICK), ("Reject", b"\x1b")])
def test_a_button_is_clicked_where_it_stands_or_takes_its_own_key(
    server: Server, tmp_path: Path, engine: Engine, label: str, keys: bytes
) -> None:
    dialog = start(server, tmp_path)
    _, seen = observe(dialog, engine)
    outcome = press(dialog, Pick(label), seen, engine)
    assert outcome, outcome
    assert (tmp_path / "heard").read_bytes() == keys


@pytest.mark.parametrize("modes", ["", "\x1b[?1003h", "\x1b[?1006h"], ids=["no mouse", "another form", "no clicks"])
def test_a_program_that_asked_for_no_clicks_gets_none(
    server: Server, tmp_path: Path, engine: Engine, modes: str
) -> None:
    dialog = start(server, tmp_path, modes)
    _, seen = observe(dialog, engine)
    outcome = press(dialog, Pick("Allow once"), seen, engine, clock=iter(range(0, 1000, 20)).__next__)
    assert outcome.end is End.REFUSED and "takes no clicks" in outcome.why
    assert not (tmp_path / "heard").read_bytes()


def test_a_machine_chooses_none(server: Server, tmp_path: Path, engine: Engine) -> None:
    dialog = start(server, tmp_path)
    verdict, seen = observe(dialog, engine)
    assert verdict.match is not None and verdict.request is not None
    assert not verdict.request.options and verdict.request.once is None
    assert choosing("Allow once", verdict, seen, exactly=True) == "it shows no menu whose rows can be read"
    assert press(dialog, Choose(verdict.match.signature, "Allow once"), seen, engine).end is End.REFUSED
    assert not (tmp_path / "heard").read_bytes()


def test_no_text_reaches_its_buttons_but_a_label(server: Server, tmp_path: Path, engine: Engine) -> None:
    dialog = start(server, tmp_path)
    verdict, seen = observe(dialog, engine)
    found = choosing("Allow", verdict, seen, exactly=False)
    assert found == "it has no button 'Allow': it has 'Allow once', 'Allow always', 'Reject'"
    small = evolve(verdict, detection=evolve(verdict.detection, screen=evolve(seen.screen, size=Size(20, 24))))
    found = choosing("Allow once", small, seen, exactly=False)
    assert isinstance(found, str) and "wrapped" in found
    assert answer(dialog, "reject", seen, engine)
    assert (tmp_path / "heard").read_bytes() == b"\x1b"


def test_outside_of_tmux_it_is_not_known_who_takes_clicks(tmp_path: Path, engine: Engine) -> None:
    env = {**os.environ, "TERM": "xterm-256color"}
    with PtyTransport.spawn(words(tmp_path, MOUSE), size=(60, 24), env=env) as dialog:
        wait_for(lambda: "enter confirm" in dialog.capture().screen.text, "the dialog")
        _, seen = observe(dialog, engine)
        outcome = press(dialog, Pick("Allow once"), seen, engine, clock=iter(range(0, 1000, 20)).__next__)
        assert outcome.end is End.REFUSED and "takes no clicks" in outcome.why
        assert not (tmp_path / "heard").read_bytes()
