"""What a host printed, as an event and as rows of the table; pure, whatever it printed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.cli.ssh_watch import event_of, trouble
from stallkit_supervisor.cli.watched_hosts import SESSIONS, Host


def event(name: str, target: str = "", **facts: Any) -> dict[str, Any]:
    line = {"version": 1, "time": "2026-11-28T06:00:00+00:00", "event": name, "target": target, **facts}
    found = event_of(json.dumps(line).encode(), "a")
    assert found is not None
    return found


def shown(host: Host) -> list[tuple[str, str, float, str]]:
    return [(row.session, row.state, row.since, row.asks) for row in host.rows()]


WAITS: dict[str, Any] = {"state": "waiting", "certainty": "sure", "kind": "confirm", "line": "Go? [y/N]"}


def test_a_host_as_its_events_say() -> None:
    host = Host("a", since=1)
    assert shown(host) == [("", "connecting", 1, "")]
    host.take(event("start"), 2)
    assert shown(host) == [("", "watched", 2, "")]
    host.take(event("no_session", why="waiting for one"), 2)
    assert shown(host) == [("", "watched", 2, "waiting for one")]
    host.take(event("detection", "tmux:w", state="working", certainty="maybe", kind=None), 3)
    assert shown(host) == [("tmux:w", "working?", 3, "")]
    host.take(event("escalation", "tmux:w", **WAITS, waited_s=2.5), 6)
    host.take(event("detection", "tmux:w", **WAITS), 7)
    assert shown(host) == [("tmux:w", "waiting: confirm", 3.5, "Go? [y/N]")], "since it was first seen so"
    host.take(event("could_not_look", "tmux:w", why="no tmux"), 8)
    assert shown(host) == [("tmux:w", "unknown", 8, "no tmux")]
    host.take(event("looks_again", "tmux:w"), 9)
    assert shown(host) == [("tmux:w", "waiting: confirm", 3.5, "Go? [y/N]")]
    host.take(event("gone", "tmux:w", why="it ended"), 10)
    assert shown(host) == [("tmux:w", "gone", 10, "it ended")]
    assert host.lost("no route", 11) and not host.lost("no route", 12) and host.lost("refused", 13)
    assert shown(host) == [("", "unreachable", 11, "refused")], "never as idle"
    host.take(event("start"), 14)
    assert shown(host) == [("", "watched", 14, "")]


def test_a_host_that_never_stops_to_tell_is_bounded() -> None:
    host = Host("a")
    for number in range(2 * SESSIONS):
        host.take(event("detection", f"tmux:{number}", state="idle"), 1)
        host.take(event("gone", f"tmux:x{number}"), 1)
    assert len(host.rows()) == 2 * SESSIONS


@pytest.mark.parametrize("waited", [10**400, -5, True, "1", [1], 1e300])
def test_times_that_cannot_be(waited: Any) -> None:
    host = Host("a")
    host.take(event("still", "tmux:w", **WAITS, waited_s=waited), 100.0)
    assert 0 <= host.rows()[0].since <= 100


HEAD = b'{"version": 1, "time": "2026-11-28T06:00:00+00:00", "event": "x", "target": ""'


@pytest.mark.parametrize(
    "line",
    [b"", b"Welcome!", b"[1]", b"{}", b"\xff\xfe{", HEAD, HEAD.replace(b"1", b"2", 1) + b"}", b"[" * 100_000,
     HEAD + b', "why": NaN}', HEAD + b', "why": 1e999}', HEAD + b', "item": ' + b"9" * 5_000 + b"}"],
)  # fmt: skip
def test_lines_that_are_no_events(line: bytes) -> None:
    assert event_of(line, "a") is None


def test_a_fact_that_is_too_deep_is_left_out() -> None:
    found = event_of(HEAD + b', "why": ' + b"[" * 300 + b"]" * 300 + b', "options": [{"a": [1]}]}', "a")
    assert found is not None and "why" not in found and found["options"] == [{"a": [1]}]


PLAIN = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists)
FACTS = st.dictionaries(st.sampled_from(["state", "why", "line", "kind", "waited_s", "host", "version", "x"]), PLAIN)


@given(FACTS, st.text(), st.text())
def test_whatever_a_host_says_can_be_shown(facts: dict[str, Any], name: str, target: str) -> None:
    line = {**facts, "version": 1, "time": "2026-11-28T06:00:00+00:00", "event": name, "target": target}
    found = event_of(json.dumps(line).encode(), "b")
    if found is not None:
        host = Host("b")
        host.take(found, 5.0)
        assert json.loads(json.dumps(found, allow_nan=False))["host"] == host.rows()[0].host == "b"


def test_why_a_host_is_lost() -> None:
    assert "Broken pipe" in trouble("a", 255, "client_loop: send disconnect: Broken pipe\n", "", True).why
    assert trouble("a", 255, "", "", True).why == "the connection ended"
    assert (
        "exit code 64: stallkit: no such command" in trouble("a", 64, "x\nstallkit: no such command\n", "", False).why
    )
