"""Sources of signals: how those of distributions are found, what of a process counts, and what a start adds."""

from __future__ import annotations

import ast
import logging
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Iterable, Iterator

import pytest
from agent_stand_in import NAME, SOURCE, Acme, AcmeSession

from stallkit.detect.signature import State
from stallkit.evidence.signal import Guard, Signal
from stallkit.signals import Starter
from stallkit.signals.collect import ENTRY_POINTS, command_with_signals, installed_sources, remove_files, signals_below
from stallkit.signals.source import Publisher

ROOT = Path(__file__).parents[2]
POINTS = "acme = agent_stand_in:SOURCE\nbroken = agent_stand_in:nothing\nwrong = agent_stand_in:installed_agent\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution with the source of acme-agent, one that is not there, and one that is none."""
    info = tmp_path / "site" / "acme_signals-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-signals\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{POINTS}")
    monkeypatch.syspath_prepend(info.parent)
    installed_sources.cache_clear()
    yield
    installed_sources.cache_clear()


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Acme]:
    with Acme(tmp_path) as made:
        yield made


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_distributions_source_is_found_and_heard(
    installed: None, agent: Acme, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert [source for source in installed_sources() if source.name == "acme"] == [SOURCE]
    assert [record.args[0] for record in caplog.records if isinstance(record.args, tuple)] == ["broken", "wrong"]
    agent.says("Deploy?")
    (said,) = agent.signals()
    assert (said.source, said.words, said.guard, said.pid) == ("acme", "Deploy?", Guard.PROCESS, agent.pid)


def test_a_program_without_a_source_has_no_signal(agent: Acme) -> None:
    agent.says()
    assert agent.signals() == () and signals_below(agent.shell.pid, [SOURCE]) != ()


def test_a_source_that_fails_is_left_out(agent: Acme, caplog: pytest.LogCaptureFixture) -> None:
    class Fails(AcmeSession):
        def read(self, publisher: Publisher, now: float) -> Iterator[Signal]:
            raise ValueError("a table is full")

    agent.says()
    with caplog.at_level(logging.WARNING):
        (said,) = signals_below(agent.shell.pid, [Fails(), SOURCE])
    assert said.state is State.WAITING and "a table is full" in caplog.text


def test_a_stopped_process_and_one_that_ended_say_nothing(agent: Acme) -> None:
    def heard() -> list[tuple[str | None, str | None]]:
        return [(said.state, said.stale) for said in signals_below(agent.shell.pid, [SOURCE])]

    agent.says(asks="")
    os.kill(agent.pid, signal.SIGSTOP)
    agent.wait_for(lambda: heard() == [(State.WORKING, "its process is stopped")], "the stop to be told")
    os.kill(agent.pid, signal.SIGCONT)
    agent.wait_for(lambda: heard() == [(State.WORKING, None)], "it to go on")
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait_for(lambda: heard() == [], "its end")


def test_only_what_is_below_a_process_is_asked(agent: Acme) -> None:
    agent.says()
    assert signals_below(os.getpid(), [SOURCE]) and not signals_below(1 << 30, [SOURCE])
    other = subprocess.Popen(["sleep", "1000"])
    try:
        assert signals_below(other.pid, [SOURCE]) == ()
    finally:
        other.kill()
        other.wait()


def test_what_a_start_adds_goes_with_it(installed: None, state: Path) -> None:
    words = command_with_signals([f"/usr/bin/{NAME}", "--continue"], "one")
    folder = state / "hooks" / "one"
    assert words == [f"/usr/bin/{NAME}", "--report", str(folder / "report"), "--continue"]
    assert folder.stat().st_mode & 0o777 == 0o700 and (folder / "report").stat().st_mode & 0o777 == 0o600
    remove_files("one")
    assert not folder.exists()
    remove_files("one")  # nor is it an error that there are none


def test_what_is_started_as_it_was(installed: None, state: Path) -> None:
    """A program without a source, one that has the option, one whose source fails: no folder is left of any."""
    for command in ([], ["vim"], ["sh", "-c", NAME], [NAME, "--report=mine"], [NAME, "--broken"]):
        assert command_with_signals(command, "x") == command
    assert not (state / "hooks").exists() or not list((state / "hooks").iterdir())


def test_files_that_cannot_be_written_are_an_error(installed: None, state: Path) -> None:
    state.mkdir()
    (state / "hooks").write_text("in the way")
    with pytest.raises(OSError):
        command_with_signals([NAME], "x")


def test_a_source_may_have_nothing_to_add(agent: Acme) -> None:
    class Reads:
        name, programs = "acme", frozenset({NAME})

        def read(self, publisher: Publisher, now: float) -> Iterable[Signal]:
            return ()

    assert isinstance(SOURCE, Starter) and not isinstance(Reads(), Starter)


AGENTS = re.compile(r"\b(aider|claude|codex|copilot|gemini|opencode|pi|qwen)\b", re.IGNORECASE)
KNOWS_NONE = [
    *(ROOT / "stallkit/signals").glob("*.py"),
    *(ROOT / "stallkit" / name for name in ("evidence/signals.py", "evidence/signal.py", "testing/checks.py")),
    *(ROOT / "stallkit" / name for name in ("testing/doubles.py", "probes/procfs.py", "probes/activity.py")),
]


def test_stallkit_itself_names_no_program_that_has_a_source() -> None:
    """What is known of one stands in its pack: no text in these files names an agent."""
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {found[0]}"
        for path in KNOWS_NONE
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (found := AGENTS.search(node.value))
    ]
    assert not named, "\n".join(named)
