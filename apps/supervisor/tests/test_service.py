"""A supervisor as a service: real signals to this process, other settings while it runs, a real systemd socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path
from typing import Callable

import pytest
from attrs import evolve
from serving import Service, asking, kill
from stallkit_supervisor.service import notify, serve
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.settings import EventSettings, Settings, WatchSettings
from supervised import EAGER, KEY, PATIENCE_S

from stallkit import Engine
from stallkit.errors import ConfigError
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts
from stallkit.press.policy import OBSERVE
from stallkit.terminal.screen import Screen

pytestmark = pytest.mark.usefixtures("alone")


def heard(system: socket.socket) -> list[str]:
    found = []
    while True:
        try:
            found.append(system.recv(1_000).decode())
        except BlockingIOError:
            return found


# --- how it ends ---


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_nothing_of_it_is_left(engine: Engine, number: signal.Signals) -> None:
    service = Service(engine)
    names = service.serve({"start": kill(number)})
    assert (names[0], names[-1], service.sessions.closed, service.told) == ("start", "stop", True, [])
    assert (service.handled, service.tasks) == (set(), 0)


def test_it_ends_when_its_time_is_over(engine: Engine) -> None:
    assert Service(engine).serve({}, for_s=0.3)[-1] == "stop"


def test_what_is_being_done_is_done_to_its_end(engine: Engine) -> None:
    def pressed(keys: bytes) -> Screen:
        os.kill(os.getpid(), signal.SIGTERM)  # between the key and what comes of it
        session.now = evolve(session.now, process=ProcessFacts("sleep"), kernel=KernelFacts(listening=False))
        return Screen.from_text("went on\n", cursor=(0, 1), size=(80, 24))

    session = asking(pressed)
    service = Service(engine, session)
    names = service.serve({})
    assert (names[-2:], len(session.sent)) == (["dismissal", "stop"], 1)
    assert service.events[-2].facts["outcome"] == "cleared"


def test_an_observer_that_fails_ends_it_in_order(engine: Engine, system: socket.socket) -> None:
    service = Service(engine)

    def fails() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        service.serve({"start": fails})
    assert service.sessions.closed and heard(system)[-1] == "STOPPING=1"
    assert (service.handled, service.tasks) == (set(), 0)


# --- other settings ---


def test_it_takes_other_settings_on_while_it_runs(engine: Engine) -> None:
    service = Service(engine)
    after = Settings(policy=OBSERVE, watch=WatchSettings(dry_run=True))
    names = service.serve({"start": kill(signal.SIGHUP), "reload": kill(signal.SIGTERM)}, reload=lambda: after)
    assert (names, service.told) == (["start", "reload", "stop"], [])
    assert service.events[-2].facts == {"policy": "observe"}
    assert service.supervisor.config == after.config


def test_a_reload_may_make_a_rehearsal_of_it(engine: Engine) -> None:
    session = asking(lambda keys: None)
    service = Service(engine, session)
    service.supervisor.config = WatchConfig(OBSERVE, EAGER)
    after = Settings(policy=KEY, watch=WatchSettings(dry_run=True))
    on = {"start": kill(signal.SIGHUP), "dry_run": kill(signal.SIGTERM)}
    assert "dismissal" not in service.serve(on, reload=lambda: after)
    assert session.sent == []


BEFORE = Settings(watch=WatchSettings(targets=["tmux:a"]), events=EventSettings(file="/srv/events.jsonl"))


def _raises(error: Exception) -> Callable[[], Settings]:
    def read() -> Settings:
        raise error

    return read


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (_raises(ConfigError("stallkit.toml", "it is no TOML", "correct it")), "config stallkit.toml: it is no TOML"),
        (_raises(ValueError("no such key")), "no such key"),
        (lambda: evolve(BEFORE, watch=WatchSettings(targets=["tmux:b"])), "targets in [watch] changed"),
        (lambda: evolve(BEFORE, watch=WatchSettings(targets=["tmux:a"], all=True)), "all in [watch] changed"),
        (lambda: evolve(BEFORE, events=EventSettings()), "[events] changed"),
    ],
)
def test_settings_that_will_not_do_are_told_and_the_old_ones_kept(
    engine: Engine, read: Callable[[], Settings], why: str
) -> None:
    service = Service(engine)
    config = service.supervisor.config
    on = {"start": kill(signal.SIGHUP), "reload_refused": kill(signal.SIGTERM)}
    names = service.serve(on, reload=read, settings=BEFORE)
    assert names == ["start", "reload_refused", "stop"]
    [told] = service.told
    refused = service.events[-2].facts["why"]
    assert why in refused and told == f"{refused}; the old settings are kept"
    assert service.supervisor.config is config


def test_one_reload_that_was_refused_does_not_stand_in_the_way_of_the_next(engine: Engine) -> None:
    service = Service(engine)
    read = iter([evolve(BEFORE, events=EventSettings()), evolve(BEFORE, policy=OBSERVE), BEFORE])
    seen: list[str] = []

    def again() -> None:
        seen.append(service.events[-1].name)
        os.kill(os.getpid(), signal.SIGHUP if len(seen) < 3 else signal.SIGTERM)

    on = {"start": kill(signal.SIGHUP), "reload_refused": again, "reload": again}
    service.serve(on, reload=lambda: next(read), settings=BEFORE)
    assert seen == ["reload_refused", "reload", "reload"]
    assert service.supervisor.config == BEFORE.config


def test_without_settings_to_read_a_hang_up_ends_it(engine: Engine) -> None:
    service = Service(engine)
    assert service.serve({"start": kill(signal.SIGHUP)})[-1] == "stop"
    assert service.told == []


# --- systemd ---


def test_systemd_is_told_of_each_step(engine: Engine, system: socket.socket) -> None:
    on = {"start": kill(signal.SIGHUP), "reload": kill(signal.SIGTERM)}
    Service(engine).serve(on, reload=Settings)
    assert heard(system) == ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"]


def test_a_refused_reload_leaves_it_ready(engine: Engine, system: socket.socket) -> None:
    on = {"start": kill(signal.SIGHUP), "reload_refused": kill(signal.SIGTERM)}
    Service(engine).serve(on, reload=_raises(ValueError("no")))
    assert heard(system) == ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"]


def test_the_watchdog_is_fed_as_long_as_the_loop_runs(
    engine: Engine, system: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "100000")
    said: list[str] = []
    service = Service(engine)

    async def watch() -> None:
        serving = asyncio.create_task(serve(service.supervisor, lambda event: None, Settings()))
        async with asyncio.timeout(PATIENCE_S):
            while said.count("WATCHDOG=1") < 4:
                await asyncio.sleep(0.01)
                said.extend(heard(system))
        service.supervisor.stop()
        await serving
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(watch())
    said += heard(system)
    assert said[0] == "READY=1" and said[-1] == "STOPPING=1"


@pytest.mark.parametrize("asked", ["", "0", "soon", "-5"])
def test_where_no_watchdog_asks_none_is_fed(
    engine: Engine, system: socket.socket, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", asked)
    Service(engine).serve({}, for_s=0.2)
    assert heard(system) == ["READY=1", "STOPPING=1"]


def test_notify_reaches_abstract_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"stallkit-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(f"\0{name}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        assert notify("READY=1")
        assert bound.recv(100) == b"READY=1"


def test_notify_says_whether_somebody_listened(
    tmp_path: Path, system: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert notify("READY=1")
    for nobody in (str(tmp_path / "none"), "x" * 200, ""):
        monkeypatch.setenv("NOTIFY_SOCKET", nobody)
        assert not notify("READY=1")
    monkeypatch.delenv("NOTIFY_SOCKET")
    assert not notify("READY=1")
    assert heard(system) == ["READY=1"]


# --- what went wrong before ---


def test_a_register_that_cannot_be_read_is_told_and_the_watch_begins(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "state" / "sessions.db").mkdir(parents=True)
    service = Service(engine)
    assert service.serve({"no_session": kill(signal.SIGTERM)}) == ["start", "stop"]
    [told] = service.told
    assert told.startswith("register ") and str(tmp_path / "state" / "sessions.db") in told
