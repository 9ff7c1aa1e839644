"""A pane that a supervisor restarts: its exit record first, whoever had started what ran in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from restarted import dead
from stallkit_sessions.model import Cause, Source, Status
from stallkit_sessions.register import RunningSession
from stallkit_supervisor.restart import ended_here, keep_exit, start_anew, start_here
from started import House
from terminals import HEARD, wait_for

from stallkit.errors import StartRefused
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

ANEW = ("sh", "-c", "echo anew; exec cat")


def file(house: House) -> Path:
    return house.state / "sessions.db"


def stranger(house: House, *command: str) -> None:
    """A session that somebody started by hand, in a pane that stays."""
    house.tmux("new-session", "-d", "-s", "keeper", "cat")
    house.tmux("set-option", "-g", "remain-on-exit", "on")
    house.tmux("new-session", "-d", "-s", "a", "-c", str(house.work), *command)


def test_one_of_ours_ends_and_is_begun_again_under_its_name(house: House, pane: TmuxTransport) -> None:
    first = house.start("a", "sh", "-c", f"echo bye; {HEARD}; exit 3", ports=(0,))
    seen = dead(pane)
    record = keep_exit(file(house), "tmux:a", pane, seen)
    assert record is not None
    assert (record.status, record.screen) == (Status(Source.PANE, code=3), ("bye",))
    start_here(file(house), record, ANEW)
    living = house.register.latest("a")
    assert isinstance(living, RunningSession) and living.bound
    assert (living.session.command, living.session.ports) == (ANEW, first.ports)
    assert living.session.id != first.id
    assert [one["event"] for one in house.events("a")] == ["session_started", "session_crashed", "session_started"]
    house.tmux("kill-session", "-t", "=a")
    assert house.end_of("a").cause in (Cause.SESSION_KILLED, Cause.SERVER_ENDED)
    assert len(house.register.records("a")) == 2


def test_a_record_that_was_written_before_is_the_one(house: House, pane: TmuxTransport) -> None:
    house.start("a", "sh", "-c", "exit 3")
    before = house.end_of("a")
    assert keep_exit(file(house), "tmux:a", pane, dead(pane)) == before
    assert len(house.register.records("a")) == 1


def test_a_strangers_end_is_recorded_and_its_restart_is_not_ours(house: House, pane: TmuxTransport) -> None:
    stranger(house, "sh", "-c", f"echo bye; {HEARD}; exit 3")
    seen = dead(pane)
    record = keep_exit(file(house), "tmux:a", pane, seen)
    assert record is not None
    assert (record.cause, record.status) == (Cause.EXITED, Status(Source.PANE, code=3))
    assert record.screen == ("bye",)
    pane.restart(ANEW, seen)
    assert house.register.latest("a") == record
    assert record.session.directory == str(house.work)
    assert house.final("a")["event"] == "session_crashed"
    assert [one["event"] for one in house.events("a")] == ["session_crashed"]  # nobody saw it start
    assert ended_here(file(house), "tmux:a", pane.options) is None


def test_a_stranger_that_has_the_name_of_one_of_ours_is_not_taken_for_it(house: House, pane: TmuxTransport) -> None:
    other = house.folder / "other.sock"
    house.start("a", tmux_socket_path=str(other))
    try:
        stranger(house, "sh", "-c", "exit 3")
        assert keep_exit(file(house), "tmux:a", pane, dead(pane)) is None
        assert isinstance(house.register.latest("a"), RunningSession)
    finally:
        house.socket.unlink()
        house.socket = other


def test_of_one_that_lives_nothing_is_written(house: House, pane: TmuxTransport) -> None:
    house.start("a")
    with pytest.raises(StartRefused, match="not explained yet"):
        keep_exit(file(house), "tmux:a", pane, pane.capture())
    assert isinstance(house.register.latest("a"), RunningSession)


def test_one_that_is_gone_is_started_anew_as_a_session_of_ours(house: House, pane: TmuxTransport) -> None:
    house.start("keeper")
    house.start("a", "sh", "-c", "exit 3")
    house.end_of("a")
    house.tmux("kill-session", "-t", "=a")
    record = ended_here(file(house), "tmux:a", pane.options)
    assert record is not None
    start_anew(file(house), record, ANEW)
    living = house.register.latest("a")
    assert isinstance(living, RunningSession) and living.bound
    wait_for(lambda: "anew" in house.tmux("capture-pane", "-p", "-t", "=a:"), "its start")
    with pytest.raises(StartRefused, match="it has not ended"):
        ended_here(file(house), "tmux:a", pane.options)
    for target, options in (("tmux:never", pane.options), ("tmux:a", Options(tmux_socket_name="another"))):
        assert ended_here(file(house), target, options) is None


def test_its_name_was_taken_meanwhile(house: House, pane: TmuxTransport) -> None:
    house.start("a", "sh", "-c", "exit 3")
    record = keep_exit(file(house), "tmux:a", pane, dead(pane))
    assert record is not None
    house.start("a")
    with pytest.raises(StartRefused, match="a session of this name runs"):
        start_here(file(house), record, ANEW)
