"""When a limit is free again: tables of what screens say, and that no text makes it raise."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit import Engine, Screen
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.judging.judge import judge
from stallkit.press.resets import reset_time, resets_at

CET = timezone(timedelta(hours=1))
NOW = datetime(2026, 11, 22, 20, 0, tzinfo=CET)


TIMES = {
    "You've hit your session limit · resets 9pm": "2026-11-22T21:00:00+01:00",
    "5-hour limit reached ∙ resets 8:10am": "2026-11-23T08:10:00+01:00",
    "hit your 5-hour limit · resets 8:21am (UTC)": "2026-11-23T08:21:00+00:00",
    "hit your weekly limit · resets Nov 25, 8:07am (UTC)": "2026-11-25T08:07:00+00:00",
    "resets Jan 2, 12am (UTC)": "2027-01-02T00:00:00+00:00",
    "resets 12pm (UTC)": "2026-11-23T12:00:00+00:00",
    "limit resets\n   8:21am": "2026-11-23T08:21:00+01:00",
    "resets 7pm (Europe/London)": "2026-11-23T19:00:00+00:00",
    "You've hit your usage limit, try again at 3:45 PM.": "2026-11-23T15:45:00+01:00",
    "or try again at Dec 1st, 2026 9:30 AM.": "2026-12-01T09:30:00+01:00",
    "try again in 2 hours and 5 minutes": "2026-11-22T22:05:00+01:00",
    "API error · retrying in 39s · attempt 1/10": "2026-11-22T20:00:39+01:00",
    "Rate limit reached for requests [retrying in 3s attempt #2]": "2026-11-22T20:00:03+01:00",
    "resets at 2026-11-25T10:00:00Z": "2026-11-25T10:00:00+00:00",
    "resets 23:15": "2026-11-22T23:15:00+01:00",
    "limit reached": None,
    "try again in a moment": None,
    "try again later": None,
    "resets 3": None,
    "resets 25:00": None,
    "resets 13pm": None,
    "resets Feb 31, 8am": None,
    "resets 8am (Middle/Earth)": None,
    "the meeting is at 9pm": None,
    "try again in 99999999999999 days": None,  # beyond measure
}


def test_what_screens_say() -> None:
    found = {text: reset_time(text, NOW) for text in TIMES}
    assert {text: when and when.isoformat() for text, when in found.items()} == TIMES
    with pytest.raises(ValueError, match="no zone"):
        reset_time("resets 9pm", datetime(2026, 11, 22))


@given(
    st.one_of(st.text(), st.from_regex(r"(resets|try again|retrying) (in|at)? ?[\d:apm, ]{0,12}(\([A-Za-z/]{0,12}\))?"))
)
def test_no_text_makes_it_raise_and_a_clock_time_is_to_come(text: str) -> None:
    found = reset_time(text, NOW)
    assert found is None or found.tzinfo is not None


def test_a_quota_verdict_says_it_and_another_does_not() -> None:
    rule = "─" * 30
    screen = f"❯ go on\n\n● You've hit your session limit · resets 9pm\n\n{rule}\n❯ \n{rule}\n  ? for shortcuts"
    shown = Screen.from_text(screen, cursor=(2, 5), cursor_visible=False)
    verdict = judge(Engine.default().detect(shown), Snapshot(screen=shown, process=ProcessFacts("claude")))
    found = resets_at(verdict, NOW)
    assert str(verdict.state) == "quota" and found is not None and found.hour == 21
    quiet = Screen.from_text("Go on until it resets 9pm? [y/N] ", cursor=(33, 0))
    assert resets_at(judge(Engine.default().detect(quiet), Snapshot(screen=quiet)), NOW) is None
