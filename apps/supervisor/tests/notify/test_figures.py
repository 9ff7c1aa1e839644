"""What events add up to: which figures they change, by which labels; and that a report of the log says the same."""

from __future__ import annotations

from itertools import count
from typing import Any, Iterable

import pytest
from stallkit_supervisor.log_report import reported
from stallkit_supervisor.notify.figures import SERIES, ZEROS, Change, Figures
from told_events import event

from stallkit import dump
from stallkit.press.events import Event

WAITS = {"what": "waits", "kind": "permission", "agent": "claude"}
LIMIT = {"what": "limit", "kind": None, "agent": "codex"}
CLAUDE = ("permission", "claude", "typed_there")


class Added:
    """Figures of events, told at seconds of a clock."""

    def __init__(self) -> None:
        self.now, self.changes = 0.0, list[Change]()
        self._figures = Figures(lambda figure: self.changes.append, lambda: self.now)

    def tell(self, name: str, at: float = 0.0, target: str = "tmux:one", **facts: Any) -> None:
        self.now = at
        self._figures.add(event(name, target, **facts))

    def of(self, name: str) -> list[tuple[tuple[str, ...], float]]:
        """The changes of a figure, without those of the start."""
        changes = self.changes[len(ZEROS) :]
        return [(one.labels, one.value) for one in changes if one.of.name == f"stallkit_{name}"]


def test_figures_that_grow_are_there_from_the_start() -> None:
    assert Added().changes == list(ZEROS) and {one.value for one in ZEROS} == {0}


def test_a_person_takes_as_long_as_since_they_were_told() -> None:
    added = Added()
    added.tell("escalation", 100, **WAITS, waited_s=2)
    added.tell("escalation", 1_000, **WAITS, waited_s=902, times=2)  # a reminder
    added.tell("cleared", 1_100, **WAITS, blocked_s=1_002, by="typed there")
    assert added.of("blocked_seconds") == [(CLAUDE, 1_002)] and added.of("answer_seconds") == [(CLAUDE, 1_000)]


def test_what_nobody_was_told_of_is_answered_by_nobody() -> None:
    added = Added()
    added.tell("cleared", 9, **WAITS, blocked_s=1, by="stallkit")
    added.tell("escalation", 10, what="silent", why="nothing changed for 180 s, and the reason is unknown")
    added.tell("cleared", 12, **WAITS, blocked_s=1, by="stallkit")
    assert len(added.of("blocked_seconds")) == 2 and added.of("answer_seconds") == []
    added.tell("escalation", 20, **WAITS)
    added.tell("gone", 30)
    added.tell("cleared", 40, **WAITS, blocked_s=4, by="typed there")
    assert added.of("answer_seconds") == [], "another session of its name"


def test_what_an_earlier_supervisor_told_counts_from_when_it_appeared() -> None:
    added = Added()
    added.tell("still", 5, **WAITS, waited_s=3_600, told=4)
    added.tell("cleared", 65, **WAITS, blocked_s=3_660, by="ada")
    assert added.of("answer_seconds") == [(("permission", "claude", "person"), 3_660)]
    added.tell("escalation", 70, **WAITS, waited_s=2)
    added.tell("cleared", 90, **WAITS, blocked_s=8, by="ada")
    assert added.of("answer_seconds")[1:] == [(("permission", "claude", "person"), 8)], "never longer than it was there"


@pytest.mark.parametrize("seconds", [None, "12", [3]])
def test_an_unknown_time_is_no_time(seconds: object) -> None:
    added = Added()
    added.tell("escalation", **WAITS)
    added.tell("cleared", 3, **WAITS, blocked_s=seconds)
    assert added.of("blocked_seconds") == added.of("answer_seconds") == []


