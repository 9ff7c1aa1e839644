"""Agents that are started with ``--hooks``: the option reaches the agent, its files go with the session."""

from __future__ import annotations

from pathlib import Path

import pytest
from stallkit_sessions.explain import start_command
from stallkit_sessions.lifecycle import stop
from stallkit_sessions.manager import Sessions
from stallkit_sessions.model import Session
from stallkit_sessions.register import RunningSession
from started import House
from terminals import wait_for

from stallkit.errors import StartRefused
from stallkit.jsonio import structure, unstructure

pytestmark = pytest.mark.e2e


def agent(house: House) -> str:
    """A program called claude that shows its command line."""
    file = house.work / "claude"
    file.write_text('#!/bin/sh\necho "$@" >args\nexec cat\n')
    file.chmod(0o755)
    return str(file)


def words(house: House) -> list[str]:
    file = house.work / "args"
    wait_for(lambda: file.exists() and file.read_text(), "the agent's command line")
    return file.read_text().split()


def test_the_files_of_a_start_go_with_it(house: House) -> None:
    session = house.start("a", agent(house), "--continue", hooks=True)
    option, settings, rest = words(house)
    assert (option, rest) == ("--settings", "--continue")
    folder = house.state / "hooks" / session.id
    assert Path(settings).parent == folder and folder.stat().st_mode & 0o777 == 0o700
    found = house.register.latest("a")
    assert isinstance(found, RunningSession) and found.session.command == session.command  # as it was given
    record = stop(house.register, found)
    assert not folder.exists()
    assert " --hooks -- " in start_command(record.session)


def test_without_the_option_nothing_is_added(house: House) -> None:
    session = house.start("a", agent(house), "--continue")
    assert words(house) == ["--continue"]
    assert not (house.state / "hooks").exists()
    assert "--hooks" not in start_command(session)
    plain = unstructure(session)
    assert "hooks" not in plain and structure(plain, Session) == session  # as older versions write it


def test_a_start_that_fails_leaves_no_files(house: House) -> None:
    house.state.mkdir(exist_ok=True)
    (house.state / "hooks").write_text("in the way")
    with pytest.raises(StartRefused, match="without --hooks"):
        house.start("a", agent(house), hooks=True)
    assert house.register.latest("a") is None


def test_not_in_a_container(house: House) -> None:
    with Sessions(house.state / "sessions.db") as sessions, pytest.raises(ValueError, match="no sandbox"):
        sessions.start("a", ["claude"], engine="bwrap", hooks=True)
