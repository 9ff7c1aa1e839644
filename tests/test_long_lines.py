"""Lines of any length above a prompt hide none: each is bounded by itself, and the prompt keeps its kind."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from terminals import Server

from stallkit import Engine, Screen, Snapshot
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.look import names_secret
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.packs.screenfile import read_screen
from stallkit.press.check import check_session
from stallkit.terminal.screen import MAX_COLUMNS, MAX_TEXT, join_wraps
from stallkit.terminal.text import cells
from stallkit.testing.strategies import Physical

FULL = 200 * 40  # columns: a whole screen that is one wrapped line
ALPHABETS = {
    "letters": "a",
    "words": "lorem ipsum ",
    "wide": "漢字",
    "cyrillic": "Слово ",
    "right to left": "مرحبا ",
    "combining": "e\u0301\u0302",
    "emoji": "🙂",
    "frames": "─│",
    "dashes": "-",
    "bullets": "* ",
    "numbers": "1. ",
    "dots": ". ",
    "keys": "[y/N] ",
}
# These look like parts of a menu: a line of them may make it another menu, but it still waits.
MARKS = {"selected": "❯ ", "asked": "? ", "ticked": "[x] "}
HITS = [
    sorted(folder.glob("hit*.txt"))[0]
    for folder in sorted(Path(__file__).parent.parent.glob("plugins/*/src/*/screens/*"))
    if any(folder.glob("hit*.txt"))
]


def long(alphabet: str, columns: int = FULL) -> str:
    return (alphabet * columns)[: columns * len(alphabet) // cells(alphabet)]


def below(lines: list[str], hit: Path) -> Screen:
    """The screen of a hit with lines above it, as a terminal of 200 columns shows it."""
    shown = Physical.of(read_screen(hit).snapshot().screen).under(lines)
    size = (200, len(shown.lines)) if shown.columns else None
    return Screen.from_text("\n".join(shown.lines) + "\n", shown.cursor, size, shown.visible, shown.title)


def verdict(engine: Engine, screen: Screen) -> Verdict:
    return judged(engine, Snapshot(screen=screen))


def test_a_prompt_keeps_its_kind_below_long_lines(engine: Engine) -> None:
    """Each signature's first hit, below two of the alphabets, one line and two; other hits have others."""
    names, wrong = list(ALPHABETS), []
    for hit in HITS:
        plain = verdict(engine, read_screen(hit).snapshot().screen)
        assert plain.match is not None, hit
        first = zlib.crc32(hit.name.encode()) % len(names)
        for name in (names[first], names[first - 5]):
            for lines in ([long(ALPHABETS[name])], [long(ALPHABETS[name], 60_000), "", long(ALPHABETS[name])]):
                found = verdict(engine, below(lines, hit))
                if (found.state, found.kind) != (plain.state, plain.kind) or found.detection.undecided:
                    wrong.append((hit.parent.name, name, len(lines), found.reasons))
    assert not wrong


def test_a_prompt_still_waits_below_a_line_of_marks(engine: Engine) -> None:
    wrong = []
    for hit in HITS[::4]:
        plain = verdict(engine, read_screen(hit).snapshot().screen)
        below_marks = {name: verdict(engine, below([long(marks)], hit)).state for name, marks in MARKS.items()}
        wrong += [(hit.parent.name, name) for name, state in below_marks.items() if state != plain.state]
    assert not wrong


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
def test_the_prompt_at_the_end_of_a_long_line_is_seen(alphabet: str, engine: Engine) -> None:
    """As a transport joins the rows of a terminal: the cursor counts in columns, the lines are cut in characters."""
    width, ask = 250, " Overwrite it? [y/N] "
    line = long(alphabet, width * 48) + ask
    rows, left = [], line
    while left:  # as many characters a row as fit
        row = left[:width]
        while cells(row) > width:
            row = row[:-1]
        rows.append(row)
        left = left[len(row) :]
    lines, cursor = join_wraps(rows, [True] * (len(rows) - 1) + [False], (cells(rows[-1]), len(rows) - 1))
    screen = Screen.from_text("\n".join(lines) + "\n", cursor, (width, 50), True)
    assert screen.prompt_line.text == screen.lines[0] and screen.lines[0].endswith(ask)
    found = verdict(engine, screen)
    assert (found.state, found.kind) == (State.WAITING, Kind.CONFIRM)


@pytest.mark.parametrize("long_at", [(0,), (2,), (0, 2), (0, 1, 2), (3,)])
def test_a_megabyte_in_a_line_leaves_the_other_rows_where_they_are(long_at: tuple[int, ...]) -> None:
    short = ["one", "two", "three", "Proceed? [y/N] "]
    lines = ["x" * MAX_TEXT + line if number in long_at else line for number, line in enumerate(short)]
    screen = Screen.from_text("\n".join(lines) + "\n", (cells(lines[3]), 3), (100, 24), True)
    assert [line[-len(plain) :] for line, plain in zip(screen.lines, short, strict=True)] == short
    assert all(len(line) <= MAX_COLUMNS for line in screen.lines)
    assert screen.prompt_line.row == 3
    assert screen.prompt_line.text.endswith("Proceed? [y/N] ")


def test_of_many_long_lines_the_lowest_are_kept_and_no_row_is_lost() -> None:
    lines = [*["x" * 100_000] * 99, "Proceed? [y/N] "]
    screen = Screen.from_text("\n".join(lines), (15, 99), (200, 100), True)
    assert screen.prompt_line.text == "Proceed? [y/N] "
    assert (screen.lines[98], screen.lines[0]) == ("x" * MAX_COLUMNS, "")


def test_what_is_asked_for_at_the_end_of_a_long_line_is_still_a_secret() -> None:
    assert names_secret("─" * MAX_COLUMNS + " Password: ")
    assert not names_secret("*" * 200_000 + "!"), "without a bound the search would take minutes"


@pytest.mark.e2e
@pytest.mark.parametrize("above", ["", "\n"], ids=["in the same line", "in a line above"])
def test_a_shell_asks_behind_a_screen_full_of_wide_characters(above: str, server: Server, engine: Engine) -> None:
    line = f"printf '漢字%.0s' $(seq 2700); printf '{above}'; read -p 'Overwrite it? [y/N] '"
    transport = server.start("asks", "bash", "-c", line, shows="[y/N]", size=(250, 50))
    found = check_session(transport, engine).verdict
    transport.close()
    assert (found.state, found.kind, found.certainty) == (State.WAITING, Kind.CONFIRM, Certainty.SURE)
