"""An event log is read whole: rotated files, cut lines, what is written meanwhile; and what its events add up to."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.log_report import LogReader, Report, SessionReport, reported

from stallkit.errors import ConfigError
from stallkit.press.events import Event, EventLog


def numbers(reader: LogReader) -> list[int]:
    return [event["number"] for event in reader.events()]


def test_rotated_files_are_read_the_oldest_first(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", max_bytes=1_000)
    for number in range(30):
        log.write(Event("detection", "tmux:a", {"number": number}))
    assert (tmp_path / "events.jsonl.2").exists()
    assert numbers(LogReader(log.path)) == list(range(30))


def test_cut_and_foreign_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    whole = json.dumps({"event": "done", "number": 1})
    lines = [whole, whole[:9], "", "[1]", '{"event": 3}', "\xff", "[" * 100_000, whole, whole[:-2]]
    path.write_text("\n".join(lines), "latin-1")
    reader = LogReader(path)
    assert (numbers(reader), reader.unreadable) == ([1, 1], 6)


def test_a_rotation_meanwhile_hides_nothing_and_shows_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, max_bytes=10_000)
    log.write(Event("done", "", {"number": 1}))
    os.link(path, f"{path}.1")  # as it is between the two looks at a file that was renamed
    assert numbers(LogReader(path)) == [1]
    path.unlink()
    assert numbers(LogReader(path)) == [1], "before the next event was written"


def test_progress_reaches_the_end_and_old_files_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "done", "number": 2}\n' * 10_000)
    (tmp_path / "events.jsonl.1").write_text('{"event": "done", "number": 1}\n')
    os.utime(tmp_path / "events.jsonl.1", (0, 1_000))
    shares: list[float] = []
    assert sum(1 for _ in LogReader(path).events(2_000, shares.append)) == 10_000
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) == 5


@pytest.mark.parametrize("folder", [False, True])
def test_no_log_is_an_error(tmp_path: Path, folder: bool) -> None:
    path = tmp_path / "events.jsonl"
    if folder:
        path.mkdir()
    with pytest.raises(ConfigError, match="Is a directory" if folder else "there is no such file"):
        list(LogReader(path).events())


EVENING = datetime(2026, 11, 22, 22, tzinfo=UTC).timestamp()
ASKS = {"state": "waiting", "kind": "permission", "signature": "tool"}
WORKS = {"state": "working", "kind": None, "signature": "spinner"}
IDLE = {"state": "idle", "kind": None, "signature": "composer"}


def at(minute: float, name: str, target: str = "tmux:a", **facts: Any) -> dict[str, Any]:
    time = datetime.fromtimestamp(EVENING + minute * 60, UTC).isoformat(timespec="milliseconds")
    return {"version": 1, "time": time, "event": name, "target": target, **facts}


def iso(minute: float) -> str:
    return str(at(minute, "")["time"])


def alone(*events: dict[str, Any]) -> SessionReport:
    [found] = reported(events).sessions.values()
    return found


def waits(found: SessionReport) -> list[tuple[str, float, float | None, str | None]]:
    """What, from which minute to which, and who answered."""
    return [
        (wait.label, (wait.since - EVENING) / 60, None if wait.until is None else (wait.until - EVENING) / 60, wait.by)
        for wait in found.waits
    ]


def test_a_wait_lasts_from_its_prompt_to_its_answer() -> None:
    found = alone(
        at(1, "detection", **ASKS),
        at(1.5, "escalation", **ASKS, what="waits", since=iso(1), times=1),
        at(31.5, "escalation", **ASKS, what="waits", since=iso(1), times=2),
        at(40, "detection", **WORKS),
        at(40.05, "cleared", what="waits", by="somebody", blocked_s=39 * 60, kind="permission", signature="tool"),
        at(50, "done", **IDLE),
    )
    [wait] = found.waits
    assert (wait.label, wait.by, wait.told, found.open, found.turns) == ("permission", "somebody", 2, None, 1)
    assert abs(wait.blocked_s(EVENING + 36_000) - 39 * 60) < 0.01


def test_what_still_waits_goes_on() -> None:
    found = alone(at(1, "escalation", **ASKS, what="waits"), at(2, "send", **ASKS))
    assert waits(found) == [("permission", 1, None, None)] and found.open is not None
    assert found.blocked_s(EVENING + 3_660) == 3_600


def test_stallkit_answers_what_a_person_was_told_of() -> None:
    found = alone(
        at(1, "escalation", **ASKS, what="waits"),
        at(2, "dismissal", signature="tool", outcome="cleared"),
        at(2, "detection", **WORKS),
        at(3, "dismissal", signature="key", outcome="refused"),
    )
    assert waits(found) == [("permission", 1, 2, "stallkit")]
    assert (found.pressed, found.not_pressed) == (1, 1)


def test_a_log_that_does_not_say_what_was_cleared_is_read_by_what_came_next() -> None:
    other = {**ASKS, "kind": "confirm", "signature": "yes_no"}
    found = alone(
        at(1, "escalation", **ASKS, why="severity medium"),
        at(2, "detection", **ASKS, certainty="maybe"),  # the same prompt
        at(3, "escalation", **other, why="severity medium"),
        at(9, "detection", **WORKS),
    )
    assert waits(found) == [("permission", 1, 3, None), ("confirm", 3, 9, None)]


def test_what_was_told_before_the_log_begins_is_known_when_it_clears() -> None:
    found = alone(at(30, "cleared", what="asks", by="somebody", blocked_s=600, kind=None))
    assert waits(found) == [("asks", 20, 30, "somebody")] and found.waits[0].told == 0


def test_failures_restarts_limits_and_ends_are_counted() -> None:
    failed = {**IDLE, "ended_turn": {"how": "failed", "message": "API Error: 401", "error": "authentication"}}
    found = alone(
        at(1, "escalation", **failed, what="failed"),
        at(2, "restart", outcome="cleared"),
        at(3, "restart", outcome="refused"),
        at(4, "escalation", state="quota", what="limit", free_in_s=60),
        at(5, "resume", outcome="cleared"),
        at(6, "limit", why="3 recoveries"),
        at(6, "auto_stop", reason="stall_limit", why="3 recoveries"),
        at(7, "could_not_look", why="no answer"),
        at(8, "session_crashed", target="a", cause="exited"),
        at(8, "gone", why="no such session"),
        at(9, "gone", why="no such session"),
    )
    assert found.waits[0].label == "failed: authentication" and dict(found.failures) == {"authentication": 1}
    assert (found.restarts, found.restarts_failed, found.resumed, found.troubles) == (1, 1, 1, 1)
    assert dict(found.limits) == {"usage": 1, "help": 1} and found.halted == "3 recoveries"
    assert dict(found.ends) == {"session_crashed": 1}, "its end is one, whoever tells it"
    assert found.open is None and found.name == "a"
    assert alone(at(1, "auto_stop", why="x"), at(2, "released", why="x")).halted == ""


def test_how_a_wait_ended_is_said_as_the_log_says_it_or_not_at_all() -> None:
    told = at(1, "escalation", **ASKS, what="waits")
    for last, by in (
        ([at(9, "gone", why="no such session")], "gone with its session"),
        ([at(9, "gone"), at(9.01, "cleared", what="waits", by="stallkit", blocked_s=480)], "stallkit"),
        ([at(9, "cleared", what="waits", by="ada", blocked_s=480)], "ada"),
        ([at(9, "detection", **WORKS)], None),
    ):
        assert alone(told, *last).waits[0].by == by, last


def test_what_an_earlier_supervisor_told_is_one_wait_with_what_the_next_one_finds() -> None:
    told = at(1, "escalation", **ASKS, what="waits", since=iso(0))
    still = at(20, "still", **ASKS, what="waits", since=iso(0), told=1)
    [wait] = alone(told, at(10, "start"), still).waits
    assert (wait.told, wait.since, wait.until) == (1, EVENING, None)
    assert waits(alone(still)) == [("permission", 0, None, None)], "the log begins later"


def test_older_events_and_those_without_a_time_do_not_count() -> None:
    events = [at(1, "done"), {**at(2, "done"), "time": "soon"}, at(3, "done"), {"event": "done", "target": "tmux:a"}]
    assert reported(events, EVENING + 120).sessions["a"].turns == 1
    assert reported([], 0).begun is None


def test_who_watches() -> None:
    assert reported([at(1, "done")]).watching is None
    assert reported([at(1, "start", ""), at(2, "stop", "")]).watching == 0
    assert reported([at(2, "stop", "")]).watching == 0
    assert reported([at(1, "start", ""), at(2, "start", ""), at(3, "stop", "")]).watching == 1


def test_a_prompt_of_a_halted_session_waits_for_a_person() -> None:
    found = alone(at(1, "limit", **ASKS, item=2, why="3 recoveries"))
    assert found.limits["help"] == 1 and found.open is not None and found.open.label == "permission"


def test_a_clock_that_was_set_back_makes_no_wait_shorter_than_nothing() -> None:
    found = alone(at(5, "escalation", **ASKS, what="waits"), at(2, "cleared", by="somebody"))
    assert waits(found) == [("permission", 5, 5, "somebody")]


NAMES = ["detection", "escalation", "cleared", "dismissal", "restart", "done", "gone", "start", "stop", "limit"]
VALUES = st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
FACTS = st.dictionaries(
    st.sampled_from(["state", "kind", "signature", "what", "since", "waited_s", "blocked_s", "by", "outcome", "why"]),
    VALUES | st.sampled_from(["waiting", "working", "waits", "asks", "somebody", "cleared", iso(0), iso(99)]),
)
EVENTS = st.lists(
    st.tuples(st.floats(0, 600), st.sampled_from(NAMES), FACTS, VALUES | st.sampled_from(["tmux:a", "b"])), max_size=20
)


@given(EVENTS)
def test_whatever_a_log_holds_its_times_make_sense(log: list[tuple[float, str, dict[str, Any], Any]]) -> None:
    report: Report = reported([{**at(minute, name), **facts, "target": target} for minute, name, facts, target in log])
    for one in report.sessions.values():
        assert all(wait.until is not None for wait in one.waits[:-1]), "one wait at a time"
        assert all(wait.until is None or wait.until >= wait.since for wait in one.waits)
        assert one.blocked_s(EVENING + 36_000) >= 0
