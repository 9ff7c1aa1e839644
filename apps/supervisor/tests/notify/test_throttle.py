"""What is held back is told once, in a summary; nothing is told that is over, and nothing is lost."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_supervisor.notify.throttle import NoticeLimits, QuietHours, Throttle, TokenBucket
from told_events import SECRET, event

from stallkit import dump
from stallkit.press.events import Event

ZONE = ZoneInfo("Europe/Vienna")
DAY = datetime(2026, 11, 23, 12, 0, tzinfo=ZONE)
NIGHT = QuietHours.parse("22:00-07:00")


class Clock:
    """A throttle, and the clock it is driven by."""

    def __init__(self, limits: NoticeLimits, at: datetime = DAY) -> None:
        self.throttle, self.start, self.seconds = Throttle(limits), at, 0.0
        self.gone_out: list[tuple[float, Event]] = []  # each with when it went

    @property
    def local(self) -> datetime:
        return (self.start.astimezone(UTC) + timedelta(seconds=self.seconds)).astimezone(ZONE)

    def tell(self, name: str = "escalation", target: str = "tmux:w1", **facts: object) -> list[Event]:
        return self._went(self.throttle.take(event(name, target, **facts), self.seconds, self.local))

    def later(self, seconds: float) -> list[Event]:
        """What goes out until then, where it is looked whenever the throttle says so."""
        end, gone_out = self.seconds + seconds, list[Event]()
        while (wait := self.throttle.wait_s(self.seconds, self.local)) is not None and self.seconds + wait < end:
            self.seconds += max(wait, 0.001)
            gone_out += self._went(self.throttle.tick(self.seconds, self.local))
        self.seconds = end
        return gone_out + self._went(self.throttle.tick(self.seconds, self.local))

    def _went(self, events: list[Event]) -> list[Event]:
        self.gone_out += [(self.seconds, one) for one in events]
        return events


def names(events: list[Event]) -> list[str]:
    return [one.name for one in events]


def test_beyond_a_limit_notices_come_as_one_summary() -> None:
    clock = Clock(NoticeLimits(per_session=2, overall=5, window_s=300))
    assert [names(clock.tell(what="waits")) for _ in range(14)] == [["escalation"]] * 2 + [[]] * 12
    [summary] = clock.later(300)
    assert summary.facts["why"] == "12 more in 5 min: w1 12"
    assert (summary.facts["count"], summary.facts["over"]) == (12, 0)
    assert clock.later(3_600) == [], "it is told once"
    clock = Clock(NoticeLimits(per_session=2, overall=4, window_s=300))
    told = [bool(clock.tell(target=f"tmux:w{number}{SECRET}"[:60])) for number in range(8)]
    assert told == [True] * 4 + [False] * 4, "all together have a limit"
    [summary] = clock.later(300)
    assert summary.facts["why"].startswith("4 more in 5 min: ") and SECRET not in str(dump(summary))


def test_one_session_leaves_room_for_the_others() -> None:
    clock = Clock(NoticeLimits(per_session=2, overall=4, window_s=300))
    for _ in range(100):
        clock.tell(target="tmux:noisy")
    assert names(clock.tell(target="tmux:w2")) == ["escalation"]


def test_what_is_cleared_meanwhile_is_said_to_be_over_and_what_was_never_told_is_not() -> None:
    clock = Clock(NoticeLimits(per_session=1, overall=1, window_s=60))
    assert clock.tell("cleared") == []
    for target in ("tmux:w1", "tmux:w2", "tmux:w3"):
        clock.tell(target=target)
    assert [names(clock.tell("cleared")) for _ in range(2)] == [["cleared"], []], "its notice went out"
    assert clock.tell("cleared", "tmux:w2") == [], "its notice did not"
    [summary] = clock.later(60)
    assert summary.facts["why"] == "2 more in 1 min: w3, w2 (over); 1 of them over"
    assert clock.tell("cleared", "tmux:w2") == []
    assert names(clock.tell("cleared", "tmux:w3")) == ["cleared"], "the summary told of it"


def test_the_events_of_a_run_all_go_out() -> None:
    clock = Clock(NoticeLimits(per_session=1, overall=1, quiet=NIGHT), DAY.replace(hour=23))
    assert all(clock.tell("run_waiting", "run:1") for _ in range(50))


TELLINGS = st.lists(
    st.tuples(st.sampled_from(["escalation", "cleared"]), st.integers(0, 3), st.floats(0, 400)), max_size=60
)


@given(TELLINGS, st.integers(1, 4), st.integers(1, 6), st.sampled_from([None, "12:10-12:40"]))
def test_every_notice_goes_out_or_is_in_one_summary(
    tellings: list[tuple[str, int, float]], per_session: int, overall: int, quiet: str | None
) -> None:
    hours = QuietHours.parse(quiet) if quiet else None
    clock = Clock(NoticeLimits(per_session, overall, 300, hours))
    for name, number, pause in tellings:
        clock.later(pause)
        clock.tell(name, f"tmux:w{number}")
    clock.later(7_200)
    notices = [(at, one) for at, one in clock.gone_out if one.name == "escalation"]
    summaries = [(at, one) for at, one in clock.gone_out if one.name == "summary"]
    assert sum(name == "escalation" for name, _, _ in tellings) == len(notices) + sum(
        one.facts["count"] for _, one in summaries
    )
    assert clock.throttle.wait_s(clock.seconds, clock.local) is None
    for at, _ in notices:
        assert sum(at <= other <= at + 300 for other, _ in notices) <= 2 * overall, "never more than a bucket, twice"
    if hours is not None:
        times = [clock.start + timedelta(seconds=at) for at, _ in notices + summaries]
        assert not any(hours.holds(one) for one in times)


def test_in_quiet_hours_notices_wait_for_the_morning() -> None:
    clock = Clock(NoticeLimits(quiet=NIGHT), DAY.replace(hour=21, minute=59))
    assert names(clock.tell()) == ["escalation"]
    clock.later(120)
    assert [clock.tell(target=f"tmux:w{number}", what="waits") for number in range(3)] == [[]] * 3
    assert clock.later(8 * 3600) == []
    [summary] = clock.later(3_600)
    assert summary.facts["held"] == "quiet hours" and summary.facts["why"] == "3 more in 8 h 59 min: w0, w1, w2"


def test_some_break_through() -> None:
    limits = NoticeLimits(quiet=NIGHT, quiet_except=frozenset({"failed", "gone"}))
    clock = Clock(limits, DAY.replace(hour=3))
    assert [bool(clock.tell(what=what)) for what in ("waits", "failed", "asks")] == [False, True, False]
    assert names(clock.tell("gone")) == ["gone"]


def test_at_the_end_it_is_said_how_many_were_not_told() -> None:
    clock = Clock(NoticeLimits(quiet=NIGHT), DAY.replace(hour=3))
    for _ in range(3):
        clock.tell()
    assert clock.throttle.close(clock.seconds, clock.local) == ([], 3)
    clock = Clock(NoticeLimits(per_session=1))
    clock.tell(), clock.tell()
    events, untold = clock.throttle.close(clock.seconds, clock.local)
    assert (names(events), untold) == (["summary"], 0)


def test_a_night_in_which_the_clocks_change_ends_at_the_same_time() -> None:
    for night, hours in (("2026-03-28", 8), ("2026-10-24", 10), ("2026-11-23", 9)):
        begin = datetime.fromisoformat(night).replace(hour=22, tzinfo=ZONE)
        clock = Clock(NoticeLimits(quiet=NIGHT), begin)
        clock.tell()
        assert clock.later(hours * 3600 - 60) == [], night
        assert names(clock.later(120)) == ["summary"] and clock.local.time() >= time(7, 0), night


@given(st.times(), st.times(), st.times())
def test_quiet_hours_are_those_of_the_clock(start: time, end: time, now: time) -> None:
    start, end = start.replace(second=0, microsecond=0), end.replace(second=0, microsecond=0)
    if start == end:
        return
    quiet, loud = (QuietHours.parse(f"{a:%H:%M}-{b:%H:%M}") for a, b in ((start, end), (end, start)))
    at = datetime.combine(DAY.date(), now, ZONE)
    assert quiet.holds(at) != loud.holds(at), "one or the other, at any time"
    assert quiet.holds(datetime.combine(DAY.date(), start)) and not quiet.holds(datetime.combine(DAY.date(), end))


def test_what_are_no_hours_is_refused() -> None:
    for bad in ("", "22:00", "22-07", "22:00-24:00", "25:00-07:00", "22:00-22:00", "ten to six", "-"):
        with pytest.raises(ValueError, match="quiet"):
            QuietHours.parse(bad)


@given(st.integers(1, 5), st.floats(1, 100), st.lists(st.floats(-5, 50), max_size=50))
def test_a_bucket_gives_its_size_and_what_came_back(size: int, window_s: float, pauses: list[float]) -> None:
    bucket, now, taken, passed = TokenBucket(size, window_s), 0.0, 0, 0.0
    for pause in pauses:
        now, passed = now + pause, passed + max(pause, 0)  # a clock may go back
        if bucket.refilled(now) >= 1:
            bucket.tokens, taken = bucket.tokens - 1, taken + 1
        assert 0 <= bucket.tokens <= size
    assert taken <= size + size * passed / window_s + 1e-6
