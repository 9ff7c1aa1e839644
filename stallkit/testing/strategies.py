"""Hypothesis strategies: screens, prompts in every form, screens that only resemble a prompt, keys and packs.

    @given(prompt_screens(signature))
    def test_it_is_seen(screen): ...

`prompt_screens` keeps all that a prompt is recognised by; `near_misses` keeps its words if it is not live.
`dressed` is the same screen as another terminal or capture would deliver it.

`cases` are random packs, and screens made of pieces of what those packs look for.  A screen of random characters
matches nothing and proves nothing.  So every clause is drawn with a text that it probably matches, and screens are
built from those texts: whole, cut short, in the other case, or with lookalike characters.
"""

from __future__ import annotations

import re
from typing import Any, Collection, Sequence

from attrs import evolve, frozen
from hypothesis import strategies as st

from stallkit.detect.signature import Clause, CursorState, Kind, Pack, Signature, State, Tier
from stallkit.terminal.keys import KEY_NAMES, Key, Keys
from stallkit.terminal.screen import Screen, join_wraps
from stallkit.terminal.text import cells
from stallkit.testing.lookalikes import BUSY, FORMS, SCROLLBACK, Physical, fillings, forms_of, mentions

_Bases = Sequence[tuple[Screen, ...]]


def screens() -> st.SearchStrategy[Screen]:
    """Any screen: text of every sort, fragments of prompts, control sequences, odd cursors and sizes."""
    return _screens()


def prompt_screens(signature: Signature, shown: Sequence[Screen] = ()) -> st.SearchStrategy[Screen]:
    """Screens that show the signature's prompt, live, as different terminals and captures would show it.

    They are made of its ``hits`` and of `shown`, such as the screens of `examples`: with other contents in the fields
    of its dialog, wrapped at other widths and joined again, in colours, with blank rows below, other output above (not
    on the alternate screen), rows that were redrawn, no-break spaces, characters without width, and with or without a
    known cursor.  Raises ValueError if there is no screen to make them of.
    """
    return _prompt_screens(_bases(signature, shown))


def near_misses(
    signature: Signature, shown: Sequence[Screen] = (), forms: Collection[str] = ()
) -> st.SearchStrategy[Screen]:
    """Screens that only quote the signature's prompt, or show it after its answer: the session does not wait in it.

    `forms` are some of `FORMS`, by default all: quoted in ``prose``, in a ``code block``, in a ``diff``; ``answered``,
    only for prompts at the cursor; ``busy below``, with evidence of work under it.  The cursor is visible, after the
    text: without it some of them would equal the prompt itself.  Raises ValueError for another form, and if there is
    no screen to make them of.
    """
    unknown = set(forms) - set(FORMS)
    if unknown:
        raise ValueError(f"unknown forms {sorted(unknown)}: {', '.join(FORMS)} are known")
    bases = _bases(signature, shown)
    wanted = [form for form in forms_of(signature) if not forms or form in forms]
    if not wanted:
        raise ValueError(f"{signature.id} is not a prompt at the cursor: nothing shows that it was answered")
    return _near_misses(signature, bases, wanted)


def keys() -> st.SearchStrategy[Keys]:
    """Keys of every sort: named ones, words, and text that has to be quoted."""
    named = st.sampled_from(sorted(KEY_NAMES)).map(lambda name: Key(name=name))
    printable = st.characters(exclude_categories=("C", "Z"), include_characters=" ")
    typed = st.one_of(st.sampled_from(["y", "yes", "1", "Enter", "it's", "\\"]), st.text(printable, min_size=1))
    literal = typed.filter(str.isprintable).map(lambda text: Key(literal=text))
    return st.lists(st.one_of(named, literal), min_size=1, max_size=5).map(lambda drawn: Keys(tuple(drawn)))


def packs() -> st.SearchStrategy[Pack]:
    """Packs of random signatures, of every state, region and order; they carry no examples."""
    return cases().flatmap(lambda case: st.sampled_from(case.packs))


@st.composite
def _screens(draw: st.DrawFn) -> Screen:
    pieces = st.one_of(
        st.sampled_from([*WORDS, *SCROLLBACK, *BUSY, "Proceed? [y/N] ", "❯ 1. Yes", "Password: ", "│", "─" * 20]),
        st.sampled_from(["\n", "\n", "\n", "\r", "\t", "\x1b[1m", "\x1b[2K", "\x1b]0;title\x07", "\x9b", "\x00"]),
        st.text(max_size=8),
    )
    text = "".join(draw(st.lists(pieces, max_size=24)))
    rows = text.count("\n")
    cursor = draw(st.none() | st.tuples(st.integers(0, 100), st.integers(0, rows + 2)))
    size = draw(st.sampled_from([None, None, (80, 24), (40, 10), (1, 1), (200, 50)]))
    flags = st.sampled_from([None, True, False])
    title = draw(st.none() | st.sampled_from(["", "✳ agent", "vim"]) | st.text(max_size=8))
    return Screen.from_text(text, cursor, size, draw(flags), title, draw(flags))


