"""The supervisor and its store: whose counts they are, and what may wait for the disk and what may not."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Sequence

import pytest
from stallkit_supervisor.persistence import EventBus
from stallkit_supervisor.recovery_state import Limits
from stallkit_supervisor.session_state import RecoveryCommands, WatchConfig
from stallkit_supervisor.sources import FleetSource, SourceLook
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from supervised import AGAIN, ASKS, EAGER, KEY, has, named, run, shell
from terminals import Server

from stallkit.press.events import Event
from stallkit.press.policy import OBSERVE, Policy
from stallkit.press.rules import Rule

pytestmark = pytest.mark.e2e

# Holds the write lock of a store until its standard input ends.
HOLDER = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("begin immediate")
print("held", flush=True)
sys.stdin.read()
base.execute("rollback")
"""


class Counted(FleetSource):
    """A source that counts its sweeps."""

    sweeps = 0

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[SourceLook]:
        self.sweeps += 1
        return await super().sweep(due)


async def until(source: Counted, sweeps: int) -> None:
    while source.sweeps < sweeps:
        await asyncio.sleep(0.01)


def test_another_session_of_the_name_is_a_new_loop_also_while_nobody_watches(server: Server, store: Store) -> None:
    server.tmux("new-session", "-d", "-s", "other", "sleep", "100")
    made: dict[str, Any] = {"policy": WatchConfig(KEY, EAGER), "options": server.options, "store": store}
    shell(server, "asks", AGAIN, "Press any key")
    run(Supervisor(["tmux:asks"], **made), has("dismissal"))
    before = store.counts("tmux:asks", "press").total
    again = Supervisor(["tmux:asks"], **made)
    events = run(again, has("detection"))
    assert not named(events, "loop"), "it is the same one"
    assert again.sessions["tmux:asks"].state.recovery.counts.total >= before >= 1
    server.tmux("kill-session", "-t", "=asks")
    shell(server, "asks", AGAIN, "Press any key")
    done: list[str] = []

    def made_anew(events: list[Event]) -> bool:
        if len(named(events, "loop")) == 1 and named(events, "dismissal") and not done:
            done.append("killed")
            server.tmux("kill-session", "-t", "=asks")
        if named(events, "gone") and done == ["killed"]:
            done.append("started")
            shell(server, "asks", "exec sleep 100")
        return len(named(events, "loop")) == 2

    supervisor = Supervisor(["tmux:asks"], **made)
    run(supervisor, made_anew)
    assert supervisor.sessions["tmux:asks"].state.recovery.counts.total == 0
    counts = store.counts("tmux:asks", "press")
    assert (counts.iteration, counts.total) == (0, 0) and counts.times, "the window goes on"
    assert "loop" not in {one["event"] for one in store.incidents()}


@pytest.mark.parametrize("remains", [True, False])
def test_what_we_start_again_goes_on_with_its_counts(server: Server, store: Store, remains: bool) -> None:
    server.tmux("new-session", "-d", "-s", "other", "sleep", "100")
    server.tmux("set-option", "-g", "remain-on-exit", "on" if remains else "off")
    shell(server, "agent", "sleep 1; exit 7")
    back = Policy("back", rules=[Rule(do="restart", state="gone")])  # type: ignore[arg-type]  # words become enums
    commands = RecoveryCommands(restart=("sleep", "100"))
    made: dict[str, Any] = {"options": server.options, "store": store, "commands": commands}
    before = store.identity("tmux:agent")
    supervisor = Supervisor(["tmux:agent"], WatchConfig(back, EAGER), **made)

    def runs(events: list[Event]) -> bool:
        return bool(named(events, "restart")) and named(events, "detection")[-1].facts["foreground"] == "sleep"

    events = run(supervisor, runs)
    events += run(Supervisor(["tmux:agent"], WatchConfig(back, EAGER), **made), has("detection"))
    assert not named(events, "loop")
    assert store.counts("tmux:agent", "restart").total == 1
    assert store.identity("tmux:agent") not in (None, before)


