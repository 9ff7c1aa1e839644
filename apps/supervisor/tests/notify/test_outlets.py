"""Programs and addresses that are told: real commands, a real HTTP server; whatever they do, the watch goes on."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Callable, Iterator

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_binary, from_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent as Standard
from posted import Site
from stallkit_supervisor.notify.channels import Channels, NotifySettings, channels_of, open_notifier
from stallkit_supervisor.notify.hooks import CONTENT_MODES, Apprise, CloudEvent, Command, Webhook
from stallkit_supervisor.notify.notifier import ESCALATIONS, RUNS, Notifier, Outlet
from stallkit_supervisor.notify.throttle import NoticeLimits
from started import alive
from terminals import wait_for
from told_events import SECRET, event, said

from stallkit.errors import ConfigError
from stallkit.transports.base import Options

NOON, NIGHT = datetime(2026, 11, 23, 12), datetime(2026, 11, 23, 23)


@pytest.fixture
def told() -> list[str]:
    """What an outlet complained of."""
    return []


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Site()
    yield made
    made.end()


class Place:
    """A channel that keeps what it was told, after it handed its number to a function."""

    name = "place"

    def __init__(self, deliver: Callable[[int], object] = lambda number: None) -> None:
        self._deliver, self.closed, self.got = deliver, False, list[CloudEvent]()

    def deliver(self, said: CloudEvent) -> str:
        self._deliver(said.event.facts.get("number", 0))
        self.got.append(said)
        return "done"

    def close(self) -> None:
        self.closed = True

    @property
    def names(self) -> list[str]:
        return [one.event.name for one in self.got]


def script(folder: Path, text: str) -> str:
    made = folder / "hook"
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return str(made)


# --- a command ---


def test_a_command_gets_the_event_on_its_input_and_in_variables(tmp_path: Path, told: list[str]) -> None:
    hook = script(tmp_path, 'cat > "$1"; printf %s "$STALLKIT_EVENT" > "$2"; env | grep ^CE_ > "$2.ce"')
    for mode in CONTENT_MODES:
        command = Outlet(Command(f"{hook} '{tmp_path}/its input' {tmp_path}/variable", mode), told.append)
        command(said(why=f"ä'\"$(touch {tmp_path}/owned)`\n\0\ud800 {SECRET}"))
        command.close()
        line, variable = (tmp_path / "its input").read_text(), (tmp_path / "variable").read_text()
        assert told == [] and line == variable + "\n" and line.count("\n") == 1 and SECRET not in line
        event = json.loads(line) if mode == "binary" else json.loads(line)["data"]
        assert (event["event"], event["why"][0], event["version"]) == ("escalation", "ä", 1)
        assert not (tmp_path / "owned").exists(), "no shell reads it"
        found = dict(row.split("=", 1) for row in (tmp_path / "variable.ce").read_text().splitlines())
        assert (found["CE_TYPE"], found["CE_SUBJECT"]) == ("stallkit.escalation", "tmux:one")
        if mode == "structured":
            assert JSONFormat().read(Standard, line.encode()).get_id() == found["CE_ID"] == "1"


def test_an_event_too_long_for_a_variable_arrives_and_who_reads_nothing_does_not_fail(
    tmp_path: Path, told: list[str]
) -> None:
    for words in (f"cp /dev/stdin {tmp_path}/out", "true"):
        command = Outlet(Command(words), told.append)
        command(said(why="x " * 200_000))
        command.close()
    assert told == [] and len((tmp_path / "out").read_text()) > 400_000


FAILS = {
    "false": "command false: exit status 1",
    "sh -c 'echo first; echo second >&2; exit 3'": "command sh: exit status 3: second",
    r"sh -c 'printf \\377\\n >&2; exit 3'": "command sh: exit status 3: \ufffd",  # no UTF-8
    f"sh -c 'echo api_key={SECRET} >&2; exit 3'": "command sh: exit status 3: api_key=[redacted]",
    "sh -c 'kill -9 $$'": "command sh: exit status -9",
    "/no/such/program": "command /no/such/program: [Errno 2] No such file or directory: '/no/such/program'",
    "/etc": "command /etc: [Errno 13] Permission denied: '/etc'",
}


def test_a_command_that_fails_is_told_each_time() -> None:
    found = {}
    for words in FAILS:
        told: list[str] = []
        outlet = Outlet(Command(words), told.append)
        outlet(said())
        outlet(said())
        outlet.close()
        found[words] = told
    assert found == {words: [complaint] * 2 for words, complaint in FAILS.items()}


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path, told: list[str]) -> None:
    hook = script(tmp_path, f"sleep 600 &\necho $! > {tmp_path}/pid\nwait")
    command = Outlet(Command(hook, timeout_s=0.5), told.append)
    command(said())
    wait_for(lambda: told, "the complaint")
    assert told == [f"command {hook}: it ran for more than 0.5 s"]
    pid = int((tmp_path / "pid").read_text())
    wait_for(lambda: not alive(pid), "the end of what it started")
    command.close()


# --- a webhook ---


def raw(answer: bytes) -> tuple[str, Callable[[], None]]:
    """The address of a server that answers this to anything, once, and what waits for its end."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening, listening.accept()[0] as one:
            one.recv(65536)
            one.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/", thread.join


