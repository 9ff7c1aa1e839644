"""Programs that are told: real commands, and a real HTTP server on loopback."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Callable, Iterator

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_binary, from_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from posted import Site
from stallkit_supervisor.notify.hooks import Command, ContentMode, Webhook
from stallkit_supervisor.notify.notifier import Outlet
from terminals import wait_for
from told_events import SECRET, said


@pytest.fixture
def told() -> list[str]:
    """What an outlet complained of."""
    return []


def test_a_command_gets_the_event_on_its_input_and_as_a_variable(tmp_path: Path, told: list[str]) -> None:
    script = tmp_path / "hook"
    script.write_text('#!/bin/sh\ncat > "$1"\nprintf %s "$STALLKIT_EVENT" > "$2"\n')
    script.chmod(0o755)
    command = Outlet(Command(f"{script} '{tmp_path}/its input' {tmp_path}/variable"), told.append)
    command(said(why=f"'\"$(touch {tmp_path}/owned)`\n\0\ud800 {SECRET}"))
    command.close()
    assert told == []
    line = (tmp_path / "its input").read_text()
    assert line == (tmp_path / "variable").read_text() + "\n" and line.count("\n") == 1
    assert json.loads(line)["event"] == "escalation" and SECRET not in line
    assert not (tmp_path / "owned").exists(), "no shell reads it"


def test_an_event_too_long_for_a_variable_still_arrives(tmp_path: Path, told: list[str]) -> None:
    command = Outlet(Command(f"cp /dev/stdin {tmp_path}/out"), told.append)
    command(said(why="x " * 200_000))
    command.close()
    assert told == [] and len((tmp_path / "out").read_text()) > 400_000


@pytest.mark.parametrize(
    ("command", "complaint"),
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
def test_a_command_that_fails_is_told_each_time(command: str, complaint: str, told: list[str]) -> None:
    outlet = Outlet(Command(command), told.append)
    outlet(said())
    outlet(said())
    outlet.close()
    assert told == [complaint, complaint]


def test_a_command_that_reads_nothing_is_none_that_fails(told: list[str]) -> None:
    command = Outlet(Command("true"), told.append)
    command(said(why="x " * 200_000))
    command.close()
    assert told == []


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path, told: list[str]) -> None:
    script = tmp_path / "hook"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path}/pid\nwait\n")
    script.chmod(0o755)
    command = Outlet(Command(str(script), timeout_s=0.5), told.append)
    command(said())
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
def test_what_is_no_command_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r"empty|quotation"):
        Command(bad)


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
    webhook = Outlet(Webhook(f"{site.url}/hook?token={SECRET}"), told.append)
    webhook(said(why=f"{SECRET} \u2028 ä"))
    webhook(said("gone"))
    webhook.close()
    assert told == [] and [line for line, _, _ in site.got] == [f"POST /hook?token={SECRET}"] * 2
    assert {kind for _, kind, _ in site.got} == {"application/json"}
    first = json.loads(site.got[0][2])
    assert (first["event"], first["target"], first["version"]) == ("escalation", "tmux:one", 1)
    assert SECRET not in first["why"]


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_webhook_that_answers_with_an_error_is_told(status: int, site: Site, told: list[str]) -> None:
    site.status = status
    webhook = Outlet(Webhook(f"{site.url}/{SECRET}"), told.append)
    webhook(said())
    webhook(said())
    webhook.close()
    assert len(site.got) == 2 and told == [f"webhook 127.0.0.1: it answered {status}"] * 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_not_taken_for_a_delivery(status: int, site: Site, told: list[str]) -> None:
    site.status, site.headers = status, {"Location": f"{site.url}/elsewhere"}
    webhook = Outlet(Webhook(site.url), told.append)
    webhook(said())
    webhook.close()
    assert len(site.got) == 1 and told == [f"webhook 127.0.0.1: it answered {status}"]


def test_a_webhook_that_hangs_is_given_up(site: Site, told: list[str]) -> None:
    site.hold.clear()
    webhook = Outlet(Webhook(site.url, timeout_s=1.0), told.append)
    webhook(said())
    wait_for(lambda: told, "the complaint")
    assert "timed out" in told[0]
    site.hold.set()
    webhook(said())
    webhook.close()
    assert len(site.got) == 2


def test_a_closed_port_is_told(told: list[str], site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    webhook = Outlet(Webhook(f"http://127.0.0.1:{port}/{SECRET}"), told.append)
    webhook(said())
    webhook.close()
    assert len(told) == 1 and "refused" in told[0] and SECRET not in told[0]


@pytest.mark.parametrize("answer", [b"", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 999999 x\r\n\r\n", b"\xff" * 100_000])
def test_what_answers_no_http_is_told_and_the_next_is_posted(answer: bytes, site: Site, told: list[str]) -> None:
    url, wait = raw(answer)
    hook = Webhook(url)
    webhook = Outlet(hook, told.append)
    webhook(said())
    wait_for(lambda: told, "the complaint")
    hook._url = site.url
    webhook(said())
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
def test_what_is_no_address_is_refused(bad: str) -> None:
    with pytest.raises(ValueError) as caught:
        Webhook(bad)
    assert SECRET not in str(caught.value)


# --- the envelope ---

MODES: list[ContentMode] = ["binary", "structured"]


@pytest.mark.parametrize("mode", MODES)
def test_a_webhook_is_posted_what_the_sdk_of_cloudevents_reads(mode: ContentMode, site: Site, told: list[str]) -> None:
    webhook = Outlet(Webhook(f"{site.url}/{SECRET}", mode), told.append)
    webhook(said(target='tmux:a "b" %41 ä', why=f"{SECRET} ä"))
    webhook.close()
    [(_, kind, body)], [headers] = site.got, site.all_headers
    message = HTTPMessage({name.lower(): value for name, value in headers.items()}, body)
    found = (from_binary if mode == "binary" else from_structured)(message, JSONFormat())
    assert (found.get_type(), found.get_source(), found.get_id()) == ("stallkit.escalation", "//here/stallkit", "1")
    assert found.get_subject() == 'tmux:a "b" %41 ä'
    assert json.loads(json.dumps(found.get_data()))["event"] == "escalation"
    assert kind == {"binary": "application/json", "structured": "application/cloudevents+json"}[mode]
    assert SECRET not in f"{headers}{body.decode()}" and told == []


@pytest.mark.parametrize("mode", MODES)
def test_a_command_gets_the_envelope_in_variables_and_in_structured_mode_in_its_input(
    mode: ContentMode, tmp_path: Path, told: list[str]
) -> None:
    script = tmp_path / "hook"
    script.write_text(f"#!/bin/sh\ncat > {tmp_path}/input\nenv | grep ^CE_ | sort > {tmp_path}/variables\n")
    script.chmod(0o755)
    command = Outlet(Command(str(script), mode), told.append)
    command(said(why="ä"))
    command.close()
    body = json.loads((tmp_path / "input").read_text())
    event = body if mode == "binary" else body["data"]
    assert told == [] and (event["event"], event["why"], event["version"]) == ("escalation", "ä", 1)
    variables = dict(line.split("=", 1) for line in (tmp_path / "variables").read_text().splitlines())
    assert variables["CE_TYPE"] == "stallkit.escalation" and variables["CE_SUBJECT"] == "tmux:one"
    if mode == "structured":
        assert JSONFormat().read(CloudEvent, (tmp_path / "input").read_bytes()).get_id() == variables["CE_ID"] == "1"
