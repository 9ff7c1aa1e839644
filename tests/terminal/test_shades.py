"""What colours say of rows: what is dim, and what is highlighted among its neighbours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stallkit.terminal.screen import Screen
from stallkit.terminal.shades import read_shades
from stallkit.terminal.text import strip

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=8)
CODES = st.lists(st.sampled_from(["0", "1", "2", "7", "22", "27", "38", "48", "5", "8", "90", "107", "", "999"]))
COLOURED = st.lists(st.one_of(WORDS, st.just("\n"), CODES.map(lambda codes: f"\x1b[{';'.join(codes)}m"))).map("".join)


def test_the_codes_that_make_a_row_dim() -> None:
    dim = ["2", "90", "38;5;8", "38:5:8", "1;2", "31;90", "2;38;2;1;2;3"]
    plain = ["", "0", "1", "2;22", "2;0", "90;39", "90;31", "38;5;9", "38;2;8;8;8", "48;5;8", "38", "7", "100"]
    assert [codes for codes in [*dim, *plain] if read_shades(f"> \x1b[{codes}mAsk me").dim] == dim
    assert not read_shades("Name: \x1b[2mAda").dim, "a label is not"
    assert read_shades("\x1b[2mone\ntwo\x1b[22m\nthree").dim == {0, 1}, "a colour lasts until another one"


def test_the_codes_that_highlight_a_row() -> None:
    lit = ["7", "44", "104", "48;5;4", "48;2;0;0;9", "48:2:0:0:9", "0;7"]
    plain = ["", "1", "31", "7;27", "44;49", "38;5;4", "38;2;0;0;9", "7;0"]
    found = [codes for codes in [*lit, *plain] if read_shades(f" One\n\x1b[{codes}m Two \x1b[0m\n Three").highlighted]
    assert found == lit
    assert read_shades("\x1b[47m One\n\x1b[41m Two\x1b[47m\n Three").highlighted == {1}, "all have a colour"
    several = ["\x1b[7m One", "\x1b[7m One\n Two\n Three", "\x1b[7m One\n Two\x1b[m\n Three\n Four"]
    assert not any(read_shades(text).highlighted for text in several), "a row alone, all rows, half of them"


@given(COLOURED, st.none() | st.tuples(st.integers(1, 40), st.integers(1, 9)))
def test_colours_change_no_text_and_name_rows_of_the_screen(text: str, size: tuple[int, int] | None) -> None:
    screen = Screen.from_text(text, size=size)
    assert screen.lines == Screen.from_text(strip(text), size=size).lines
    assert all(0 <= row < len(screen.lines) for row in screen.shades.dim | screen.shades.highlighted)
    assert screen.below(1).shades.dim == {row - 1 for row in screen.shades.dim if row}


def test_rows_are_counted_on_the_screen_and_not_in_what_was_printed() -> None:
    screen = Screen.from_text("gone\n" * 30 + "> \x1b[2mAsk\x1b[0m\nfoot\n", size=(20, 5))
    assert [screen.lines[row] for row in screen.shades.dim] == ["> Ask"]
