"""Answers about many panes, as text: whatever stands on screens, in names and titles, parts are never confused."""

from __future__ import annotations

import contextlib

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from stallkit.transports.tmux.fleet_format import Look, listed, looks, to_list, to_look
from stallkit.transports.tmux.format import Frame

MARK = "5d2b291c39e0ffee"
FRAME = Frame(MARK)
ANY = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=30).filter(
    lambda t: MARK not in t
)
ROWS = st.lists(ANY, min_size=3, max_size=3)


@frozen
class Pane:
    """What tmux is asked for of a pane of three rows."""

    rows: list[str]
    session: str
    command: str
    title: str
    folder: str = ""

    def line(self, number: int) -> str:
        noted, terminal = self.folder.encode().hex(), f"/dev/pts/{number}"
        numbers = (
            f"77,1795000000,%{number},{100 + number},0,1,1,0,80,3,0,0,0,0,0,0,0,{noted},,,0,{terminal},1795000001,"
        )
        return FRAME.line(numbers, self.command, self.title, "2,0", self.session)

    def answer(self, number: int) -> str:
        return "\n".join([self.line(number), *self.rows, *self.rows, ""])


PANES = st.lists(st.builds(Pane, ROWS, ANY, ANY | st.just("x\n%1,2,3\n"), ANY, ANY), min_size=1, max_size=5)


def whole(panes: list[Pane]) -> str:
    return "".join(pane.answer(number) for number, pane in enumerate(panes)) + MARK + "\n"


def list_of(text: str) -> object:
    return listed(text, FRAME, {})


def lines(panes: list[Pane]) -> str:
    return "".join(pane.line(number) + "\n" for number, pane in enumerate(panes)) + MARK + "\n"


@given(PANES)
def test_each_pane_has_its_own(panes: list[Pane]) -> None:
    found = looks(whole(panes), FRAME, 1.0, {})
    assert list(found) == [f"%{number}" for number in range(len(panes))]
    for pane, look in zip(panes, found.values(), strict=True):
        assert isinstance(look, Look)
        assert look.drawn_from[0] == "\n" + "\n".join([*pane.rows, *pane.rows, ""])
        assert look.snapshot.foreground == (pane.command or None)
        assert look.snapshot.started_in == (pane.folder or None)
    rows = listed(lines(panes), FRAME, {})
    assert [one.state for one in rows.values()] == [look.state for look in found.values() if isinstance(look, Look)]
    assert [one.row.session for one in rows.values()] == [pane.session for pane in panes]


@given(PANES, st.data())
def test_a_cut_answer_is_never_taken_for_a_whole_one(panes: list[Pane], data: st.DataObject) -> None:
    for answer, read in ((whole(panes), lambda text: looks(text, FRAME, 1.0, {})), (lines(panes), list_of)):
        end = data.draw(st.integers(0, len(answer) - 1))
        with pytest.raises(ValueError, match="tmux"):
            read(answer[:end])


@given(st.lists(st.sampled_from([MARK, "\n", ",", "%1", "7", "", "x"]) | st.text(), max_size=60))
def test_nothing_but_value_errors_comes_of_any_text(parts: list[str]) -> None:
    text = "".join(parts)
    with contextlib.suppress(ValueError):
        listed(text, FRAME, {})
    with contextlib.suppress(ValueError):
        looks(text, FRAME, 1.0, {})


@given(PANES, st.integers(0, 6))
def test_rows_that_do_not_fit_are_that_panes_own_error(panes: list[Pane], count: int) -> None:
    other = Pane(["", "", ""], "s", "c", "t")
    cut = "\n".join([other.line(99), *["row"] * count, ""])
    found = looks(cut + whole(panes), FRAME, 1.0, {})
    assert isinstance(found["%99"], Look) == (3 < count <= 6)
    assert all(isinstance(look, Look) for pane, look in found.items() if pane != "%99")


@given(PANES)
def test_a_screen_is_shared_only_with_the_same(panes: list[Pane]) -> None:
    first = looks(whole(panes), FRAME, 1.0, {})
    known = {pane: look for pane, look in first.items() if isinstance(look, Look)}
    again = looks(whole(panes), FRAME, 2.0, known)
    assert all(
        isinstance(look, Look) and look.snapshot.screen is known[pane].snapshot.screen for pane, look in again.items()
    )
    for changed in (evolve(panes[0], title=panes[0].title + "!"), evolve(panes[0], rows=["!", *panes[0].rows[1:]])):
        look = looks(whole([changed]), FRAME, 2.0, known)["%0"]
        assert isinstance(look, Look)
        assert (look.snapshot.screen is known["%0"].snapshot.screen) == (changed == panes[0])


def test_nobody_there_is_left_out() -> None:
    """tmux 3.3a prints the line of a pane that is not there, its fields empty."""
    empty = FRAME.line("77,1795000000,,,,,,,,,,,,,,,,,,", "", "", ",,", "") + "\n"
    assert list(looks(empty + whole([Pane(["", "", ""], "s", "c", "t")]), FRAME, 1.0, {})) == ["%0"]


def test_what_is_asked_has_one_line_a_command() -> None:
    """3.1c takes no command of several lines."""
    commands = to_look(["%1", "%2"], FRAME).split("\n")
    assert [line.split(" ")[0] for line in commands] == ["display-message", *["capture-pane"] * 2] * 2 + [
        "display-message",
        "",
    ]
    assert to_list(FRAME)[:3] == ["list-panes", "-a", "-F"]