@st.composite
def _prompt_screens(draw: st.DrawFn, bases: _Bases) -> Screen:
    base = draw(st.sampled_from(draw(st.sampled_from(bases))))
    shown = Physical.of(base)
    if base.alternate is not True:
        above = draw(st.lists(st.sampled_from(SCROLLBACK), max_size=5))
        shown = shown.under([*above, ""] if above else [])
    if base.cursor is None and draw(st.booleans()):
        shown = shown.with_cursor_behind()
    shown = shown.above([""] * draw(st.integers(0, 3)))
    return draw(dressed(shown))


@st.composite
def _near_misses(draw: st.DrawFn, signature: Signature, bases: _Bases, forms: Sequence[str]) -> Screen:
    base = draw(st.sampled_from(draw(st.sampled_from(bases))))
    return draw(dressed(draw(st.sampled_from(mentions(signature, base, draw(st.sampled_from(forms)))))))


def _bases(signature: Signature, shown: Sequence[Screen]) -> _Bases:
    """Each screen with its fillings, which are made here: while Hypothesis draws no other thread may run."""
    bases = [fillings(signature, base) for base in (*map(Screen.from_text, signature.hits), *shown)]
    if not bases:
        raise ValueError(f"{signature.id} has no hits: give the screens that show it")
    return bases


# --- the same screen as another terminal or capture would deliver it ---


_NOISE = ["\x1b[0m", "\x1b[1;31m", "\x1b[38;5;12m", "\x1b[48;2;1;2;3m", "\x9b7m", "\x1b(B"]
_NOISE += ["\ufe0f", "\u200b", "\u2060"]
_WIDTHS = [None, None, 10, 20, 40, 80, 132]
_REDRAWS = ["Loading 12%\r\x1b[2K", "\x1b[32m⠹\x1b[0m\r\x1b[2K", "old text that was longer than what came\x1b[2K\r"]


@st.composite
def dressed(draw: st.DrawFn, shown: Physical) -> Screen:
    """The screen: wrapped and joined again, coloured, redrawn, with no-break spaces and characters without width."""
    lines, cursor = list(shown.lines), shown.cursor
    width = draw(st.sampled_from(_WIDTHS))
    if width is not None:
        lines, moved = _wrapped_and_joined(lines, cursor or (0, 0), width)
        cursor = moved if cursor else None
    noise = st.tuples(st.integers(0, len(lines) - 1), st.integers(0, 200), st.sampled_from(_NOISE))
    inserted = draw(st.lists(noise, max_size=6)) if lines else []
    if draw(st.booleans()):
        lines = [line.replace(" ", "\u00a0") if draw(st.booleans()) else line for line in lines[:24]] + lines[24:]
    dirty = lines.copy()
    for row in range(len(lines)):
        at = sorted(((min(place, len(lines[row])), text) for r, place, text in inserted if r == row), reverse=True)
        for place, text in at:
            dirty[row] = dirty[row][:place] + text + dirty[row][place:]
    redrawn = draw(st.lists(st.tuples(st.integers(0, len(lines) - 1), st.sampled_from(_REDRAWS)), max_size=2))
    for row, before in redrawn if lines else []:
        dirty[row] = before + dirty[row]
    return evolve(shown, lines=tuple(dirty), cursor=cursor).screen()


def _wrapped_and_joined(lines: Sequence[str], cursor: tuple[int, int], width: int) -> tuple[list[str], tuple[int, int]]:
    """The lines as a terminal of that width wraps them, joined from its own flags, as every transport does."""
    rows: list[str] = []
    wraps: list[bool] = []
    at = cursor
    for number, line in enumerate(lines):
        pieces = _pieces(line, width)
        if number == cursor[1]:
            at = _place(pieces, cursor[0], len(rows))
        rows += pieces
        wraps += [True] * (len(pieces) - 1) + [False]
    return join_wraps(rows, wraps, at)


def _pieces(line: str, width: int) -> list[str]:
    pieces, begun, used = [], 0, 0
    for index, char in enumerate(line):
        step = cells(char)
        if used + step > width:
            pieces.append(line[begun:index])
            begun, used = index, 0
        used += step
    return [*pieces, line[begun:]]


def _place(pieces: Sequence[str], column: int, first: int) -> tuple[int, int]:
    """Where a column of a line is after wrapping; a column after its end stays in its last row."""
    for number, piece in enumerate(pieces[:-1]):
        if column < cells(piece):
            return column, first + number
        column -= cells(piece)
    return column, first + len(pieces) - 1


# --- random packs, and screens of pieces of what they look for ---

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
def _screens_of(draw: st.DrawFn, seen: list[str]) -> Screen:
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
    return Case(tuple(packs), tuple(draw(_screens_of(seen)) for _ in range(4)))
