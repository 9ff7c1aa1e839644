"""A supervisor as a service: real signals, other settings while it runs, a real systemd socket; what settings open."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Sequence

import pytest
from attrs import evolve
from posted import Site
from stallkit_supervisor.service import notify, opened, serve
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.settings import EventSettings, Settings, WatchSettings
from stallkit_supervisor.sources import SourceLook
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER, KEY, PATIENCE_S
from terminals import wait_for

from stallkit import Engine
from stallkit.errors import ConfigError, SessionGone, StallkitError
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, TtyFacts
from stallkit.press.events import Event, EventLog
from stallkit.press.policy import OBSERVE
from stallkit.terminal.screen import Screen
from stallkit.testing import MemoryTransport
from stallkit.transports.base import Transport

pytestmark = pytest.mark.usefixtures("alone")

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
NOBODY = (signal.SIG_DFL, signal.default_int_handler)
ASKS = "Press any key to continue..."


class Lasting(MemoryTransport):
    """A session in memory that outlives those who let go of it."""

    def close(self) -> None:
        """It goes on."""


def asking(pressed: Callable[[bytes], Screen | None]) -> Lasting:
    """A session that waits for a key."""
    made = Lasting(Screen.from_text(ASKS, cursor=(len(ASKS), 0), size=(80, 24)), pressed, "memory:one", "bash")
    made.now = evolve(made.now, tty=TtyFacts(False, False))
    return made


class Sessions:
    """Sessions in memory, as a source of looks; `closed` tells whether the supervisor let go of them."""

    def __init__(self, *transports: MemoryTransport) -> None:
        self.transports = {one.target: one for one in transports}
        self.closed = False

    async def sweep(self, due: Callable[[str], bool]) -> Sequence[SourceLook]:
        found = []
        for target, transport in self.transports.items():
            try:
                found.append(SourceLook(target, transport.capture()))
            except SessionGone as error:
                found.append(SourceLook(target, error))
        return found

    def open(self, target: str) -> Transport:
        return self.transports[target]

    async def close(self) -> None:
        self.closed = True


class Service:
    """`serve` in this process; what it said, and what it complained of."""

    def __init__(self, engine: Engine, *transports: MemoryTransport) -> None:
        self.sessions = Sessions(*transports)
        self.supervisor = Supervisor(policy=WatchConfig(KEY, EAGER), sources=[self.sessions], engine=engine)
        self.events: list[Event] = []
        self.told: list[str] = []
        self.handled: set[signal.Signals] = set()  # when it had ended
        self.tasks = 0

    def serve(self, on: dict[str, Callable[[], object]], **given: Any) -> list[str]:
        """The names of its events, but that there is no session; those of a name in `on` are answered so."""

        def each(event: Event) -> None:
            self.events.append(event)
            on.get(event.name, lambda: None)()

        async def whole() -> None:
            settings = given.pop("settings", Settings())
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await serve(self.supervisor, each, settings, tell=self.told.append, **given)
            finally:
                self.handled = {number for number in SIGNALS if signal.getsignal(number) not in NOBODY}
                self.tasks = len(asyncio.all_tasks()) - 1

        asyncio.run(whole())
        return [event.name for event in self.events if event.name != "no_session"]


def kill(number: int) -> Callable[[], None]:
    """Sends this process a signal."""
    return lambda: os.kill(os.getpid(), number)


def heard(system: socket.socket) -> list[str]:
    found = []
    while True:
        try:
            found.append(system.recv(1_000).decode())
        except BlockingIOError:
            return found


def test_a_signal_or_its_time_ends_it_and_nothing_of_it_is_left(engine: Engine) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, None):
        service = Service(engine)
        names = service.serve({"start": kill(number)} if number else {}, for_s=None if number else 0.3)
        assert (names[0], names[-1], service.sessions.closed, service.told) == ("start", "stop", True, [])
        assert (service.handled, service.tasks) == (set(), 0)


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


def test_a_reload_may_make_a_rehearsal_of_it(engine: Engine) -> None:
    session = asking(lambda keys: None)
    service = Service(engine, session)
    service.supervisor.config = WatchConfig(OBSERVE, EAGER)
    after = Settings(policy=KEY, watch=WatchSettings(dry_run=True))
    on = {"start": kill(signal.SIGHUP), "dry_run": kill(signal.SIGTERM)}
    assert "dismissal" not in service.serve(on, reload=lambda: after)
    assert session.sent == []


BEFORE = Settings(watch=WatchSettings(targets=["tmux:a"]), events=EventSettings(file="/srv/events.jsonl"))

WRONG: list[tuple[Settings | Exception, str]] = [
    (ConfigError("stallkit.toml", "it is no TOML", "correct it"), "config stallkit.toml: it is no TOML"),
    (ValueError("no such key"), "no such key"),
    (evolve(BEFORE, watch=WatchSettings(targets=["tmux:b"])), "targets in [watch] changed"),
    (evolve(BEFORE, watch=WatchSettings(targets=["tmux:a"], all=True)), "all in [watch] changed"),
    (evolve(BEFORE, events=EventSettings()), "[events] changed"),
]


def test_settings_that_will_not_do_are_told_and_the_old_ones_kept(engine: Engine, system: socket.socket) -> None:
    service = Service(engine)
    after = evolve(BEFORE, policy=OBSERVE)
    read, configs, told = iter([*(one for one, _ in WRONG), after]), [], list[str]()

    def reload() -> Settings:
        given = next(read)
        if isinstance(given, Exception):
            raise given
        return given

    def again() -> None:
        configs.append(service.supervisor.config)
        told.extend(heard(system))  # else its socket is full
        os.kill(os.getpid(), signal.SIGHUP)

    before = service.supervisor.config
    on = {"start": kill(signal.SIGHUP), "reload_refused": again, "reload": kill(signal.SIGTERM)}
    names = service.serve(on, reload=reload, settings=BEFORE)
    assert names == ["start", *["reload_refused"] * len(WRONG), "reload", "stop"]
    refused = [event.facts["why"] for event in service.events if event.name == "reload_refused"]
    assert [said for said, (_, why) in zip(refused, WRONG, strict=True) if why not in said] == []
    assert service.told == [f"{said}; the old settings are kept" for said in refused]
    assert all(one is before for one in configs) and service.supervisor.config == after.config
    assert service.events[-2].facts == {"policy": "observe"}
    told += heard(system)
    assert told == ["READY=1", *["RELOADING=1", "READY=1"] * (len(WRONG) + 1), "STOPPING=1"]


def test_the_watchdog_is_fed_as_long_as_the_loop_runs_where_one_asks(
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
    for asked in ("", "0", "soon", "-5"):
        monkeypatch.setenv("WATCHDOG_USEC", asked)
        Service(engine).serve({"start": kill(signal.SIGTERM)})
        assert heard(system) == ["READY=1", "STOPPING=1"], asked


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
    name = f"stallkit-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(f"\0{name}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        assert notify("READY=1") and bound.recv(100) == b"READY=1"


def test_a_register_that_cannot_be_read_is_told_and_the_watch_begins(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "state" / "sessions.db").mkdir(parents=True)
    service = Service(engine)
    assert service.serve({"no_session": kill(signal.SIGTERM)}) == ["start", "stop"]
    [told] = service.told
    assert told.startswith("register ") and str(tmp_path / "state" / "sessions.db") in told


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def escalates(stack: ExitStack, events: EventSettings, told: list[str], **given: Any) -> None:
    """A supervisor with these settings that says, and has said, an escalation and another event."""
    supervisor = opened(stack, Settings(events=events), None, told.append, [Sessions()], **given)

    async def say() -> None:
        async with supervisor:
            supervisor.refuse("of a test")

    asyncio.run(say())


def test_events_go_to_the_file_that_was_named_last_and_that_is_rotated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    named, flag, own = tmp_path / "named.jsonl", tmp_path / "flag.jsonl", tmp_path / "state" / "events.jsonl"
    own.parent.mkdir()
    for given, expected in (("flag", flag), ("settings", named), (None, own)):
        with expected.open("wb") as file:
            file.truncate(EventLog.ROTATED)
        events = EventSettings(file="~/named.jsonl" if given else None)
        told: list[str] = []
        with ExitStack() as stack:
            escalates(stack, events, told, log=flag if given == "flag" else None)
        assert [one["event"] for one in lines(expected)] == ["start", "reload_refused", "stop"]
        assert expected.with_name(f"{expected.name}.1").stat().st_size == EventLog.ROTATED
        assert [path for path in (named, flag, own) if path.exists()] == [expected] and told == []
        expected.unlink()


def test_a_command_and_a_webhook_get_escalations_and_are_let_go_of(
    tmp_path: Path, threads: Callable[[], set[str]]
) -> None:
    site, told = Site(), list[str]()
    try:
        with ExitStack() as stack:
            exec = f"sh -c 'cat >>{tmp_path}/out; echo no >&2; exit 1'"
            escalates(stack, EventSettings(exec=exec, webhook=f"{site.url}/hook"), told)
            assert len(threads()) == 3
    finally:
        site.end()
    got = [json.loads(body) for _, _, body in site.got]
    assert [one["event"] for one in got] == ["reload_refused"] == [one["event"] for one in lines(tmp_path / "out")]
    assert (threads(), told) == (set(), ["command sh: exit status 1: no"]), "what waited was handed on"


def test_figures_are_served_until_it_ends() -> None:
    pytest.importorskip("prometheus_client")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        events = EventSettings(metrics=f":{port}")
        with ExitStack() as stack, pytest.raises(StallkitError, match="metrics"):
            opened(stack, Settings(events=events), None, print, [])
    with ExitStack() as stack:
        escalates(stack, events, [])
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
            assert 'stallkit_events_total{event="reload_refused"} 1.0' in answer.read().decode()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 20).close()


def test_what_cannot_be_opened_is_an_error_and_nothing_stays_open(threads: Callable[[], set[str]]) -> None:
    for events, where in (
        (EventSettings(exec="cat 'of"), "config events: "),
        (EventSettings(exec=" "), "config events: the command is empty"),
        (EventSettings(exec="cat", webhook="ftp://x"), "config webhook: it is not an http"),
        (EventSettings(exec="cat", webhook="http://127.0.0.1/", metrics="here:there"), "metrics here:there: "),
    ):
        with ExitStack() as stack:
            with pytest.raises(StallkitError) as caught:
                opened(stack, Settings(events=events), None, print, [])
            assert str(caught.value).startswith(where)
        wait_for(lambda: not threads(), "the end of what was opened")


def test_the_supervisor_has_what_the_settings_say(engine: Engine) -> None:
    watch = WatchSettings(dry_run=True, reset_total_on_signal=True)
    sources = [Sessions()]
    settings = Settings(watch=watch, policy=OBSERVE)
    with ExitStack() as stack:
        supervisor = opened(stack, settings, None, print, sources)
    assert supervisor.config == settings.config
    said: list[Event] = []

    async def begin() -> None:
        async with supervisor:
            supervisor.stop()
            said.extend([event async for event in supervisor])

    asyncio.run(begin())
    assert said[0].facts == {"policy": "observe", "dry_run": True}
    assert sources[0].closed
