"""Claude Code's session file, beside a process that is called so: whose file counts, and whose does not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import unicodedata
from pathlib import Path
from typing import Any, Iterator

import pytest
from agent_stand_in import StandIn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from terminals import wait_for

from stallkit.core.signal import Guard
from stallkit.core.signature import Kind, State
from stallkit.signals.heard import signals_below


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    made = StandIn(tmp_path_factory.mktemp("home"))
    yield made
    made.end()


def test_what_its_file_says(agent: StandIn) -> None:
    agent.says()
    (said,) = signals_below(agent.shell.pid)
    assert (said.state, said.kind, said.words) == (State.WAITING, Kind.PERMISSION, "permission prompt")
    assert (said.guard, said.pid, said.stale) == (Guard.PROCESS, agent.pid, None)
    assert said.age_s is not None and said.age_s >= 2
    assert said.session is None


def test_by_which_id_it_goes_on_later(agent: StandIn) -> None:
    agent.says(status="busy", sessionId="0f8b41c2-77aa-4c1e-9d50-3a1f7be2c9d4")
    (said,) = signals_below(agent.shell.pid)
    assert said.session == "0f8b41c2-77aa-4c1e-9d50-3a1f7be2c9d4"


@pytest.mark.parametrize(
    ("status", "state"),
    [("idle", State.IDLE), ("busy", State.WORKING), ("shell", State.IDLE), ("waiting", State.WAITING)],
)
def test_each_status(agent: StandIn, status: str, state: State) -> None:
    agent.says(status=status)
    assert agent.heard() == [(state, None)]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"procStart": "1"}, "another process wrote it"),
        ({"procStart": None}, "it does not say when its process started"),
        ({"pid": 1}, "another process wrote it"),
        ({"pidDomain": "linux:0:pid:[1]"}, "it is of another pid namespace"),
        ({"pidDomain": None, "procStart": "1"}, "another process wrote it"),
    ],
)
def test_a_file_of_another_process_is_stale(agent: StandIn, wrong: dict[str, Any], why: str) -> None:
    agent.says(**wrong)
    assert agent.heard() == [(State.WAITING, why)]


@pytest.mark.parametrize("domain", [None, ""])
def test_a_file_of_a_version_without_pid_namespaces_counts(agent: StandIn, domain: str | None) -> None:
    """Missing is unknown, and unknown is not another."""
    agent.says(pidDomain=domain)
    assert agent.heard() == [(State.WAITING, None)]


@pytest.mark.parametrize("status", ["blocked", "", None, 7, ["waiting"]])
def test_an_unknown_status_says_nothing(agent: StandIn, status: object) -> None:
    agent.says(status=status)
    assert agent.heard() == []


def test_only_a_regular_file_of_its_own_user_is_read(agent: StandIn, tmp_path: Path) -> None:
    agent.says()
    agent.file.rename(tmp_path / "elsewhere")
    agent.file.symlink_to(tmp_path / "elsewhere")
    assert agent.heard() == []
    agent.file.unlink()
    os.mkfifo(agent.file)
    assert agent.heard() == []  # and does not hang
    agent.file.unlink()
    agent.says()
    if os.geteuid() == 0:
        os.chown(agent.file, 12345, 12345)
        assert agent.heard() == []
        os.chown(agent.file, 0, 0)
    with agent.file.open("a") as file:
        file.write(" " * 2_000_000)
    assert agent.heard() == []
    agent.file.unlink()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_no_file_makes_it_raise(agent: StandIn, data: bytes) -> None:
    agent.file.write_bytes(data)
    assert agent.heard() == []


@settings(max_examples=50)
@given(st.text())
def test_its_words_are_one_harmless_line(agent: StandIn, words: str) -> None:
    agent.says(waitingFor=words)
    (said,) = signals_below(agent.shell.pid)
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in said.words)


def test_a_stopped_process_and_one_that_ended_say_nothing(tmp_path: Path) -> None:
    agent = StandIn(tmp_path)
    try:
        agent.says(status="busy")
        os.kill(agent.pid, signal.SIGSTOP)
        wait_for(lambda: agent.heard() == [(State.WORKING, "its process is stopped")], "the stop to be told")
        os.kill(agent.pid, signal.SIGCONT)
        wait_for(lambda: agent.heard() == [(State.WORKING, None)], "it to go on")
        os.kill(agent.pid, signal.SIGKILL)
        wait_for(lambda: agent.heard() == [], "its end")
    finally:
        agent.end()


def test_the_file_of_a_process_elsewhere_is_never_read(agent: StandIn) -> None:
    agent.says()
    assert signals_below(os.getpid()) and not signals_below(1 << 30)
    other = subprocess.Popen(["sleep", "1000"])
    try:
        assert signals_below(other.pid) == ()
    finally:
        other.kill()
        other.wait()
