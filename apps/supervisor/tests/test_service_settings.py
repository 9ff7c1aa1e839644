"""What the settings of a service open: files of events, commands, webhooks, figures; and that it is let go of."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import urllib.request
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from serving import Sessions
from stallkit_supervisor.service import opened
from stallkit_supervisor.settings import EventSettings, Settings, WatchSettings
from terminals import wait_for

from stallkit import Engine
from stallkit.errors import StallkitError
from stallkit.press.events import Event, EventLog
from stallkit.press.policy import OBSERVE

pytestmark = pytest.mark.usefixtures("alone")


_before: set[threading.Thread] = set()


@pytest.fixture(autouse=True)
def _others() -> None:
    """Threads that an earlier test of this process left are none of what a test here opens."""
    _before.clear()
    _before.update(threading.enumerate())


def threads() -> set[str]:
    """Those of stallkit that were started since."""
    return {one.name for one in {*threading.enumerate()} - _before if one.name.startswith("stallkit ")}


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
            assert len(threads()) == 3
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
