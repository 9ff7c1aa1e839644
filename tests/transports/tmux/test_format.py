"""Parts of an answer are never confused, whatever stands in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.transports.tmux.format import Frame, lines_of, look_commands

FRAME = Frame("5d2b291c39e0ffee")
OTHER = Frame()
# What a program may have seen of earlier calls, and pieces of the mark that it could guess.
PIECES = [
    OTHER.mark,
    OTHER.mark + "\n",
    FRAME.mark[:-1],
    FRAME.mark[1:],
    FRAME.mark[:8],
    "5",
    "ee",
    ",",
    "\n",
    "\n\n",
    " ",
]
ANY = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=8).map("".join)
TEXT = ANY.filter(lambda text: FRAME.mark not in text)
LINE = TEXT.map(lambda text: text.replace("\n", " "))


def answer(records: list[tuple[list[str], list[str]]]) -> str:
    """What tmux prints: a framed line and what was captured, each in turn, and the mark at the end."""
    printed = [line for parts, rows in records for line in (FRAME.line(*parts), *rows)]
    return "\n".join([*printed, FRAME.mark, ""])


RECORDS = st.lists(
    st.tuples(st.lists(TEXT, min_size=1, max_size=4), st.lists(LINE, max_size=4)), min_size=1, max_size=3
)


@given(RECORDS)
def test_any_content_comes_back_as_it_was(records: list[tuple[list[str], list[str]]]) -> None:
    parts = iter(FRAME.parts(answer(records)))
    for told, rows in records:
        assert [next(parts) for _ in told] == told
        assert lines_of(next(parts)) == rows
    assert next(parts, None) is None


@given(RECORDS, st.data())
def test_a_cut_answer_is_told(records: list[tuple[list[str], list[str]]], data: st.DataObject) -> None:
    whole = answer(records)
    end = data.draw(st.integers(0, len(whole) - 1))
    try:
        parts = FRAME.parts(whole[:end])
    except ValueError:
        return
    assert len(parts) < len(FRAME.parts(whole)), "as many parts as a whole answer has, and yet cut"


def test_no_two_calls_share_a_mark() -> None:
    assert Frame().mark != Frame().mark
    assert OTHER.mark not in str(look_commands("%1", FRAME))


def test_an_answer_to_another_call_is_none() -> None:
    with pytest.raises(ValueError, match="tmux answered"):
        FRAME.parts(OTHER.line("a", "b") + "\n" + OTHER.mark + "\n")
