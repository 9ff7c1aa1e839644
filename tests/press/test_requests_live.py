"""A rule on what is asked, in real tmux: a program named claude draws Claude Code's own dialog and reads keys raw."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_stand_in import installed_agent
from drawn_dialog import PROGRAM, SCREENS
from terminals import Server, wait_for

from stallkit import check
from stallkit.packs.screenfile import read_screen
from stallkit.press.decisions import Press
from stallkit.press.policy import Policy
from stallkit.press.rules import Rule

RULE = Rule(do="press", agent="claude", request={"command": ["git status*"]}, never=["*rm *"])
POLICY = Policy("night", rules=[RULE])


@pytest.mark.parametrize(("command", "keys"), [("git status", b"\r"), ("git status; rm -rf ~", b"")])
def test_the_command_decides(server: Server, tmp_path: Path, command: str, keys: bytes) -> None:
    shown = read_screen(SCREENS / "hit-bash-narrow.txt").screen.text.replace("rm -rf build && ls", command)
    program, screen, heard = installed_agent(tmp_path), tmp_path / "screen", tmp_path / "heard"
    screen.write_text(shown, encoding="utf-8")
    heard.touch()
    session = server.start(
        "a", str(program), "-c", PROGRAM, str(heard), str(screen), shows="Tab to amend", size=(40, 24)
    )
    result = check(session, POLICY)
    assert isinstance(result.decision, Press) is bool(keys), result.decision
    if keys:
        wait_for(lambda: "Working" in session.capture().screen.text, "what the program says after a key")
    check(session, POLICY)
    assert heard.read_bytes() == keys
