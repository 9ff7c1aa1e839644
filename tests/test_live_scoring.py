"""How the rounds of `scripts/live` are scored: what counts as told, as told wrong, as a wrong key, as cleared."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
T = 1_800_000_000.0  # when everything begins


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "corpora" / "agents"))
    return Live()


class Live:
    """The modules, and rounds of one moment."""

    def __init__(self) -> None:
        self.truth = importlib.import_module("live_agents.truth")
        self.scoring = importlib.import_module("live_agents.scoring")

    def moment(self, what: str | None, **more: Any) -> Any:
        named = {"actor": "a", "agent": "claude", "scene": "permission", "appeared": T, "ended": T + 20}
        return self.truth.Moment(**{**named, "what": what, **more})

    def result(self, moment: Any, *events: dict[str, Any], policy: str = "careful") -> Any:
        round_ = self.truth.Round(policy, 1, 30.0, [moment], events)
        (found,) = self.scoring.results(round_)
        return found


def event(after: float, name: str, **facts: Any) -> dict[str, Any]:
    at = datetime.fromtimestamp(T + after, UTC).isoformat(timespec="milliseconds")
    return {"version": 1, "time": at, "event": name, "target": "tmux:a", **facts}


def test_a_notice_counts_from_what_appeared_and_only_of_that(live: Live) -> None:
    waits = live.moment("waits")
    found = live.result(waits, event(3, "escalation", what="waits"))
    assert (round(found.told_s, 3), found.in_time, found.wrong) == (3.0, True, ())
    assert not live.result(waits, event(11, "escalation", what="waits")).in_time
    assert not live.result(waits, event(3, "detection")).in_time
    found = live.result(waits, event(3, "escalation", what="failed", why="it failed"))
    assert (found.in_time, found.wrong) == (False, ("failed: it failed",))
    late = event(1, "escalation", what="asks", why="a question")
    assert live.result(waits, late, event(4, "escalation", what="waits")).wrong == ("asks: a question",)
    asked = live.moment("asks", appeared=T - 20, ended=T - 5)
    round_ = live.truth.Round("careful", 1, 30.0, [asked, waits], [late, event(3, "escalation", what="asks")])
    assert [len(one.wrong) for one in live.scoring.results(round_)] == [0, 1], "of before, soon after it ended"


def test_nothing_is_told_of_what_is_done(live: Live) -> None:
    assert live.result(live.moment(None), event(3, "done")).wrong == ()
    found = live.result(live.moment(None), event(3, "escalation", why="doubtful"))
    assert found.wrong == ("a reason of its own: doubtful",)


def test_what_hangs_is_told_after_its_limit_and_not_before(live: Live) -> None:
    hung = live.moment("hung", ended=T + 70)
    found = live.result(hung, event(45, "escalation", what="hung"))
    assert (round(found.told_s, 3), found.in_time, found.wrong) == (15.0, True, ())
    assert not live.result(hung, event(61, "escalation", what="hung")).in_time
    assert live.result(hung, event(10, "escalation", what="hung")).wrong == ("too early",)


def test_keys_count_by_the_log_and_by_what_the_agent_heard(live: Live) -> None:
    allowed = live.moment("waits", allows=["Enter"], taken=["Enter"])
    pressed = event(2, "dismissal", keys="Enter", outcome="cleared")
    found = live.result(allowed, pressed)
    assert (found.answered, found.in_time, found.wrong_keys) == (True, True, ())
    assert live.result(live.moment("waits"), pressed).wrong_keys == ("Enter",)
    assert live.result(live.moment("waits", taken=["yes"])).wrong_keys == ("yes",), "no log says who typed it"
    refused = event(2, "dismissal", keys=None, outcome="refused")
    assert not live.result(allowed, refused).wrong_keys
    assert not live.result(live.moment("waits", allows=["Enter"]), refused).answered


def test_what_the_policy_said_that_it_would_do_is_done(live: Live) -> None:
    says = event(2, "escalation", what="asks", why="policy daemon sends 'yes' in 6 s, if it is still there")
    doubts = event(2, "escalation", what="asks", why="policy daemon sends 'yes' only where that is safe: no composer")
    refused, sent = event(8, "send", outcome="refused"), event(9, "send", outcome="cleared", text="yes")
    found = [live.result(live.moment("asks"), *one).broken for one in ([says, refused], [says, refused, sent], [says])]
    assert found == [True, False, False]
    assert not live.result(live.moment("asks"), doubts, refused).broken


def test_a_turn_that_ends_well_is_told_by_an_event_of_its_own(live: Live) -> None:
    done = live.moment("done")
    assert live.result(done, event(3, "done", what="done")).in_time
    assert not live.result(done, event(3, "escalation", what="hung")).in_time


def test_cleared_counts_from_the_answer_until_the_next_moment(live: Live) -> None:
    answered = live.moment("asks", answered=T + 10, ended=T + 10)
    found = live.result(answered, event(2, "escalation", what="asks"), event(13, "cleared", what="asks"))
    assert round(found.cleared_s, 3) == 3.0
    later = live.moment("waits", appeared=T + 12, ended=T + 30)
    clears = [event(13, "cleared", what="asks"), event(32, "cleared", what="asks"), event(31, "cleared", what="waits")]
    for events, times in ((clears, [3.0, 1.0]), (clears[1:], [None, 1.0])):
        round_ = live.truth.Round("careful", 1, 30.0, [answered, later], events)
        assert [one.cleared_s and round(one.cleared_s, 3) for one in live.scoring.results(round_)] == times


def test_events_of_one_change_are_counted_without_reminders(live: Live) -> None:
    said = [event(1, "detection", state="working"), event(2, "detection", state="waiting")]
    said += [event(2, "escalation", what="waits", times=1)]
    reminded = event(9, "escalation", what="waits", times=2)
    assert live.result(live.moment("waits"), *said, reminded).events == 2
    assert live.result(live.moment("waits"), *said, event(4, "detection", state="working"), reminded).events == 3


def test_what_is_said_between_moments_is_stray(live: Live) -> None:
    events = [event(30, "escalation", what="waits"), event(31, "detection"), event(-5, "dismissal", keys="y Enter")]
    round_ = live.truth.Round("careful", 1, 30.0, [live.moment("waits")], events)
    assert [one["event"] for one in live.scoring.stray(round_)] == ["escalation", "dismissal"]
    told = {figure.name: (figure.value, figure.holds) for figure in live.scoring.figures([round_])}
    assert told["reported though nothing was there"] == ("1 of 1", False)
    assert told["wrong keys"] == ("1 of 1", False)
    assert told["waits: reported"] == ("0 of 1", False)


def test_the_turn_before_may_be_done_only_now_and_a_loop_starts_a_killed_agent_again(live: Live) -> None:
    said = [event(1, "done"), event(2, "detection", state="working"), event(40, "escalation", what="hung")]
    assert live.result(live.moment("hung", ended=T + 60), *said).events == 2
    again = [event(50, "escalation", what="waits")]
    for what, found in (("ended", []), ("waits", again)):
        assert live.scoring.stray(live.truth.Round("careful", 1, 30.0, [live.moment(what)], again)) == found


def test_a_round_is_kept_as_lines_and_read_again(live: Live) -> None:
    moments = [live.moment("waits", allows=["Enter"]), live.moment(None, reached=False)]
    round_ = live.truth.Round("rules", 2, 30.0, moments, [event(3, "escalation", what="waits")])
    assert live.truth.read(live.truth.written(round_).splitlines()) == round_
