"""A supervisor as a service: real signals to this process, a real systemd socket, and all that its settings open."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import sys
import threading
import urllib.request
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

import pytest
from attrs import evolve
from supervised import EAGER, PATIENCE_S
from terminals import wait_for

from stallkit import Engine
from stallkit.core.facts import KernelFacts, TtyFacts
from stallkit.core.screen import Screen
from stallkit.core.verdict import ProcessFacts
from stallkit.errors import ConfigError, SessionGone, StallkitError
from stallkit.press.events import Event, EventLog
from stallkit.press.policy import CAREFUL, OBSERVE
from stallkit.supervise.service import notify, opened, serve
from stallkit.supervise.settings import EventSettings, Settings, WatchSettings
from stallkit.supervise.sources import SourceLook
from stallkit.supervise.state import WatchConfig
from stallkit.supervise.supervisor import Supervisor
from stallkit.testing import MemoryTransport
from stallkit.transports.base import Transport

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
        self.supervisor = Supervisor(policy=WatchConfig(CAREFUL, EAGER), sources=[self.sessions], engine=engine)
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


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No state, no systemd and no proxy but the test's own; what `serve` froze may be collected again."""
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    yield
    gc.unfreeze()


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """systemd, as far as a service sees it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "notify"))
        bound.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield bound


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
    after = Settings(policy=CAREFUL, watch=WatchSettings(dry_run=True))
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


# --- what its settings open ---


def threads() -> set[str]:
    return {one.name for one in threading.enumerate() if one.name.startswith("stallkit ")}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def escalates(stack: ExitStack, events: EventSettings, told: list[str], **given: Any) -> None:
    """A supervisor with these settings that says, and has said, an escalation and another event."""
    supervisor = opened(stack, Settings(events=events), None, told.append, [Sessions()], **given)

    async def say() -> None:
        async with supervisor:
            supervisor.refuse("of a test")

    asyncio.run(say())


@pytest.mark.parametrize("given", [None, "settings", "flag"])
def test_events_go_to_the_file_that_was_named_last(tmp_path: Path, given: str | None) -> None:
    named, flag, own = tmp_path / "named.jsonl", tmp_path / "flag.jsonl", tmp_path / "state" / "events.jsonl"
    events = EventSettings(file=str(named) if given else None)
    told: list[str] = []
    with ExitStack() as stack:
        escalates(stack, events, told, log=flag if given == "flag" else None)
    expected = {None: own, "settings": named, "flag": flag}[given]
    assert [one["event"] for one in lines(expected)] == ["start", "reload_refused", "stop"]
    assert [path for path in (named, flag, own) if path.exists()] == [expected] and told == []


def test_a_file_of_events_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with ExitStack() as stack:
        escalates(stack, EventSettings(file="~/events.jsonl"), [])
    assert lines(tmp_path / "events.jsonl")


def test_the_log_of_a_service_is_rotated(tmp_path: Path) -> None:
    log = tmp_path / "state" / "events.jsonl"
    log.parent.mkdir()
    with log.open("wb") as file:
        file.truncate(EventLog.ROTATED)
    with ExitStack() as stack:
        escalates(stack, EventSettings(), [])
    assert log.with_name("events.jsonl.1").stat().st_size == EventLog.ROTATED
    assert [one["event"] for one in lines(log)] == ["start", "reload_refused", "stop"]


def test_a_command_and_a_webhook_get_escalations_and_are_let_go_of(tmp_path: Path) -> None:
    got: list[dict[str, Any]] = []

    class Site(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    site = HTTPServer(("127.0.0.1", 0), Site)
    serving = threading.Thread(target=site.serve_forever)
    serving.start()
    told: list[str] = []
    out = tmp_path / "out"
    script = tmp_path / "hook.py"
    script.write_text(f"import sys; open({str(out)!r}, 'a').write(sys.stdin.read())")
    try:
        with ExitStack() as stack:
            webhook = f"http://127.0.0.1:{site.server_port}/hook"
            escalates(stack, EventSettings(exec=f"{sys.executable} {script}", webhook=webhook), told)
            assert len(threads()) == 2
    finally:
        site.shutdown()
        serving.join()
        site.server_close()
    assert [one["event"] for one in got] == ["reload_refused"] == [one["event"] for one in lines(out)]
    assert (threads(), told) == (set(), []), "what waited was handed on before they ended"


def test_what_a_command_complains_of_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    with ExitStack() as stack:
        escalates(stack, EventSettings(exec="false"), told)
    assert told == ["command false: exit status 1"]


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


@pytest.mark.parametrize(
    ("events", "where"),
    [
        (EventSettings(exec="cat 'of"), "config events: "),
        (EventSettings(exec=" "), "config events: the command is empty"),
        (EventSettings(exec="cat", webhook="ftp://x"), "config webhook: it is not an http"),
        (EventSettings(exec="cat", webhook="http://127.0.0.1/", metrics="here:there"), "metrics here:there: "),
    ],
)
def test_what_cannot_be_opened_is_an_error_and_nothing_stays_open(events: EventSettings, where: str) -> None:
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
