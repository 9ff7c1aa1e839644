"""The short form of the soak part `inserted`: every figure holds."""

from __future__ import annotations

from pathlib import Path

from soak.inserted import PART, Inserted
from soak.parts import Run

from stallkit.core.screen import Cursor, Screen


def test_every_figure_holds(tmp_path: Path) -> None:
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures
    assert not [figure for figure in figures if not figure.holds]


def test_a_line_moves_the_cursor_that_stands_below_it() -> None:
    screen = Screen.from_text("one\ntwo\nAsk? ", cursor=(5, 2), size=(80, 24))
    above, below = Inserted.into(screen, "new", 1), Inserted.into(screen, "new", 3)
    assert (above.screen.lines, above.screen.cursor) == (("one", "new", "two", "Ask? "), Cursor(5, 3))
    assert (below.screen.lines, below.screen.cursor) == (("one", "two", "Ask? ", "new"), Cursor(5, 2))
    within = Inserted.into(screen, "new", 0, 1)
    assert (within.screen.lines, within.screen.cursor) == (("onewne", "two", "Ask? "), Cursor(5, 2))