def test_limits_of_usage_are_met_once_each_and_limits_of_help_are_reached() -> None:
    added = Added()
    for name, facts in (
        ("escalation", LIMIT),
        ("escalation", {**LIMIT, "times": 2}),
        ("escalation", {"state": "quota", "why": "the limit should be free again"}),
        ("cleared", {**LIMIT, "blocked_s": 7_200, "by": "by itself"}),
        ("escalation", LIMIT),
        ("limit", {"why": "3 recoveries in this iteration, 3 are allowed", "state": "waiting", "item": 4}),
        ("auto_stop", {"reason": "stall_limit"}),
    ):
        added.tell(name, **facts)
    assert added.of("limits") == [(("usage",), 1), (("usage",), 1), (("help",), 1)]
    added.tell("cleared", 60, **WAITS, blocked_s=80, by="typed there")
    assert added.of("answer_seconds")[-1] == (CLAUDE, 60), "a limit tells of the prompt as well"


def test_the_end_of_a_turn_says_what_a_policys_own_reason_is_about() -> None:
    added = Added()
    added.tell("escalation", 10, state="idle", ended_turn={"how": "asks"}, why="it asks again")
    added.tell("cleared", 40, what="asks", agent="claude", blocked_s=90, by="typed there")
    assert added.of("answer_seconds") == [(("asks", "claude", "typed_there"), 30)]


def test_restarts_are_done_or_failed() -> None:
    added = Added()
    for outcome in ("cleared", "unchanged", "refused", None):
        added.tell("restart", outcome=outcome)
    assert [labels for labels, _ in added.of("restarts")] == [("done",), *[("failed",)] * 3]


def test_whatever_programs_are_called_there_are_not_many_labels() -> None:
    added = Added()
    for number in range(1_000):
        added.tell("cleared", by="somebody", blocked_s=1, kind="confirm", agent=f"agent{number}")
    added.tell("cleared", by="somebody", blocked_s=1, kind="confirm", agent='"} evil{\n')
    found = {labels for labels, _ in added.of("blocked_seconds")}
    assert len(found) <= SERIES + 2 and not any("evil" in one for labels in found for one in labels)
    assert {answerer for _, _, answerer in found} == {"person"}, "people are not told apart"


def a_night() -> Iterable[Event]:
    """Two sessions of a night, each event a minute after the one before it."""
    shown = {"state": "waiting", "signature": "yes_no"}
    for name, target, facts in (
        ("start", "", {}),
        ("detection", "tmux:one", shown),
        ("escalation", "tmux:one", {**shown, **WAITS, "waited_s": 60.0}),
        ("cleared", "tmux:one", {**WAITS, "blocked_s": 120.0, "by": "typed there"}),
        ("escalation", "tmux:two", {"state": "quota", **LIMIT, "waited_s": 0.0}),
        ("escalation", "tmux:two", {"state": "quota", "why": "the limit should be free again"}),
        ("cleared", "tmux:two", {**LIMIT, "blocked_s": 120.0, "by": "by itself"}),
        ("restart", "tmux:one", {"outcome": "cleared"}),
        ("restart", "tmux:one", {"outcome": "refused"}),
        ("limit", "tmux:one", {**shown, "why": "enough", "item": 1}),
        ("auto_stop", "tmux:one", {"why": "enough"}),
        ("cleared", "tmux:one", {**WAITS, "blocked_s": 300.0, "by": "ada"}),
        ("stop", "", {}),
    ):
        yield event(name, target, **facts)


def test_a_report_of_the_log_says_the_same() -> None:
    added, lines = Added(), []
    for minute, one in zip(count(), a_night()):
        added.tell(one.name, 60.0 * minute, one.target, **one.facts)
        lines.append(dump(one) | {"time": f"2026-11-22T03:{minute:02}:00+00:00"})
    report = reported(lines)
    sessions = report.sessions.values()
    limits = {name: sum(one.limits[name] for one in sessions) for name in ("usage", "help")}
    assert limits == {name: len([1 for (what,), _ in added.of("limits") if what == name]) for name in limits}
    restarts = [outcome for (outcome,), _ in added.of("restarts")]
    assert (restarts.count("done"), restarts.count("failed")) == (
        sum(one.restarts for one in sessions),
        sum(one.restarts_failed for one in sessions),
    )
    blocked = sorted(wait.blocked_s(0) for one in sessions for wait in one.waits)
    assert blocked == sorted(value for _, value in added.of("blocked_seconds")) == [120, 120, 300]
    assert [value for _, value in added.of("answer_seconds")] == [60, 120, 120]
