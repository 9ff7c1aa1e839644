"""What says that a program goes on by itself, and what only speaks of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.evidence.turn import _NEEDS, _tries, retrying
from stallkit.packs.registry import installed_engine
from stallkit.terminal.screen import Screen

COMPOSER = "\n\n────────────────────\n❯ \n────────────────────\n  esc to interrupt"


@pytest.mark.parametrize(
    "row",
    [
        "✻ API error · Retrying in 2s · attempt 3/10",
        "✻ 529 Overloaded · retrying in 1s · attempt",  # cut off at the right
        "  ⎿  API Error (500 Internal server error) · Retrying in 4 seconds… (attempt 4/10)",
        "● Usage limit reached · set to continue automatically at 8:21am",
        "⚠ Usage limit reached · continuing automatically at 8:07am · esc to cancel",
        "• Reconnecting... 1/5 (4s • esc to interrupt)",
        "⠧ Trying to reach gemini-2.5-pro (Attempt 2/10) (esc to cancel, 3s)",
        "↻ Retrying in 3 seconds… (attempt 1/10)",
        "  ⬝⬝⬝⬝ Overloaded [retrying in 3s attempt #2]",
        "● Request failed due to a transient API error. Retrying...",
        "⠴ Retrying (2/3) in 4s... (escape to cancel)",
        "Retrying in 0.2 seconds...",
    ],
)
def test_it_says_so(row: str) -> None:
    found = retrying(Screen.from_text(f"❯ go on\n\n{row}{COMPOSER}"), installed_engine().words)
    assert found is not None and found in row


@pytest.mark.parametrize(
    "text",
    [
        "● Done.",
        "● Request failed due to a transient API error. Retrying...\n\n● Done.",
        "✻ API error · Retrying in 2s · attempt 3/10\n\n❯ and now?\n\n● Done.",
        "❯ why does it say retrying in 4s (attempt 2/10)?",
        "● It reconnects, and is retrying now and then.",
        "● Usage limit reached · set to continue automatically at 8:07am\n● Automatic continue stopped · too far",
        "● Usage limit reached · set to continue automatically at 8:07am\n  the task will not resume on its own",
    ],
)
def test_it_does_not(text: str) -> None:
    assert retrying(Screen.from_text(f"{text}{COMPOSER}"), installed_engine().words) is None


@given(data=st.data())
def test_no_row_that_says_so_is_left_unread(data: st.DataObject) -> None:
    row = data.draw(st.from_regex(re.compile(_tries.goes_on.pattern, re.IGNORECASE)))
    assert any(piece in row.lower() for piece in _NEEDS)
