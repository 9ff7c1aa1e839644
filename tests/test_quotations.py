"""Text that only mentions a prompt is no prompt: pages full of them, shown as a program would print them (A12)."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest

from stallkit import Engine, Screen, Snapshot, Verdict, judge
from stallkit.press.policy import Press
from stallkit.press.policy_file import PROFILES

ROOT = Path(__file__).parent.parent
ROWS, COLUMNS = 24, 80
STEP = 3  # rows that the page scrolls between two looks: each row is seen in eight places

# Prose that quotes prompts on nearly every line ...
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("plugins/*/README.md"))]
# ... and dialogs in full, row by row as they look when they are live.
SCREENS = sorted(ROOT.glob("plugins/*/src/*/signatures.toml"))


def windows(page: Path) -> Iterator[Screen]:
    """Screens on which the page scrolls by, the cursor below what was printed."""
    lines = [line[:COLUMNS] for line in page.read_text().splitlines()]
    for start in range(0, max(1, len(lines) - ROWS + 2), STEP):
        shown = lines[start : start + ROWS - 1]
        yield Screen.from_text("\n".join(shown), cursor=(0, len(shown)), size=(COLUMNS, ROWS), cursor_visible=True)


def verdicts(engine: Engine, page: Path) -> Iterator[Verdict]:
    for screen in windows(page):
        look = Snapshot(screen=screen)
        yield judge(engine.detect(screen), look, [look])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_that_scrolls_by_asks_nothing(engine: Engine, page: Path) -> None:
    assert not [verdict.reasons for verdict in verdicts(engine, page) if verdict.state == "waiting"]


@pytest.mark.parametrize("page", SCREENS, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_policy_presses_a_key_at_a_printed_dialog(engine: Engine, page: Path) -> None:
    found = list(verdicts(engine, page))
    assert not [v.reasons for v in found for policy in PROFILES.values() if isinstance(policy.decide(v), Press)]
    few = len(found) / 20  # a dialog in full at the bottom of the screen, the cursor below: no look can tell those
    assert sum(verdict.state == "waiting" for verdict in found) < few


def test_the_same_prompt_at_the_cursor_is_one(engine: Engine) -> None:
    """The check above can fail: the page ends in a live prompt."""
    lines = [*(ROOT / "README.md").read_text().splitlines()[:20], "Proceed? [y/N] "]
    screen = Screen.from_text("\n".join(lines), cursor=(15, 20), size=(COLUMNS, ROWS), cursor_visible=True)
    look = Snapshot(screen=screen)
    assert judge(engine.detect(screen), look, [look]).state == "waiting"
