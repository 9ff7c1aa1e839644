"""Starting a program again: in its pane or anew, its end recorded first, and nothing started where that cannot be."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Sequence

import pytest
from restarted import dead, shows
from stallkit_sessions.model import ExitRecord
from stallkit_sessions.register import RunningSession
from stallkit_supervisor.restart import Restarter
from started import House
from terminals import wait_for

from stallkit.errors import TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.press.gate import End
from stallkit.testing import MemoryTransport
from stallkit.transports.tmux.pane import TmuxTransport

ANEW = ("sh", "-c", "echo anew; exec cat")
BYE = "stty -echo; echo bye; read x; exit 3"  # tmux may lose what a program writes right before it ends


class Startable(MemoryTransport):
    """A session in memory that can start programs, or fails to."""

    def __init__(self, refuses: bool = False) -> None:
        super().__init__("bye")
        self.refuses = refuses
        self.began: list[tuple[str, tuple[str, ...]]] = []

    def restart(self, command: Sequence[str], seen: Snapshot) -> None:
        assert seen == self.now
        self._begin("restart", command)

    def start(self, command: Sequence[str]) -> None:
        self._begin("start", command)

    def _begin(self, how: str, command: Sequence[str]) -> None:
        if self.refuses:
            raise TransportError(self.target, "there is one", "look again")
        self.began.append((how, tuple(command)))


def register_of(house: House) -> Path:
    return house.state / "sessions.db"


@pytest.fixture
def restarter(house: House) -> Restarter:
    return Restarter(ANEW, register_of(house))


def by_hand(house: House, script: str, stays: bool = True) -> None:
    """A session `a` that nobody started through us."""
    house.tmux("new-session", "-d", "-s", "keeper", "cat")
    house.tmux("set-option", "-g", "remain-on-exit", "on" if stays else "off")
    house.tmux("new-session", "-d", "-s", "a", "-c", str(house.work), "sh", "-c", script)


def said_bye(house: House, pane: TmuxTransport) -> Snapshot:
    """The first look at the pane after its program, `BYE`, was shown and then ended."""
    shows(house, "bye")
    house.tmux("send-keys", "-t", "=a:", "Enter")
    return dead(pane)


def identity(house: House) -> str:
    """Of what is in its pane now."""
    return house.tmux("display-message", "-p", "-t", "=a:", "#{pid} #{start_time} #{pane_id} #{pane_pid}").strip()


def names(house: House) -> list[str]:
    return [one["event"] for one in house.events("a")]


# --- by whatever the transport has ---


@pytest.mark.parametrize("records", [False, True])
def test_a_transport_that_can_start_programs_starts_it(tmp_path: Path, records: bool) -> None:
    register = tmp_path / "sessions.db" if records else None
    session = Startable()
    restarter = Restarter(ANEW, register)
    outcome = restarter.in_place(session, "memory:", session.now)
    assert (outcome.end, outcome.after) == (End.CLEARED, session.now)
    outcome = restarter.anew(session, "memory:")
    assert (outcome.end, outcome.after) == (End.CLEARED, None)
    assert session.began == [("restart", ANEW), ("start", ANEW)]
    assert not (tmp_path / "sessions.db").exists(), "only panes of tmux have exit records"


def test_a_transport_that_cannot_is_refused() -> None:
    session = MemoryTransport("bye")
    restarter = Restarter(ANEW, None)
    for outcome in (restarter.in_place(session, "memory:", session.now), restarter.anew(session, "memory:")):
        assert (outcome.end, outcome.why) == (End.REFUSED, "its transport cannot start a program")


def test_a_start_that_fails_may_have_happened() -> None:
    session = Startable(refuses=True)
    restarter = Restarter(ANEW, None)
    for outcome in (restarter.in_place(session, "memory:", session.now), restarter.anew(session, "memory:")):
        assert outcome.end is End.UNKNOWN and "there is one" in outcome.why


# --- in its pane ---


@pytest.mark.e2e
def test_one_of_ours_is_recorded_and_goes_on_under_its_name(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    first = house.start("a", "sh", "-c", BYE, ports=(0,))
    outcome = restarter.in_place(pane, "tmux:a", said_bye(house, pane))
    assert (outcome.end, outcome.why) == (End.CLEARED, "the program was started again")
    shows(house, "anew")
    [record] = house.register.records("a")
    assert (record.session.id, record.screen) == (first.id, ("bye",)), "what the restart takes away was kept"
    living = house.register.latest("a")
    assert isinstance(living, RunningSession) and living.bound
    assert (living.session.command, living.session.ports) == (ANEW, first.ports)
    assert living.session.identity == identity(house)
    assert names(house) == ["session_started", "session_crashed", "session_started"]


@pytest.mark.e2e
def test_one_that_was_started_by_hand_is_recorded_and_stays_nobodys(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    by_hand(house, BYE)
    assert restarter.in_place(pane, "tmux:a", said_bye(house, pane)).end is End.CLEARED
    shows(house, "anew")
    latest = house.register.latest("a")
    assert isinstance(latest, ExitRecord) and latest.screen == ("bye",)


@pytest.mark.e2e
def test_without_a_register_it_is_restarted_all_the_same(house: House, pane: TmuxTransport) -> None:
    by_hand(house, "exit 3")
    assert Restarter(ANEW, None).in_place(pane, "tmux:a", dead(pane)).end is End.CLEARED
    shows(house, "anew")
    assert not register_of(house).exists()


@pytest.mark.e2e
def test_what_cannot_be_recorded_is_not_restarted(house: House, pane: TmuxTransport, restarter: Restarter) -> None:
    by_hand(house, "echo bye; exit 3")
    seen = dead(pane)
    register_of(house).mkdir(parents=True)
    outcome = restarter.in_place(pane, "tmux:a", seen)
    assert outcome.end is End.REFUSED and outcome.why.startswith("its end could not be recorded: register ")
    now = pane.capture()
    assert (now.alive, now.identity) == (False, seen.identity)


@pytest.mark.e2e
def test_one_whose_name_is_a_living_session_of_ours_is_restarted_unrecorded(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    other = house.folder / "other.sock"
    ours = house.start("a", tmux_socket_path=str(other))
    try:
        by_hand(house, "exit 3")
        assert restarter.in_place(pane, "tmux:a", dead(pane)).end is End.CLEARED
        shows(house, "anew")
        living = house.register.latest("a")
        assert isinstance(living, RunningSession) and living.session.id == ours.id
        assert house.register.records("a") == []
    finally:
        house.tmux("kill-server")
        house.socket = other


@pytest.mark.e2e
def test_a_pane_that_somebody_restarted_meanwhile_is_left_alone(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    house.start("a", "sh", "-c", "exit 3")
    seen = dead(pane)
    house.tmux("respawn-pane", "-t", "=a:", "echo theirs; exec cat")
    shows(house, "theirs")
    outcome = restarter.in_place(pane, "tmux:a", seen)
    assert outcome.end is End.UNKNOWN and "another process or server has its place now" in outcome.why
    assert "theirs" in house.tmux("capture-pane", "-p", "-t", "=a:")
    latest = house.register.latest("a")
    assert isinstance(latest, ExitRecord), "its end is recorded, and what runs there now is not ours"


@pytest.mark.e2e
def test_one_whose_port_was_taken_is_not_started(house: House, pane: TmuxTransport, restarter: Restarter) -> None:
    first = house.start("a", "sh", "-c", "exit 3", ports=(0,))
    with socket.create_server(("127.0.0.1", first.ports[0])):
        outcome = restarter.in_place(pane, "tmux:a", dead(pane))
    assert outcome.end is End.REFUSED and outcome.why.startswith("could not start a: port ")
    assert pane.capture().alive is False and isinstance(house.register.latest("a"), ExitRecord)


# --- where nothing is left ---


@pytest.mark.e2e
def test_one_of_ours_that_is_gone_is_a_session_of_ours_again(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    house.start("keeper")
    first = house.start("a", "sh", "-c", "exit 3", ports=(0,))
    house.end_of("a")
    house.tmux("kill-session", "-t", "=a")
    outcome = restarter.anew(pane, "tmux:a")
    assert (outcome.end, outcome.why) == (End.CLEARED, "the session was started again")
    shows(house, "anew")
    living = house.register.latest("a")
    assert isinstance(living, RunningSession) and living.bound
    assert (living.session.command, living.session.ports) == (ANEW, first.ports)
    assert living.session.directory == first.directory


@pytest.mark.e2e
def test_one_that_was_started_by_hand_and_is_gone_is_started_by_hand(
    house: House, pane: TmuxTransport, restarter: Restarter
) -> None:
    by_hand(house, "exit 3", stays=False)
    wait_for(lambda: "a" not in house.tmux("list-sessions", "-F", "#{session_name}").split(), "its end")
    outcome = restarter.anew(pane, "tmux:a")
    assert (outcome.end, outcome.why) == (End.CLEARED, "the program was started again")
    shows(house, "anew")
    assert house.register.latest("a") is None


@pytest.mark.e2e
def test_one_that_lives_is_not_started_a_second_time(house: House, pane: TmuxTransport, restarter: Restarter) -> None:
    first = house.start("a")
    outcome = restarter.anew(pane, "tmux:a")
    assert outcome.end is End.REFUSED and "it has not ended" in outcome.why
    assert names(house) == ["session_started"]
    living = house.register.latest("a")
    assert isinstance(living, RunningSession) and living.session.id == first.id


@pytest.mark.e2e
def test_a_register_that_cannot_be_read_starts_nothing(house: House, pane: TmuxTransport, restarter: Restarter) -> None:
    house.tmux("new-session", "-d", "-s", "keeper", "cat")
    register_of(house).mkdir(parents=True)
    outcome = restarter.anew(pane, "tmux:a")
    assert outcome.end is End.UNKNOWN and outcome.why.startswith("register ")
    assert house.tmux("list-sessions", "-F", "#{session_name}") == "keeper\n"
