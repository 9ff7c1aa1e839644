"""Agents that no pack names are told of as others are: what they ask, how they failed, that they ended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import unnamed_agent
from stallkit_supervisor.notices import agent_of
from stallkit_supervisor.schedule import Schedule
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.supervisor import Supervisor
from supervised import named, run
from terminals import Server

from stallkit.detect.engine import Engine
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.judging.judge import judged
from stallkit.packs.registry import installed_engine
from stallkit.press.events import Event
from stallkit.press.policy import CAREFUL
from stallkit.terminal.screen import Screen

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who reads")
SAYS = ("ask me", "what else", "fail now", "/quit")  # what its person types, each once the one before it was met


def say(server: Server, text: str) -> None:
    server.tmux("send-keys", "-t", "=one:", "-l", text)
    server.tmux("send-keys", "-t", "=one:", "Enter")


def test_its_end_is_told_below_what_starts_it_again(server: Server, tmp_path: Path) -> None:
    program = tmp_path / "skiff"
    program.write_text(f"#!{sys.executable}\n{Path(unnamed_agent.__file__).read_text()}")
    program.chmod(0o755)
    pane = server.start("one", "bash", "--norc", "--noprofile", shows="bash-")
    say(server, f"while :; do {program}; sleep 600; done")
    server.wait(pane, "User:")
    pane.close()
    say(server, "ask me")
    quits = False

    def until(seen: list[Event]) -> bool:
        nonlocal quits
        told = named(seen, "escalation")
        if told and not quits:
            say(server, "/quit")
            quits = True
        return len(told) == 2

    config = WatchConfig(CAREFUL, Schedule(eager_s=0.2))
    told = named(run(Supervisor(["tmux:one"], config, options=server.options), until), "escalation")
    assert [one.facts["what"] for one in told] == ["asks", "ended"]


def test_a_menu_of_a_library_names_no_agent() -> None:
    """Any program that node runs may draw it."""
    text = 'Do you want to execute tool "bash"?\n\n❯ Yes, execute this tool\n  No, cancel\n\nPress Escape to cancel'
    seen = Snapshot(screen=Screen.from_text(text, cursor_visible=False), process=ProcessFacts("node", 7), taken_at=0.0)
    verdict = judged(Engine([one for one in installed_engine().packs if one.name == "node_prompts"]), seen)
    assert verdict.match is not None, verdict.reasons
    assert agent_of(verdict, seen) is None


@pytest.mark.parametrize("boxed", [False, True])
def test_what_it_asks_how_it_failed_and_its_end_are_told(server: Server, tmp_path: Path, boxed: bool) -> None:
    program = tmp_path / "skiff"
    program.write_text(f"#!{sys.executable}\n{Path(unnamed_agent.__file__).read_text()}")
    program.chmod(0o755)
    pane = server.start("one", "bash", "--norc", "--noprofile", shows="bash-")
    say(server, f"{program}{' --boxed' if boxed else ''}")
    server.wait(pane, "❯" if boxed else "User:")
    pane.close()
    typed = 0

    def until(seen: list[Event]) -> bool:
        nonlocal typed
        met = [one for one in seen if one.name in ("escalation", "done")]
        if typed < len(SAYS) and len(met) >= typed:
            say(server, SAYS[typed])
            typed += 1
        return bool(met) and met[-1].facts.get("what") == "ended"

    config = WatchConfig(CAREFUL, Schedule(eager_s=0.2))
    events = run(Supervisor(["tmux:one"], config, options=server.options), until)
    told = [(one.facts["what"], one.facts.get("message")) for one in named(events, "escalation")]
    assert [what for what, _ in told] == ["asks", "failed", "ended"]
    assert "Shall I continue with step 2?" in str(told[0][1]) and "Error code: 401" in str(told[1][1])
    kinds = {one.facts.get("kind") for one in named(events, "detection")}
    assert not kinds & {"login", "secret"}
