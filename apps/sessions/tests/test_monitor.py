"""The monitor beside real sessions: every way to end is told once and as what it was, also where it was killed."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Callable

import pytest
from stallkit_sessions import monitor_client
from stallkit_sessions.lifecycle import stop
from stallkit_sessions.model import FINAL, Cause, Order, Session
from stallkit_sessions.monitor import Monitor
from stallkit_sessions.register import RunningSession, Sight
from started import House, alive
from terminals import HEARD, wait_for

from stallkit.errors import StoreError
from stallkit.probes.procfs import stat_of
from stallkit.transports.tmux.identity import Identity

pytestmark = pytest.mark.e2e

NOTHING = Sight((), (), 0.0)


def program(session: Session) -> int:
    return Identity.of(session.identity).pid


def told(house: House, name: str) -> dict[str, object]:
    """Its final event, as soon as the monitor wrote it, with nobody asking."""
    wait_for(lambda: any(one["event"] in FINAL for one in house.own_events(name)), f"the end of {name}")  # written last
    return house.final(name)


def kill(session: Session) -> None:
    os.kill(program(session), signal.SIGKILL)


def test_each_end_of_a_program_is_told_as_what_it_was(house: House) -> None:
    house.start("keeper")
    for code in (0, 3, 137):
        house.start(f"exit{code}", "sh", "-c", f"echo one; echo two; {HEARD}; exit {code}")
    kill(house.start("kill"))
    for name in ("gone", "given"):
        house.start(name)
    house.tmux("kill-session", "-t", "=gone")
    house.tmux("respawn-pane", "-k", "-t", "=given:", "cat")
    for code in (0, 3, 137):
        event = told(house, f"exit{code}")
        assert (event["event"], event["exit_code"]) == ("session_crashed" if code else "session_stopped", code)
        assert (event["signal"], event["source"], event["lines"]) == (None, "pane_dead_status", 2)
    rest = {name: told(house, name) for name in ("kill", "gone", "given")}
    assert {name: (one["event"], one["cause"], one["signal"], one["exit_code"]) for name, one in rest.items()} == {
        "kill": ("session_crashed", "signalled", 9, None),
        "gone": ("session_drop", "session killed", None, None),
        "given": ("session_drop", "session killed", None, None),
    }
    assert "respawn-pane" in str(rest["given"]["why"])
    assert (house.state / "monitor.log").read_text() == ""


def test_sessions_that_end_with_their_server_are_one_incident(house: House) -> None:
    ends: dict[str, tuple[Callable[[], object], str]] = {
        "command": (lambda: house.tmux("kill-server"), "tmux server ended"),
        "term": (lambda: os.kill(house.tmux_pid, signal.SIGTERM), "tmux server ended"),
        "kill": (house.kill_tmux, "tmux server crashed"),
    }
    for scene, (how, cause) in ends.items():
        names = [f"{scene}{number}" for number in range(3)]
        for name in names:
            house.start(name)
        how()
        events = [told(house, name) for name in names]
        assert {(one["event"], one["cause"], one["exit_code"]) for one in events} == {("session_drop", cause, None)}
        incidents = [one for one in house.events() if one["event"] == "incident"]
        assert incidents[-1]["sessions"] == names
        assert {one["incident"] for one in events} == {incidents[-1]["incident"]}
    assert len(incidents) == len(ends)
    assert (house.state / "monitor.log").read_text() == ""


@pytest.mark.parametrize("screens", [False, True])
def test_what_it_showed_last_is_in_the_record_of_one_that_vanished(house: House, screens: bool) -> None:
    """While it runs its screen is in memory alone, unless the user's settings want it on the disk."""
    if screens:
        (house.folder / "stallkit").mkdir()
        (house.folder / "stallkit/stallkit.toml").write_text("[record]\nscreens = true\n")
    house.start("keeper")
    session = house.start("a", "sh", "-c", "echo the last words; exec cat")
    wait_for(lambda: "the last words" in house.tmux("capture-pane", "-p", "-t", "=a:"), "its words")
    assert monitor_client.ask(house.state), "the monitor has seen them by now"
    if screens:  # written every few seconds
        wait_for(lambda: "the last words" in (house.register.sight(session.id) or NOTHING).lines, "the disk")
    else:
        assert (house.register.sight(session.id) or NOTHING).lines in ((), ("",))
    house.tmux("kill-session", "-t", "=a")
    record = house.end_of("a")
    assert record.screen == ("the last words",)
    assert record.screen_at is not None and record.screen_at <= record.ended_at
    assert record.verdicts


