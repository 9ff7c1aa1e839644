"""Random packs, and screens made of pieces of what those packs look for: `cases`.

A screen of random characters matches nothing and proves nothing.  So every clause is drawn with a text that it probably
matches, and screens are built from those texts: whole, cut short, in the other case, or with lookalike characters.
"""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen
from hypothesis import strategies as st

from stallkit.detect.signature import Clause, CursorState, Kind, Pack, Signature, State, Tier
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells

__all__ = ["WORDS", "Case", "cases"]

# `re` and `regex` differ on whether a combining mark belongs to a word, so none is here.  Without case, `re` takes all
# four of i, I, U+0130 and U+0131 for one letter, `regex` only some pairs of them; with these words and classes the two
# agree, as they must for the clauses of a pack.
#
# Few words, some part of others; k, s and i beside what Unicode folds to them; wide and combining characters.
WORDS = ["Allow", "allow?", "low", "Yes", "esc", "kiss", "K\u212ais\u017f", "t\u0130", "d\u0131", "\u276f", "\u203a"]
WORDS += ["? ", "(y/n)", "[", "-", "$ ", "1. Yes", "caf\u00e9", "\u4f60\u597d", "\u03bcs", "\ud83d"]
_BLANKS = ["", " ", "  ", "\n", "\n ", "\n\n"]
_REGIONS = [*["screen"] * 6, "tail(1)", "tail(3)", "block", "paragraph", *["prompt_line"] * 2, "above"]
_REGIONS += ["down_to_cursor(3)", "title"]
_LOOKALIKES = str.maketrans({"k": "\u212a", "s": "\u017f", "i": "\u0130", " ": "\u00a0"})


@frozen
class Case:
    """Packs, and screens that were made for them."""

    packs: tuple[Pack, ...]
    screens: tuple[Screen, ...]


@frozen
class _Sample:
    """The source of a literal or a pattern, and a text in which it is probably found."""

    source: str
    text: str


_words = st.sampled_from(WORDS)
_blanks = st.sampled_from(_BLANKS)
_frames = st.sampled_from([(one, two, three) for one in _BLANKS for two in _BLANKS for three in _BLANKS])


def _swapped(text: str) -> str:
    """The text in the other case, except the dotted and dotless i, on which `re` and `regex` differ."""
    return "".join(char if char in "\u0130\u0131" else char.swapcase() for char in text)


@st.composite
def _literals(draw: st.DrawFn) -> _Sample:
    words = draw(st.lists(_words, min_size=1, max_size=3))
    before, between, after = draw(_frames)
    text = before + between.join(words) + after
    return _Sample(text, text)


def _fits(sample: _Sample) -> bool:
    """Whether `re` accepts the pattern: a lookbehind, for example, must have a fixed width."""
    try:
        re.compile(sample.source, re.MULTILINE)
    except re.error:
        return False
    return bool(sample.source.strip())


def _atoms() -> st.SearchStrategy[_Sample]:
    word = _words.map(lambda text: _Sample(re.escape(text), text))
    blanks = _blanks.map(lambda text: _Sample(r"\s*", text))
    fixed = [
        ("[ks]", "k"),
        ("[^x-z]", "?"),
        (".", "x"),
        (r"\w+", "low"),
        (r".*", "; "),
        (r"\d", "1"),
        ("[\u276f\u203a$]", "$"),
    ]
    marks = [_Sample(mark, "") for mark in ("^", "$", r"\b", r"\s*$", r"^\s*")]
    repeats = st.sampled_from(["?", "*", "+", "+?", "{2}", "{0,2}", "{1,2}?", "++", "*+"])
    repeated = st.builds(
        lambda one, mark, times: _Sample(f"(?:{one.source}){mark}", one.text * times), word, repeats, st.integers(0, 2)
    )
    return st.one_of(
        word, word, blanks, st.sampled_from([_Sample(*pair) for pair in fixed]), st.sampled_from(marks), repeated
    )


def _around(one: _Sample, form: str, other: _Sample) -> _Sample:
    match form:
        case "then":
            return _Sample(one.source + other.source, one.text + other.text)
        case "or":
            return _Sample(f"(?:{one.source}|{other.source})", one.text)
        case "or, bare":
            return _Sample(f"{one.source}|{other.source}", other.text)
        case "group":
            return _Sample(f"({one.source})", one.text)
        case "maybe":
            return _Sample(f"({one.source})?{other.source}", other.text)
        case "atomic":
            return _Sample(f"(?>{one.source}){other.source}", one.text + other.text)
        case "any case":
            return _Sample(f"(?i:{one.source})", _swapped(one.text))
        case "own case":
            return _Sample(f"(?-i:{one.source})", one.text)
        case "ahead":
            return _Sample(f"{one.source}(?={other.source})", one.text + other.text)
        case "not ahead":
            return _Sample(f"{one.source}(?!{other.source})", one.text)
        case "behind":
            return _Sample(f"(?<={other.source}){one.source}", other.text + one.text)
        case _:
            return _Sample(f"(?<!{other.source}){one.source}", one.text)


