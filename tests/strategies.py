"""What tests draw besides the public strategies of `stallkit.testing`: any text, and text in colours."""

from __future__ import annotations

from typing import Callable

from hypothesis import strategies as st

from stallkit.testing.strategies import WORDS, Case, cases

__all__ = ["Case", "anything", "cases", "decorated"]


def anything() -> st.SearchStrategy[str]:
    """Any text at all, with more than its share of control sequences."""
    parts = st.sampled_from(["\x1b[", "\x1b]0;", "\x9b", "\r", "\n", "\t", "\x00", "\x1b[2K", "m", "\u202e", "\ud800"])
    return st.lists(st.one_of(parts, st.sampled_from(WORDS), st.text(max_size=5)), max_size=30).map("".join)


def decorated(text: str) -> st.SearchStrategy[str]:
    """The same text in colours and styles."""
    styles = st.sampled_from(["", "", "", "\x1b[0m", "\x1b[1;31m", "\x1b[38;5;12m", "\x1b[K", "\x9b7m"])
    weave: Callable[[list[str]], str] = lambda drawn: "".join(map("".join, zip(drawn, text + " ", strict=True)))[:-1]  # noqa: E731
    return st.lists(styles, min_size=len(text) + 1, max_size=len(text) + 1).map(weave)
