"""The counters of agents at work, as their screens show them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.press.hang import TurnCounters, turn_counters
from stallkit.terminal.screen import Screen


@pytest.mark.parametrize(
    ("row", "elapsed_s", "tokens"),
    [
        ("• Working (3s • esc to interrupt)", 3, None),
        ("◦ Working (1m 02s • esc to interrupt)", 62, None),
        ("⠦ Dividing by zero... just kidding! (esc to cancel, 2s)", 2, None),
        ("⠙ Thinking... (esc to cancel, 1m 15s)", 75, None),
        ("⠴ Thinking... (esc to cancel)", None, None),
        ("✽ Boondoggling… (3s · ↓ 163 tokens)", 3, "163"),
        ("✻ Herding… (1h 2m 3s · ↑ 1.2k tokens · esc to interrupt)", 3723, "1.2k"),
        (" ◎ Working · 100 B   esc esc interrupt", None, "100"),
        (" ■■■⬝⬝⬝⬝⬝  esc interrupt      2.2K", None, None),
        ("⠽⠺⠫ ( 3s • esc to interrupt )", 3, None),
        (". Tuning the cosmic frequencies... (7s · esc to cancel)", 7, None),
        ("I waited (12s) for it.", None, None),
        ("", None, None),
    ],
)
def test_what_they_count(row: str, elapsed_s: float | None, tokens: str | None) -> None:
    screen = Screen.from_text(f"● Done.\n\n{row}\n\n────────────────────\n❯ \n────────────────────\n  ? for shortcuts")
    assert turn_counters(screen) == TurnCounters(elapsed_s, tokens)


def test_of_several_the_lowest_counts() -> None:
    screen = Screen.from_text("It showed (9m 1s · esc to interrupt).\n\n✽ Herding… (4s · thinking)\n\n❯ ")
    assert turn_counters(screen).elapsed_s == 4


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    turn_counters(Screen.from_text(text))