def test_what_ended_while_no_monitor_was_there_is_told_by_the_next_who_asks_and_no_code_is_made_up(
    house: House,
) -> None:
    ends: list[tuple[Callable[[Session], object], Cause, int | None]] = [
        (lambda one: house.tmux("send-keys", "-t", f"={one.name}:", "Enter"), Cause.EXITED, 5),
        (kill, Cause.SIGNALLED, None),
        (lambda one: house.tmux("kill-session", "-t", f"={one.name}"), Cause.SESSION_KILLED, None),
        (lambda one: house.tmux("kill-server"), Cause.SERVER_GONE, None),
        (lambda one: house.kill_tmux(), Cause.SERVER_GONE, None),
    ]
    for number, (how, cause, code) in enumerate(ends):
        house.start(f"keeper{number}")
        session = house.start(f"a{number}", "sh", "-c", "read line; exit 5")
        house.kill_monitor()
        how(session)
        assert house.end_of(session.name).cause is cause, number
        assert house.final(session.name)["exit_code"] == code


def test_it_is_killed_at_any_moment(house: House) -> None:
    """Sessions end in every way while monitors are killed and begun anew: one end each, and none told as a success."""
    dice = random.Random(7)
    house.start("keeper")
    over, complaints = threading.Event(), []

    def murderer() -> None:
        while not over.wait(dice.uniform(0.0, 0.4)):
            for pid in house.monitors:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    complaints.append(pid)

    thread = threading.Thread(target=murderer)
    thread.start()
    meant: dict[str, set[Cause]] = {}
    try:
        for number in range(12):
            name = f"s{number}"
            match number % 4:
                case 0:
                    house.start(name, "sh", "-c", "exit 5")
                    meant[name] = {Cause.EXITED}
                case 1:
                    kill(house.start(name))
                    meant[name] = {Cause.SIGNALLED}
                case 2:
                    house.start(name)
                    house.tmux("kill-session", "-t", f"={name}")
                    meant[name] = {Cause.SESSION_KILLED}
                case _:
                    house.start(name)
                    living = house.register.latest(name)
                    assert isinstance(living, RunningSession)
                    stop(house.register, living)
                    meant[name] = {Cause.STOPPED}
    finally:
        over.set()
        thread.join()
    for name, causes in meant.items():
        assert house.end_of(name).cause in causes, name
        assert house.final(name)["exit_code"] in (None, 5)
    assert len({one["id"] for one in house.events()}) == len(house.events())


# --- the machine itself, in this process ---


def test_it_ends_when_no_session_is_left(house: House) -> None:
    asyncio.run(asyncio.wait_for(Monitor(house.register, None, linger_s=0.0).run(), 20))


def test_who_asks_one_that_ends_is_told(house: House) -> None:
    monitor = Monitor(house.register, None, linger_s=0.0)

    async def ask_at_its_end() -> None:
        await monitor.run()
        await monitor.finalized()

    with pytest.raises(StoreError, match="it is ending"):
        asyncio.run(asyncio.wait_for(ask_at_its_end(), 20))


def test_it_ends_when_its_register_is_taken_away(house: House) -> None:
    house.register.claim(house.session("a"), (os.getpid(), 1))
    house.register.path.unlink()
    asyncio.run(asyncio.wait_for(Monitor(house.register, None).run(), 20))


def test_a_failed_pass_does_not_end_it(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever fails: what it knows of servers and engines would be lost with it."""
    house.register.claim(house.session("a"), (os.getpid(), 1))
    monitor, passes = Monitor(house.register, None, pace_s=0.01), []
    living = house.register.living

    def broken() -> list[RunningSession]:
        passes.append(time.monotonic())
        if len(passes) == 1:
            raise RuntimeError("no more processes")
        monitor.stop()
        return living()

    monkeypatch.setattr(house.register, "living", broken)
    asyncio.run(asyncio.wait_for(monitor.run(), 20))
    assert len(passes) == 2
    assert "no more processes" in capsys.readouterr().err


def test_an_order_that_nobody_carries_out_is_taken_back(house: House) -> None:
    """Or whatever ends the session, days later, would be told as that."""
    ours = stat_of(os.getpid())
    assert ours is not None
    left, kept = house.start("left"), house.start("kept")
    house.kill_monitor()
    house.register.order(left.id, Order.STOP, (os.getpid(), ours.started + 1))  # who gave it was killed
    house.register.order(kept.id, Order.STOP, (os.getpid(), ours.started))
    monitor = Monitor(house.register, None, order_s=0.0)

    async def twice() -> None:
        running = asyncio.create_task(monitor.run())
        await monitor.finalized()
        await monitor.finalized()
        monitor.stop()
        await running

    asyncio.run(asyncio.wait_for(twice(), 20))
    orders = {one.session.name: one.order for one in house.register.living()}
    assert orders == {"left": None, "kept": Order.STOP}


def test_its_end_leaves_sessions_and_nothing_else(house: House) -> None:
    session = house.start("a")
    [pid] = house.monitors
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not alive(pid), "its end")
    wait_for(lambda: not any(alive(int(child)) for child in children), "the end of its clients")
    assert alive(program(session))
    assert (house.state / "monitor.log").read_text() == ""