_FORMS = ["then", "then", "then", "or", "or, bare", "group", "maybe", "atomic", "any case", "own case"]
_FORMS += ["ahead", "not ahead", "behind", "not behind"]


def _patterns() -> st.SearchStrategy[_Sample]:
    atoms = _atoms()
    pairs = st.builds(_around, atoms, st.sampled_from(_FORMS), atoms).filter(_fits)
    nested = st.builds(_around, pairs, st.sampled_from(_FORMS), pairs)
    flags = st.sampled_from(["", "", "", "(?i)", "(?s)", "(?ms)", "(?a)"])
    return st.builds(lambda flag, one: _Sample(flag + one.source, one.text), flags, st.one_of(pairs, nested)).filter(
        _fits
    )


_LITERALS, _PATTERNS = _literals(), _patterns()
# Only the last character of the prompt line is certain for these.
_ENDS = st.builds(
    lambda end, blanks: _Sample(end[0] + blanks + "$", end[1]),
    st.sampled_from([("[\u276f\u203a$]", "$ "), (r"(?:-|[?\]])", "?"), (r"(\$|\u276f|low)", "\u276f "), ("[^a]", "b")]),
    st.sampled_from(["", r"\s*", " ?", r"[ \s]*"]),
)
_places = st.sampled_from([(region, any_case) for region in _REGIONS for any_case in (False, True)])
_mostly = st.sampled_from([True, True, True, False])
_keywords = st.lists(st.one_of(_words, _words.map(str.swapcase)), min_size=1, max_size=2)
_states = st.sampled_from([State.WAITING, State.WORKING, State.IDLE] * 3 + [State.QUOTA, State.ENDED])
_rests: st.SearchStrategy[dict[str, Any]] = st.sampled_from(  # a signature's other fields, mostly none
    [{}] * 8
    + [{"tier": tier} for tier in Tier]
    + [{"cursor": cursor} for cursor in CursorState]
    + [{"certainty": "maybe"}, {"allow_below": [State.IDLE]}]
)


@st.composite
def _clauses(draw: st.DrawFn, seen: list[str]) -> Clause:
    strategy = draw(st.sampled_from([_LITERALS] * 4 + [_PATTERNS] * 4 + [_ENDS]))
    sample = draw(strategy)
    seen.append(sample.text)
    where, ignore_case = draw(_places) if strategy is not _ENDS else ("prompt_line", False)
    if strategy is _LITERALS:
        return Clause(text=sample.source, where=where, ignore_case=ignore_case)
    given: dict[str, Any] = {} if draw(_mostly) else {"keywords": draw(_keywords)}
    if where == "prompt_line" and not draw(_mostly):
        given["ends"] = "?$\u276fw\u212a"
    return Clause(pattern=sample.source, where=where, ignore_case=ignore_case, **given)


@st.composite
def _signatures(draw: st.DrawFn, number: int, seen: list[str]) -> Signature:
    all_of = [draw(_clauses(seen)) for _ in range(draw(st.sampled_from([1, 1, 1, 2])))]
    none_of = [draw(_clauses(seen)) for _ in range(draw(st.sampled_from([0, 0, 0, 1])))]
    state = draw(_states)
    kind = Kind.CONFIRM if state is State.WAITING else None
    return Signature(id=f"s{number}", title="", state=state, kind=kind, all_of=all_of, none_of=none_of, **draw(_rests))


def _bent(change: str, text: str) -> str:
    match change:
        case "lookalikes":
            return text.translate(_LOOKALIKES)
        case "other case":
            return _swapped(text)
        case "cut":
            return text[:-1]
        case "trimmed":
            return text.strip(" ")
        case _:
            return text


_changes = st.sampled_from(["", "", "", "", "lookalikes", "other case", "cut", "trimmed"])
_joints = st.sampled_from(["", " ", "\n", "\n", "\n", "\n", "\n\n", "\n\u276f "])
_packs = st.sampled_from([(priority, names, where) for priority in (50, 10) for names in ("", "a") for where in "xy"])


@st.composite
def _screens(draw: st.DrawFn, seen: list[str]) -> Screen:
    piece = st.builds(_bent, _changes, st.sampled_from(seen))
    text = "".join(draw(piece) + draw(_joints) for _ in range(draw(st.integers(0, 7))))
    lines = text.split("\n")
    at_end = (cells(lines[-1]), len(lines) - 1)
    cursor = draw(st.one_of(st.none(), st.just(at_end), st.tuples(st.integers(0, 12), st.integers(0, len(lines)))))
    title = draw(st.one_of(st.none(), piece))
    return Screen.from_text(text, cursor, cursor_visible=draw(st.sampled_from([None, True, False])), title=title)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Packs with their own priorities and programs, and a few screens built from what they look for."""
    seen: list[str] = []
    packs = []
    for number in range(draw(st.integers(1, 3))):
        signatures = [draw(_signatures(each, seen)) for each in range(draw(st.integers(1, 3)))]
        priority, foreground, distribution = draw(_packs)
        packs.append(Pack(f"pack{number}", "1", signatures, 1, priority, foreground, distribution))
    return Case(tuple(packs), tuple(draw(_screens(seen)) for _ in range(4)))