def test_looks_go_on_while_another_process_holds_the_store(server: Server, tmp_path: Path) -> None:
    store = Store(tmp_path / "watch.db", busy_s=20.0)
    shell(server, "first", "read -p 'Delete all? [y/N] '; exec sleep 100", "Delete")
    source = Counted([], server.options, True)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(store.path)], stdin=-1, stdout=-1, text=True)
    assert holder.stdin is not None and holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    supervisor = Supervisor(policy=WatchConfig(OBSERVE, EAGER), sources=[source], store=store)

    async def watch() -> list[Event]:
        """The first session was told of, its notes wait; one that comes then is seen all the same."""
        events: list[Event] = []
        async with supervisor:
            async for event in supervisor:
                events.append(event)
                if event.name != "escalation":
                    continue
                if event.target == "tmux:first":
                    shell(server, "later", "read -p 'Overwrite x? [y/N] '; exec sleep 100", "Overwrite")
                else:
                    await until(source, source.sweeps + 5)
                    assert store.incidents() == []
                    holder.communicate("")
                    supervisor.stop()
        return events

    events = asyncio.run(asyncio.wait_for(watch(), 60))
    assert holder.wait() == 0 and not named(events, "not_recorded")
    assert [one["event"] for one in store.incidents() if one["event"] == "escalation"] == ["escalation"] * 2
    store.close()


class Slow(Store):
    """A store in which a halt takes until somebody lets it; `order` is what was written down."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.order: list[str] = []
        self.let = threading.Event()

    def intend(self, session: str, *given: Any, **more: Any) -> int:
        self.order.append(session)
        return super().intend(session, *given, **more)

    def halt(self, session: str, reason: str | None, stop_file: str | None = None) -> None:
        assert self.let.wait(60)
        super().halt(session, reason, stop_file)
        self.order.append("halt")


def test_no_key_overtakes_a_halt(server: Server, tmp_path: Path) -> None:
    store = Slow(tmp_path / "watch.db")
    shell(server, "one", AGAIN, "Press any key")
    source = Counted(["tmux:one", "tmux:two"], server.options)
    config = WatchConfig(KEY, EAGER, Limits(per_iteration=1))
    supervisor = Supervisor(sources=[source], policy=config, store=store, directories={"tmux:one": tmp_path})
    halted: list[int] = []

    def hook(event: Event) -> None:
        if event.name == "auto_stop":
            shell(server, "two", ASKS + "exec sleep 100", "Press any key")

    supervisor._bus._hooks.append(hook)

    async def watch() -> list[Event]:
        events: list[Event] = []
        async with supervisor:
            async for event in supervisor:
                events.append(event)
                sure = event.target == "tmux:two" and event.facts.get("certainty") == "sure"
                if sure and not halted:
                    halted.append(source.sweeps)
                    await until(source, source.sweeps + 10)  # in which it would be pressed
                    assert store.order == ["tmux:one"]
                    store.let.set()
                if event.name == "dismissal" and event.target == "tmux:two":
                    supervisor.stop()
        return events

    asyncio.run(asyncio.wait_for(watch(), 60))
    assert store.order == ["tmux:one", "halt", "tmux:two"]
    store.close()


def test_a_halt_that_could_not_be_written_is_written_again_and_is_no_release(server: Server, tmp_path: Path) -> None:
    class Fails(Store):
        tries = 0

        def halt(self, session: str, reason: str | None, stop_file: str | None = None) -> None:
            type(self).tries += 1
            if self.tries <= 2:
                raise self._error(OSError("no room"))
            super().halt(session, reason, stop_file)

    store = Fails(tmp_path / "watch.db")
    shell(server, "asks", AGAIN, "Press any key")
    config = WatchConfig(KEY, EAGER, Limits(per_iteration=1))
    source = Counted(["tmux:asks"], server.options)
    supervisor = Supervisor(policy=config, sources=[source], store=store, directories={"tmux:asks": tmp_path})

    async def watch() -> list[Event]:
        events: list[Event] = []
        async with supervisor:
            async for event in supervisor:
                events.append(event)
                if event.name == "auto_stop":
                    while store.halted("tmux:asks") is None:
                        await asyncio.sleep(0.01)
                    supervisor.stop()
        return events

    events = asyncio.run(asyncio.wait_for(watch(), 60))
    assert store.tries == 3 and len(named(events, "dismissal")) == 1
    assert not named(events, "released") and len(named(events, "not_recorded")) == 1
    store.close()


def test_what_waits_for_the_store_has_an_end(tmp_path: Path) -> None:
    store, let = Store(tmp_path / "watch.db"), threading.Event()

    async def bus_of_few() -> tuple[bool, int]:
        told: list[bool] = []
        bus = EventBus(store, [], held=3, patience_s=0.05)
        for _ in range(5):
            bus.keep(lambda store: let.wait(60), told.append)
        flushed = await bus.flush()
        await bus.close()
        assert told[:2] == [False, False]
        return flushed, bus.unkept

    flushed, unkept = asyncio.run(bus_of_few())
    let.set()
    assert not flushed and unkept >= 3, "the two that found no room, and the note of that"
    store.close()
