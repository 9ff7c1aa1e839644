"""Sessions as a program that imports stallkit has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stallkit_sessions import ExitRecord, Sessions
from stallkit_sessions.explain import start_command
from stallkit_sessions.lifecycle import stop
from stallkit_sessions.model import Cause, Session
from stallkit_sessions.register import RunningSession
from started import House
from terminals import wait_for

from stallkit import SessionGone, check
from stallkit.errors import StartRefused
from stallkit.transports.tmux.identity import Identity

pytestmark = pytest.mark.e2e


def test_a_session_from_its_start_to_its_end(house: House) -> None:
    where: dict[str, Any] = {"directory": house.work, "tmux_socket_path": house.socket}
    with Sessions() as sessions:
        assert sessions.latest("a") is None
        made = sessions.start("a", ["sh", "-c", "read answer; exit $answer"], ports=[0], **where)
        assert len(made.ports) == 1 and made.ports[0] > 0
        assert sessions.latest("a") == made and sessions.living() == [made]
        transport = sessions.open("a")
        assert check(transport).snapshot.foreground == "sh"
        transport.close()
        house.tmux("send-keys", "-t", Identity.of(made.identity).pane, "7", "Enter")
        wait_for(lambda: isinstance(sessions.latest("a"), ExitRecord), "its end")
        (ended,) = sessions.ends("a")
        assert ended.status is not None and (ended.cause, ended.status.code) == (Cause.EXITED, 7)
        assert sessions.stop("a") == ended and sessions.living() == []
        again = sessions.start("a", ["cat"], **where)
        assert isinstance(again, Session) and sessions.stop("a", grace_s=1).cause is Cause.STOPPED


def test_what_cannot_be(house: House) -> None:
    wrong: list[dict[str, Any]] = [{"engine": "docker"}, {"image": "bb:1"}, {"engine": "lxc"}]
    with Sessions() as sessions:
        for given in wrong:
            with pytest.raises(ValueError, match="engine must be"):
                sessions.start("a", ["cat"], **given)
        with pytest.raises(ValueError, match="not a name"):
            sessions.start("a.b", ["cat"])
        with pytest.raises(StartRefused, match="no program"):
            sessions.start("a", ["no-such-program"])
        for act in (sessions.stop, sessions.open):
            with pytest.raises(SessionGone):
                act("a")


# --- agents that are started with hooks ---
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


def test_the_files_of_a_start_go_with_it_and_without_the_option_nothing_is_added(house: House) -> None:
    plain = house.start("plain", agent(house), "--continue")
    assert words(house) == ["--continue"] and not (house.state / "hooks").exists()
    assert "--hooks" not in start_command(plain)
    (house.work / "args").unlink()
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


def test_hooks_that_cannot_be_made_start_nothing(house: House) -> None:
    house.state.mkdir(exist_ok=True)
    (house.state / "hooks").write_text("in the way")
    with pytest.raises(StartRefused, match="without --hooks"):
        house.start("a", agent(house), hooks=True)
    assert house.register.latest("a") is None
    with (
        Sessions(house.state / "sessions.db") as sessions,
        pytest.raises(ValueError, match="do not work in a container"),
    ):
        sessions.start("a", ["claude"], engine="bwrap", hooks=True)
