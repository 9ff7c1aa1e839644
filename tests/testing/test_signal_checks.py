"""`check_signal`: our own sources pass it, sources with a fault do not, and a distribution's source is found."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Iterable

import pytest
from agent_stand_in import StandIn
from attrs import evolve
from terminals import wait_for

from stallkit.core.signal import Guard, Signal
from stallkit.core.signature import State
from stallkit.signals import source as sources
from stallkit.signals.claude import ClaudeSession
from stallkit.signals.copilot import CopilotSession
from stallkit.signals.heard import signals_below
from stallkit.signals.opencode import OpenCodeServer
from stallkit.signals.publisher import Publisher
from stallkit.testing import check_signal

# A source as a third party writes it.
ACME = """
from stallkit.core.signal import Guard, Signal
from stallkit.core.signature import State
from stallkit.signals.own_file import one_line, read_json

class Acme:
    name = "acme"
    programs = frozenset({"acme-agent"})

    def read(self, publisher, now):
        said = read_json(publisher.path(f"{publisher.home}/.acme/{publisher.own_pid}.json"), publisher)
        if said and said.get("started") == publisher.started:
            asks = one_line(said.get("asks"))
            yield Signal("acme", State.WAITING, words=asks, guard=Guard.PROCESS, pid=publisher.pid)

SOURCE = Acme()
"""
HOLDS = "mkdir -p $HOME/.copilot/session-state/one; exec 9>$HOME/.copilot/session-state/one/inuse.$$.hold; "


@pytest.fixture
def agent(tmp_path: Path) -> Iterable[StandIn]:
    made = StandIn(tmp_path)
    made.says()
    yield made
    made.end()


def test_claude_codes_session_file(agent: StandIn) -> None:
    assert check_signal(ClaudeSession(), agent.publisher, [agent.file], time.time()) > 20
    assert agent.heard() == [(State.WAITING, None)]  # the file is as it was


def test_claude_codes_hooks(tmp_path: Path) -> None:
    folder = tmp_path / "hooks" / "one"
    folder.mkdir(parents=True)
    settings, log = folder / "settings.json", folder / "said.jsonl"
    run = "import pathlib, time; pathlib.Path('/proc/self/comm').write_text('claude'); time.sleep(1000)"
    (tmp_path / "agent.py").write_text(run)
    words = [sys.executable, str(tmp_path / "agent.py"), "--settings", str(settings)]
    made = StandIn(tmp_path, words, name=sys.executable)
    try:
        made.says()
        asks = {"at": time.time(), "above": [[made.pid, made.publisher.started]], "event": "PermissionRequest"}
        log.write_text(json.dumps({**asks, "fields": {"command": "a\nb\x1b[2J\u202e"}}) + "\n")
        wait_for(lambda: signals_below(made.shell.pid), "it to take its name")
        assert signals_below(made.shell.pid)[0].fields
        assert check_signal(ClaudeSession(), made.publisher, [log, made.file], time.time()) > 40
    finally:
        made.end()


def test_copilots_log(tmp_path: Path) -> None:
    made = StandIn(tmp_path, name="copilot", before=HOLDS)
    try:
        log = tmp_path / ".copilot" / "session-state" / "one" / "events.jsonl"
        log.write_text(json.dumps({"type": "user_input.requested", "data": {"question": "x\x1b[2J\u202e\ny"}}) + "\n")
        assert check_signal(CopilotSession(), made.publisher, [log], time.time()) > 20
    finally:
        made.end()


def test_opencodes_server(agent: StandIn) -> None:
    assert check_signal(OpenCodeServer(), agent.publisher) == 4  # tests/signals/test_opencode.py has its answers


class Bad:
    """A source that reads the session file with a fault."""

    name = "bad"
    programs = frozenset({"claude"})

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def read(self, publisher: Publisher, now: float) -> Iterable[Signal]:
        file = publisher.path(f"{publisher.home}/.claude/sessions/{publisher.own_pid}.json")
        said = Signal("bad", State.WAITING, guard=Guard.PROCESS, pid=publisher.pid)
        if self.fault == "raises" and file.is_file():
            said = evolve(said, words=str(json.loads(file.read_text())["status"]))
        elif self.fault == "raw words":
            said = evolve(said, words="two\nlines\x1b[2J")
        elif self.fault == "another pid":
            said = evolve(said, pid=1)
        elif self.fault == "writes":
            file.with_name("mine").touch()
        elif self.fault == "no bound" and file.is_file() and not file.is_symlink():
            file.read_bytes()
        elif self.fault == "long":
            said = evolve(said, words="x" * 100_000)
        elif self.fault == "no signal":
            return ["waiting"]  # type: ignore[list-item]
        elif self.fault == "future":
            said = evolve(said, age_s=-5.0)
        return [said]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("raises", "it raised"),
        ("raw words", "0x1b"),
        ("another pid", "names process 1"),
        ("writes", "made or removed a file"),
        ("no bound", "is huge: one look read"),
        ("long", "100000 characters"),
        ("no signal", "is no Signal"),
        ("future", "an age of"),
    ],
)
def test_a_fault_is_named(fault: str, told: str, agent: StandIn) -> None:
    with pytest.raises(AssertionError, match=told):
        check_signal(Bad(fault), agent.publisher, [agent.file])
    assert agent.file.exists()


def test_without_a_fault_the_same_source_passes(agent: StandIn) -> None:
    check_signal(Bad(""), agent.publisher, [agent.file])


def test_what_is_no_source(agent: StandIn) -> None:
    with pytest.raises(AssertionError, match="lacks name"):
        check_signal(object(), agent.publisher)  # type: ignore[arg-type]


def test_a_distributions_source_is_found_and_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site"
    info = folder / "acme_signals-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "acme_signals.py").write_text(ACME)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-signals\nVersion: 1.0\n")
    points = "acme = acme_signals:SOURCE\nbroken = acme_signals:nothing\nwrong = acme_signals:State\n"
    (info / "entry_points.txt").write_text(f"[{sources.ENTRY_POINTS}]\n{points}")
    monkeypatch.syspath_prepend(folder)
    sources.installed_sources.cache_clear()
    made = StandIn(tmp_path, name="acme-agent")
    try:
        found = [source for source in sources.installed_sources() if source.name == "acme"]
        assert len(found) == 1 and len(sources.installed_sources()) == 4  # the broken and the wrong one are left out
        file = tmp_path / ".acme" / f"{made.pid}.json"
        file.parent.mkdir()
        file.write_text(json.dumps({"started": made.publisher.started, "asks": "Deploy?"}))
        (said,) = signals_below(made.shell.pid)
        assert (said.source, said.words, said.guard) == ("acme", "Deploy?", Guard.PROCESS)
        assert check_signal(found[0], made.publisher, [file]) > 20
    finally:
        sources.installed_sources.cache_clear()
        made.end()
        sys.modules.pop("acme_signals", None)
