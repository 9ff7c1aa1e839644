"""Where events go: real commands, a real HTTP server on loopback, real files; whatever they do, the watch goes on."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest
from posted import Site
from terminals import wait_for

from stallkit.errors import StallkitError
from stallkit.notify.sinks import ESCALATIONS, Command, Metrics, Outlet, Webhook
from stallkit.press.events import Event

SECRET = "gh" + "p_" + "q7Zt2Kx9Wm4Bv6Rn1Lc8" * 2


def event(name: str = "escalation", target: str = "tmux:one", **facts: Any) -> Event:
    return Event(name, target, facts)


@pytest.fixture
def told() -> list[str]:
    """What an outlet complained of."""
    return []


# --- an outlet ---


def test_escalations_alone_are_handed_on_in_order(told: list[str]) -> None:
    got: list[str] = []
    outlet = Outlet("test", got.append, told.append)
    for number, name in enumerate(["detection", *sorted(ESCALATIONS), "dismissal", "start"]):
        outlet(event(name, number=number))
    outlet.close()
    assert [json.loads(line)["event"] for line in got] == sorted(ESCALATIONS)
    assert told == [] and outlet.lost == 0 and not outlet._thread.is_alive()


def test_all_that_happens_to_a_run_is_handed_on(told: list[str]) -> None:
    got: list[str] = []
    outlet = Outlet("test", got.append, told.append)
    happened = ["run_started", "run_may_wait", "run_waiting", "run_answered", "run_ended"]
    for name in happened:
        outlet(event(name))
    outlet.close()
    assert [json.loads(line)["event"] for line in got] == happened


def test_what_there_is_no_room_for_is_counted_and_told(told: list[str]) -> None:
    begun, free, got = threading.Event(), threading.Event(), list[str]()

    def deliver(line: str) -> None:
        begun.set()
        free.wait()
        got.append(line)

    outlet = Outlet("test", deliver, told.append, held=3)
    outlet(event(number=0))
    begun.wait()  # one is in its hands, three wait
    for number in range(1, 10):
        outlet(event(number=number))
    assert outlet.lost == 6
    free.set()
    outlet.close()
    assert [json.loads(line)["number"] for line in got] == [0, 1, 2, 3]
    assert told == ["test: 6 events were lost"]


def test_what_there_is_no_time_for_at_the_end_is_told(told: list[str]) -> None:
    begun, free = threading.Event(), threading.Event()

    def deliver(line: str) -> None:
        begun.set()
        free.wait()

    outlet = Outlet("test", deliver, told.append)
    for _ in range(4):
        outlet(event())
    begun.wait()
    outlet.close(timeout_s=0.01)
    assert told == ["test: 3 events were lost"]
    free.set()


@pytest.mark.parametrize("error", [OSError("no"), ValueError("odd"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")])
def test_one_that_fails_is_told_and_the_next_is_handed_on(told: list[str], error: Exception) -> None:
    got: list[str] = []

    def deliver(line: str) -> None:
        got.append(line)
        if len(got) == 1:
            raise error

    outlet = Outlet("test", deliver, told.append)
    outlet(event())
    outlet(event())
    outlet.close()
    assert len(got) == 2 and told == [f"test: {error}"]


def test_nor_does_it_matter_that_nobody_can_be_told() -> None:
    got: list[str] = []

    def deliver(line: str) -> None:
        got.append(line)
        raise OSError("no")

    def tell(said: str) -> None:
        raise BrokenPipeError

    outlet = Outlet("test", deliver, tell)
    outlet(event())
    outlet(event())
    outlet.close()
    assert len(got) == 2


# --- a command ---


def test_a_command_gets_the_event_on_its_input_and_as_a_variable(tmp_path: Path, told: list[str]) -> None:
    script = tmp_path / "hook"
    script.write_text('#!/bin/sh\ncat > "$1"\nprintf %s "$STALLKIT_EVENT" > "$2"\n')
    script.chmod(0o755)
    command = Command(f"{script} '{tmp_path}/its input' {tmp_path}/variable", told.append)
    command(event(why=f"'\"$(touch {tmp_path}/owned)`\n\0\ud800 {SECRET}"))
    command.close()
    assert told == []
    line = (tmp_path / "its input").read_text()
    assert line == (tmp_path / "variable").read_text() + "\n" and line.count("\n") == 1
    assert json.loads(line)["event"] == "escalation" and SECRET not in line
    assert not (tmp_path / "owned").exists(), "no shell reads it"


def test_an_event_too_long_for_a_variable_still_arrives(tmp_path: Path, told: list[str]) -> None:
    command = Command(f"cp /dev/stdin {tmp_path}/out", told.append)
    command(event(why="x " * 200_000))
    command.close()
    assert told == [] and len((tmp_path / "out").read_text()) > 400_000


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("false", "command false: exit status 1"),
        ("sh -c 'echo first; echo second >&2; exit 3'", "command sh: exit status 3: second"),
        (r"sh -c 'printf \\377\\n >&2; exit 3'", "command sh: exit status 3: \ufffd"),  # no UTF-8
        (f"sh -c 'echo api_key={SECRET} >&2; exit 3'", "command sh: exit status 3: api_key=[redacted]"),
        ("sh -c 'kill -9 $$'", "command sh: exit status -9"),
        ("/no/such/program", "command /no/such/program: [Errno 2] No such file or directory: '/no/such/program'"),
        ("/etc", "command /etc: [Errno 13] Permission denied: '/etc'"),
    ],
)
def test_a_command_that_fails_is_told_each_time(command: str, said: str, told: list[str]) -> None:
    outlet = Command(command, told.append)
    outlet(event())
    outlet(event())
    outlet.close()
    assert told == [said, said]


def test_a_command_that_reads_nothing_is_none_that_fails(told: list[str]) -> None:
    command = Command("true", told.append)
    command(event(why="x " * 200_000))
    command.close()
    assert told == []


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path, told: list[str]) -> None:
    script = tmp_path / "hook"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path}/pid\nwait\n")
    script.chmod(0o755)
    command = Command(str(script), told.append, timeout_s=0.5)
    command(event())
    wait_for(lambda: told, "the complaint")
    assert told == [f"command {script}: it ran for more than 0.5 s"]
    pid = int((tmp_path / "pid").read_text())

    def ended() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    wait_for(ended, "the end of what it started")
    command.close()


@pytest.mark.parametrize("bad", ["", "   ", "it's"])
def test_what_is_no_command_is_refused(bad: str, told: list[str]) -> None:
    with pytest.raises(ValueError, match=r"empty|quotation"):
        Command(bad, told.append)


# --- a webhook ---


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Site()
    yield made
    made.end()


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


def test_a_webhook_is_posted_each_escalation(site: Site, told: list[str]) -> None:
    webhook = Webhook(f"{site.url}/hook?token={SECRET}", told.append)
    webhook(event("detection"))
    webhook(event(why=f"{SECRET} \u2028 ä"))
    webhook(event("gone"))
    webhook.close()
    assert told == [] and [line for line, _, _ in site.got] == [f"POST /hook?token={SECRET}"] * 2
    assert {kind for _, kind, _ in site.got} == {"application/json"}
    first = json.loads(site.got[0][2])
    assert (first["event"], first["target"], first["version"]) == ("escalation", "tmux:one", 1)
    assert SECRET not in first["why"]


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_webhook_that_answers_with_an_error_is_told(status: int, site: Site, told: list[str]) -> None:
    site.status = status
    webhook = Webhook(f"{site.url}/{SECRET}", told.append)
    webhook(event())
    webhook(event())
    webhook.close()
    assert len(site.got) == 2 and told == [f"webhook 127.0.0.1: it answered {status}"] * 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_not_taken_for_a_delivery(status: int, site: Site, told: list[str]) -> None:
    site.status, site.headers = status, {"Location": f"{site.url}/elsewhere"}
    webhook = Webhook(site.url, told.append)
    webhook(event())
    webhook.close()
    assert len(site.got) == 1 and told == [f"webhook 127.0.0.1: it answered {status}"]


def test_a_webhook_that_hangs_is_given_up(site: Site, told: list[str]) -> None:
    site.hold.clear()
    webhook = Webhook(site.url, told.append, timeout_s=1.0)
    webhook(event())
    wait_for(lambda: told, "the complaint")
    assert "timed out" in told[0]
    site.hold.set()
    webhook(event())
    webhook.close()
    assert len(site.got) == 2


def test_a_closed_port_is_told(told: list[str], site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    webhook = Webhook(f"http://127.0.0.1:{port}/{SECRET}", told.append)
    webhook(event())
    webhook.close()
    assert len(told) == 1 and "refused" in told[0] and SECRET not in told[0]


@pytest.mark.parametrize("answer", [b"", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 999999 x\r\n\r\n", b"\xff" * 100_000])
def test_what_answers_no_http_is_told_and_the_next_is_posted(answer: bytes, site: Site, told: list[str]) -> None:
    url, wait = raw(answer)
    webhook = Webhook(url, told.append)
    webhook(event())
    wait_for(lambda: told, "the complaint")
    webhook._url = site.url
    webhook(event())
    webhook.close()
    wait()
    assert len(told) == 1 and told[0].startswith("webhook 127.0.0.1: ") and len(site.got) == 1


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "example.org/hook",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http:///hook",
        "http://example.org:port/",
        "http://example.org:99999/",
        f"http://user:{SECRET}@example.org/",
        f"http://example.org/{SECRET} hook",
        f"http://example.org/{SECRET}\r\nX-Evil: 1",
        "http://[::1/",
        "http://exämple.org/",
    ],
)
def test_what_is_no_address_is_refused(bad: str, told: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        Webhook(bad, told.append)
    assert SECRET not in str(caught.value)


# --- figures ---


def page(metrics: Metrics, path: str = "/metrics") -> dict[str, float]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{metrics.port}{path}", timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}


def test_figures_are_served() -> None:
    pytest.importorskip("prometheus_client")
    metrics = Metrics(":0")
    for target in ("tmux:one", "tmux:two"):
        metrics(event("detection", target, state="working"))
    metrics(event("detection", "tmux:one", state="waiting"))
    metrics(event("escalation", "tmux:one"))
    found = page(metrics)
    assert found['stallkit_events_total{event="detection"}'] == 3
    assert found['stallkit_events_total{event="escalation"}'] == 1
    assert found['stallkit_sessions{state="working"}'] == found['stallkit_sessions{state="waiting"}'] == 1
    metrics(event("gone", "tmux:one"))
    found = page(metrics)
    assert found['stallkit_sessions{state="waiting"}'] == 0, "none, not nothing"
    assert found['stallkit_sessions{state="gone"}'] == 1
    assert not any("tmux" in name for name in found), "names of sessions are nobody's business"
    metrics.close()


def test_two_pages_are_two() -> None:
    pytest.importorskip("prometheus_client")
    first, second = Metrics("127.0.0.1:0"), Metrics(":0")
    first(event())
    assert 'stallkit_events_total{event="escalation"}' not in page(second)
    for metrics in (first, second):
        metrics.close()


def test_what_is_no_address_for_figures_is_one_line() -> None:
    pytest.importorskip("prometheus_client")
    metrics = Metrics(":0")
    for bad in ("", ":", "9100x", ":port", ":99999", ":-1", f"127.0.0.1:{metrics.port}", "no host at all:0"):
        with pytest.raises(StallkitError) as caught:
            Metrics(bad)
        assert str(caught.value).startswith("metrics") and "\n" not in str(caught.value)
    metrics.close()
