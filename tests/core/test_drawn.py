"""Words that are drawn: of signs over several rows, or of colours; and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.core.consequences import consequence
from stallkit.core.drawn import draws, painted

STROKES = r"""
 ____  _____ _
|  _ \| ____| |
| | | |  _| | |
| |_| | |___| |___
|____/|_____|_____|
"""
PICTURES = [
    STROKES,
    "####  #### #\n#   # #    #\n####  #### ####",
    "█▀▄ █▀▀ █   █▀▀\n█ █ █▀▀ █   █▀▀\n▀▀  ▀▀▀ ▀▀▀ ▀▀▀",
    "┌───────────┐\n│ █▀▄ █▀▀ █ │\n│ █ █ █▀▀ █ │\n└───────────┘",
    "┳┓┏┓┓ ┏┓┏┳┓┏┓\n┃┃┣ ┃ ┣  ┃ ┣\n┻┛┗┛┗┛┗┛ ┻ ┗┛",
    "lqk lqq k   lqq qwq\nx x tq  x   tq   x",  # box drawing, as tmux captures the letters that stand for it
    'mmmm   mmmmmm m\n#   "m #      #\n#    # #mmmmm #',
    "111  222 3   333\n1  1 22  3   33\n111  222 333 333",
    "WWW  WWW III PPPP  EEEE\nWW WW WW III P     E",
]
NONE = [
    "",
    "The tour has two parts.\n\n  * one\n  * two",
    "==========\n  Title\n==========",
    "* * *\n\n* * *",
    "+----+----+\n|    |    |\n+----+----+\n| ab | cd |\n+----+----+",
    "┌────┬────┐\n│    │    │\n├────┼────┤\n│ ab │ cd │\n└────┴────┘",
    "[########  ] 80 %\n[#######   ] 70 %",
    "────────────────\n────────────────",
    "   |        ^^^^^\n   |\n   = note: unused",
    "  }\n});\n}",
    "1 | 2 | 3\n4 | 5 | 6",
    "████████████\n████████████",
]
RED, PLAIN = "\033[41m", "\033[49m"
LETTERS = f"{RED}  {PLAIN} {RED} {PLAIN}  {RED}   {PLAIN} {RED} {PLAIN}"


@pytest.mark.parametrize("text", PICTURES)
def test_words_may_be_drawn(text: str) -> None:
    assert draws(text)
    assert consequence(f"{text}\nPress any key to continue...") == "words may be drawn on its rows"


@pytest.mark.parametrize("text", NONE)
def test_nothing_is_drawn(text: str) -> None:
    assert not draws(text)


@pytest.mark.parametrize(
    "rows",
    [
        [LETTERS] * 3,
        [LETTERS.replace("41", "48;5;196")] * 2,
        [LETTERS.replace("41", "48;2;200;0;0")] * 2,
        [LETTERS.replace("41", "48:2::200:0:0")] * 2,
        [LETTERS.replace("41", "7").replace("49", "27")] * 2,
        [LETTERS.replace("41", "1;31;101").replace("49", "")] * 2,
        [LETTERS.replace("41", "4").replace("49", "24")] * 2,
        [LETTERS.replace("41", "9").replace("49", "29")] * 2,
        ["plain", f"{RED}a{PLAIN}b{RED}c{PLAIN}d{RED}e{PLAIN}f{RED}g{PLAIN}", LETTERS],
    ],
)
def test_words_may_be_painted(rows: list[str]) -> None:
    assert painted(rows)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        ["plain", "rows"],
        [LETTERS, "plain", LETTERS],
        [f"{RED}a whole row{PLAIN}"] * 20,
        ["\033[44m   \033[47m  a box  \033[40m  \033[44m   "] * 9,
        ["\033[31mred\033[39m \033[32mgreen\033[39m \033[1mbold\033[0m \033[4munder\033[24m"] * 9,
        ["\033[4mone\033[24m \033[4mtwo\033[24m \033[4mthree\033[24m \033[4mfour\033[24m"] * 9,
        ["\033[38;5;41ma\033[38;5;42mb\033[38;5;43mc\033[38;5;44md\033[38;5;45me\033[38;5;46mf\033[38;5;47mg"] * 9,
    ],
)
def test_nothing_is_painted(rows: list[str]) -> None:
    assert not painted(rows)


@given(st.lists(st.text(alphabet="\033[;:m0124789 ab")))
def test_any_row_can_be_looked_at(rows: list[str]) -> None:
    painted(rows)
    draws("\n".join(rows))