def test_a_webhook_is_posted_what_the_sdk_of_cloudevents_reads(site: Site, told: list[str]) -> None:
    for mode in CONTENT_MODES:
        webhook = Outlet(Webhook(f"{site.url}/hook?token={SECRET}", mode), told.append)
        webhook(said(target='tmux:a "b" %41 ä', why=f"{SECRET} \u2028 ä"))
        webhook(said("gone"))
        webhook.close()
        assert [line for line, _, _ in site.got] == [f"POST /hook?token={SECRET}"] * 2
        (_, kind, body), headers = site.got[0], site.all_headers[0]
        message = HTTPMessage({name.lower(): value for name, value in headers.items()}, body)
        found = (from_binary if mode == "binary" else from_structured)(message, JSONFormat())
        assert (found.get_type(), found.get_source(), found.get_id()) == ("stallkit.escalation", "//here/stallkit", "1")
        assert found.get_subject() == 'tmux:a "b" %41 ä'
        data = json.loads(json.dumps(found.get_data()))
        assert (data["event"], data["target"][:6], data["version"]) == ("escalation", "tmux:a", 1)
        assert kind == {"binary": "application/json", "structured": "application/cloudevents+json"}[mode]
        assert SECRET not in f"{headers}{body.decode()}" and told == []
        site.got.clear(), site.all_headers.clear()


def test_an_error_or_a_redirection_is_told_and_no_delivery(site: Site) -> None:
    found = {}
    for status in (301, 302, 303, 307, 308, 400, 404, 500, 503):
        told: list[str] = []
        site.status, site.headers = status, {"Location": f"{site.url}/elsewhere"}
        webhook = Outlet(Webhook(f"{site.url}/{SECRET}"), told.append)
        webhook(said())
        webhook(said())
        webhook.close()
        found[status] = (len(site.got), told)
        site.got.clear()
    assert found == {status: (2, [f"webhook 127.0.0.1: it answered {status}"] * 2) for status in found}


def test_a_webhook_that_hangs_is_given_up_and_a_closed_port_told(site: Site, told: list[str]) -> None:
    site.hold.clear()
    webhook = Outlet(Webhook(site.url, timeout_s=1.0), told.append)
    webhook(said())
    wait_for(lambda: told, "the complaint")
    site.hold.set()
    webhook(said())
    webhook.close()
    assert len(site.got) == 2
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    webhook = Outlet(Webhook(f"http://127.0.0.1:{port}/{SECRET}"), told.append)
    webhook(said())
    webhook.close()
    assert len(told) == 2 and "timed out" in told[0] and "refused" in told[1] and SECRET not in told[1]


