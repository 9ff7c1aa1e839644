"""By which command an agent's session goes on, held against what the installed agents say of their options."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from looks import verdict
from stallkit_sessions.resuming import resume_command, session_of, told_command

from stallkit.detect.agent import Agent, Resume
from stallkit.detect.signature import State
from stallkit.evidence.signal import Signal
from stallkit.packs.registry import installed_engine

AGENTS = {one.name: one for one in installed_engine().words.agents if one.resume is not None}
CLAUDE, CODEX = AGENTS["claude"], AGENTS["codex"]
ID = "0f8b41c2-77aa-4c1e-9d50-3a1f7be2c9d4"
CACHE = Path(__file__).parents[3] / ".cache" / "agents"
PROGRAMS = {
    agent: found
    for agent in AGENTS
    for folder in (agent, f"pinned/{agent}")
    if (found := CACHE / folder / "node_modules" / ".bin" / agent).exists() or folder == "pinned/claude"
}


def of(agent: str) -> Resume:
    found: Agent = AGENTS[agent]
    assert found.resume is not None
    return found.resume


def test_what_goes_on() -> None:
    wrong = [
        (agent, command, resumed)
        for agent, command, resumed in [
            ("claude", "claude", f"claude --resume {ID}"),
            (
                "claude",
                "/opt/bin/claude --model=opus --verbose",
                f"/opt/bin/claude --resume {ID} --model=opus --verbose",
            ),
            ("claude", "claude -c --permission-mode plan", f"claude --resume {ID} --permission-mode plan"),
            ("claude", "claude --resume 11111111-old --model opus", f"claude --resume {ID} --model opus"),
            ("claude", "claude --resume --model opus", f"claude --resume {ID} --model opus"),
            ("claude", "claude --add-dir a b --verbose", f"claude --resume {ID} --add-dir a b --verbose"),
            ("codex", "codex -m gpt-5.2 -c a=b", f"codex resume {ID} -m gpt-5.2 -c a=b"),
            ("codex", "codex resume 11111111-old --search", f"codex resume {ID} --search"),
            ("gemini", "gemini --yolo -m pro", f"gemini --resume {ID} --yolo -m pro"),
            ("opencode", "opencode ./proj --port 0", f"opencode ./proj --session {ID} --port 0"),
            ("copilot", "copilot --allow-all-tools --resume old-session", f"copilot --resume {ID} --allow-all-tools"),
        ]
        if resume_command(command.split(), AGENTS[agent], ID) != tuple(resumed.split())
    ]
    assert wrong == []


def test_what_it_was_told_to_do_is_not_told_again() -> None:
    for words in (["fix the tests"], ["--model", "opus", "fix the tests"], ["--verbose", "--", "--fix", "it"]):
        made = resume_command(["claude", *words], CLAUDE, ID)
        assert made is not None and not {"fix the tests", "--fix", "it"} & set(made)


def test_a_command_line_that_is_not_understood_is_not_changed() -> None:
    wrong = [
        command
        for command in [
            [],
            ["sh", "-c", "claude"],
            ["claude", "--print", "hello"],
            ["claude", "--unheard-of"],
            ["claude", "--model"],
            ["claude", "mcp", "serve"],
            ["codex", "claude"],
        ]
        if resume_command(command, CLAUDE, ID) is not None
    ]
    assert wrong == []


def test_it_is_started_with_a_text_and_what_was_said_before(tmp_path: Path) -> None:
    for folder in ("claude/projects/-srv-we-b", "codex/sessions/2026/11/26", "gemini/tmp/f00/chats"):
        (tmp_path / folder).mkdir(parents=True)
    for command, anew, on in (
        ("claude --model opus --add-dir a b", "claude TEXT --model opus --add-dir a b", "claude --continue TEXT"),
        ("/opt/codex -m gpt-5.2", "/opt/codex TEXT -m gpt-5.2", "/opt/codex resume --last TEXT"),
        (
            "gemini --yolo",
            "gemini --prompt-interactive TEXT --yolo",
            "gemini --resume latest --prompt-interactive TEXT",
        ),
        ("opencode ./web", "opencode ./web --prompt TEXT", ""),
        ("copilot --banner", "copilot --interactive TEXT --banner", ""),
    ):
        kept = tmp_path / Path(command.split()[0]).name
        assert (
            told_command(command.split(), "TEXT", AGENTS.values())
            == tuple(anew.split())
            == told_command(command.split(), "TEXT", AGENTS.values(), "/srv/we.b", kept)
        )
        for folder in [path for path in kept.rglob("*") if path.is_dir()]:
            for name in ("a.jsonl", "rollout-a.jsonl", "session-a"):
                (folder / name).touch()
        goes_on = " ".join(told_command(command.split(), "TEXT", AGENTS.values(), "/srv/we.b", kept) or ())
        assert goes_on.startswith(on or anew), goes_on
    elsewhere = told_command(["claude"], "TEXT", [CLAUDE], "/srv/other", tmp_path / "claude")
    assert elsewhere == ("claude", "TEXT"), "it would end at once: no conversation found to continue"
    for command in (["sh", "-c", "claude"], ["claude", "mcp"], []):
        assert told_command(command, "TEXT", AGENTS.values()) is None


def test_an_id_is_one_plain_word() -> None:
    wrong = [
        id
        for id in [None, "", "--continue", "a b", "$(id)", "-rf", "a;b", "x" * 200]
        if resume_command(["claude"], CLAUDE, id) is not None
    ]
    assert wrong == []


@given(agent=st.sampled_from(sorted(AGENTS)), words=st.lists(st.text(min_size=1), max_size=6), data=st.data())
def test_only_known_options_are_kept(agent: str, words: list[str], data: Any) -> None:
    known = of(agent)
    options = sorted(known.flags | known.valued | known.listed | known.dropped | known.dropped_valued)
    mixed = [word for one in words for word in (one, data.draw(st.sampled_from(options)))]
    made = resume_command([agent, *mixed], AGENTS[agent], ID)
    if made is not None:
        assert sum(ID in word for word in made) == 1
        rest = {word for word in made if word not in words and word != known.resume}
        assert not rest & (known.dropped | known.dropped_valued)


def test_who_names_the_session() -> None:
    works = verdict("working", id=None)
    named = Signal("claude", State.WORKING, app="claude", session=ID)
    assert session_of(works, CLAUDE) is None
    assert session_of(evolve(works, signals=(named,)), CLAUDE) == ID
    assert session_of(evolve(works, signals=(named,)), CODEX) is None
    assert session_of(evolve(works, signals=(evolve(named, stale="another process wrote it"),)), CLAUDE) is None


@pytest.mark.e2e
def test_its_own_help_names_each_option() -> None:
    """Claude Code's, which scripts/test fetches, and of the others those that scripts/canary has fetched."""
    for agent in sorted(PROGRAMS):
        known, program = of(agent), PROGRAMS[agent]
        more = ["resume", "--help"] if agent == "codex" else ["--help"]
        told = subprocess.run(
            [program, *more], capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
        )
        said = told.stdout + told.stderr
        named = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", said))
        options = known.flags | known.valued | known.listed | known.dropped | known.dropped_valued
        assert known.resume in named or known.resume == "resume", agent
        options |= {word for word in (known.latest + " " + known.text).split() if word.startswith("-")}
        assert not options - named, f"{agent} does not know these"