def test_what_answers_no_http_is_told_and_the_next_is_posted(site: Site) -> None:
    for number, answer in enumerate(
        (b"", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 999999 x\r\n\r\n", b"\xff" * 100_000), 1
    ):
        told: list[str] = []
        url, wait = raw(answer)
        hook = Webhook(url)
        webhook = Outlet(hook, told.append)
        webhook(said())
        wait_for(lambda told=told: told, "the complaint")  # type: ignore[misc]
        hook._url = site.url
        webhook(said())
        webhook.close()
        wait()
        assert len(told) == 1 and told[0].startswith("webhook 127.0.0.1: ") and len(site.got) == number, answer


NO_ADDRESS = [
    *("", "example.org/hook", "ftp://example.org/", "file:///etc/passwd", "http://", "http:///hook"),
    *("http://example.org:port/", "http://example.org:99999/", f"http://user:{SECRET}@example.org/"),
    *(f"http://example.org/{SECRET} hook", f"http://example.org/{SECRET}\r\nX-Evil: 1", "http://[::1/"),
    "http://exämple.org/",
]


def test_what_is_no_command_and_no_address_is_refused() -> None:
    for bad in ("", "   ", "it's"):
        with pytest.raises(ValueError, match=r"empty|quotation"):
            Command(bad)
    for bad in NO_ADDRESS:
        with pytest.raises(ValueError) as caught:
            Webhook(bad)
        assert SECRET not in str(caught.value)


# --- apprise ---


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")  # apprise imports it
def test_a_notice_by_apprise_has_no_secret_and_who_refuses_is_named(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    address = site.url.removeprefix("http://")
    place = Apprise([f"json://{address}/token-8fJ2"])
    for line in ("Proceed? [y/N]", f"API_TOKEN={SECRET}"):
        assert place.deliver(said(target="tmux:w1", what="waits", line=line)) == "sent"
    assert place.deliver(said("cleared")) == "not told: a message cannot be taken back"
    first, second = (json.loads(body) for _, _, body in site.got)
    assert (first["title"], first["message"]) == ("w1 waits for an answer", "Proceed? [y/N]")
    assert SECRET not in str(second)
    assert place.name == "apprise json", "an address holds a token"
    site.status = 500
    with pytest.raises(OSError, match=r"^json, form did not take it$"):
        Apprise(["json://127.0.0.1:1/token-8fJ2", f"form://{address}"]).deliver(said(what="waits"))
    with pytest.raises(ConfigError, match="address 2") as refused:
        channels_of(Channels(shown=NotifySettings(apprise=["json://localhost", "nowhere://token-8fJ2"])))
    assert "token" not in "".join(capfd.readouterr()) + str(refused.value)


# --- whatever a place does ---


def test_events_are_handed_on_in_order_and_the_place_is_closed(told: list[str]) -> None:
    got: list[int] = []
    place = Place(got.append)
    outlet = Outlet(place, told.append)
    for number in range(20):
        outlet(said(number=number))
    outlet.close()
    assert got == [*range(20)] and place.closed
    assert told == [] and outlet.lost == 0 and not outlet._thread.is_alive()


def test_what_there_is_no_room_or_no_time_for_is_counted_and_told(told: list[str]) -> None:
    begun, free, got = threading.Event(), threading.Event(), list[int]()

    def deliver(number: int) -> None:
        begun.set()
        free.wait()
        got.append(number)

    outlet = Outlet(Place(deliver), told.append, held=3)
    outlet(said(number=0))
    begun.wait()  # one is in its hands, three wait
    for number in range(1, 10):
        outlet(said(number=number))
    assert outlet.lost == 6
    free.set()
    outlet.close()
    assert got == [0, 1, 2, 3] and told == ["place: 6 events were lost"]
    free.clear(), begun.clear()
    late = Outlet(Place(deliver), told.append)
    for _ in range(4):
        late(said())
    begun.wait()
    late.close(timeout_s=0.01)
    free.set()
    assert told[1:] == ["place: 3 events were lost"]


def test_one_that_fails_is_told_if_anybody_can_be_and_the_next_is_handed_on() -> None:
    def broken(line: str) -> None:
        raise BrokenPipeError

    for error in (OSError("no"), ValueError("odd"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")):
        got, told = list[int](), list[str]()

        def deliver(number: int, got: list[int] = got, error: Exception = error) -> None:
            got.append(number)
            if number == 0:
                raise error

        for tell in (told.append, broken):
            outlet = Outlet(Place(deliver), tell)
            outlet(said(number=0))
            outlet(said(number=1))
            outlet.close()
        assert got == [0, 1, 0, 1] and told == [f"place: {error}"]


# --- who is told, of what and when ---


def test_what_a_person_should_know_is_told_in_every_place_and_what_clears_it(
    told: list[str], threads: Callable[[], set[str]]
) -> None:
    places = [Place(), Place()]
    notifier = Notifier([Outlet(place, told.append) for place in places], NoticeLimits(), told.append)
    for name in ["detection", *sorted(ESCALATIONS), "dismissal", "start", "done", *sorted(RUNS), "cleared"]:
        notifier(event(name, target=f"tmux:{name if name != 'cleared' else 'gone'}"))
    notifier.close()
    assert places[0].names == [*sorted(ESCALATIONS), *sorted(RUNS), "cleared"] and told == []
    assert places[0].got == places[1].got and len({one.id for one in places[0].got}) == len(places[0].got)
    assert not threads()


def test_the_summary_comes_by_itself_and_at_the_end() -> None:
    """The thread looks by itself when a summary is due; the clock stands until the notices are in."""
    place, now = Place(), [0.0]
    limits = NoticeLimits(per_session=1, window_s=0.2)
    notifier = Notifier([Outlet(place, print)], limits, print, clock=lambda: now[0], local=lambda: NOON)
    for _ in range(4):
        notifier(event())
    now[0] = 1.0
    wait_for(lambda: place.names == ["escalation", "summary"], "the summary")
    assert place.got[-1].event.facts["count"] == 3
    notifier.close()
    assert place.names == ["escalation", "summary"]
    place = Place()
    notifier = Notifier([Outlet(place, print)], NoticeLimits(per_session=1), print)
    for _ in range(4):
        notifier(event())
    notifier.close()
    assert place.names == ["escalation", "summary"]


def test_in_the_night_it_is_said_elsewhere(told: list[str]) -> None:
    place = Place()
    limits = NotifySettings(quiet="22:00-07:00").limits
    notifier = Notifier([Outlet(place, told.append)], limits, told.append, local=lambda: NIGHT)
    for _ in range(4):
        notifier(event())
    notifier.close()
    notifier.close()
    assert place.names == []
    assert told == ["4 notices of the quiet hours were not told: stallkit report --incidents lists them"]


def test_settings_name_the_places(threads: Callable[[], set[str]]) -> None:
    with ExitStack() as stack:
        assert open_notifier(stack, Channels(), print) is None
    assert not threads()
    shown = NotifySettings().with_shown(["terminal", "tmux", "desktop"])
    assert (shown.terminal, NotifySettings(terminal="bell").with_shown(["terminal"]).terminal) == ("auto", "bell")
    chosen = Channels("true", "http://127.0.0.1:1/", "structured", shown, Options(tmux_socket_name="other"))
    names = [channel.name for channel in channels_of(chosen)]
    assert names == ["command true", "webhook 127.0.0.1", "desktop", "terminal", "tmux -L other"]
    for wrong, where in ((Channels(exec=" "), "events"), (Channels(webhook="ftp://a"), "webhook")):
        with pytest.raises(ConfigError, match=where):
            channels_of(wrong)
