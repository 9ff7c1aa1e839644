"""Clauses for a signature, proposed from captured screens.  Pure.

They are made of text that is in all captures of one state, in none of the others, and is not a number, path, date or
name, nor what a person said or may write over: their message, a composer's text, a placeholder.  At the cursor that is
one pattern over the whole prompt line, in a dialog up to three literals.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import partial, reduce
from itertools import combinations
from typing import Collection, Iterator, Sequence

from attrs import frozen

from stallkit.detect.layout import read_layout
from stallkit.detect.matcher import Budget, find
from stallkit.detect.signature import Clause, CursorState
from stallkit.errors import Portable
from stallkit.redact.redact import MASK
from stallkit.terminal.screen import Screen

_MOST = 3  # literals of a dialog: more would tie the signature to one version
_LETTERS = 5  # of a literal; of a prompt line in all
_WIDEST = 36  # characters of a literal: a terminal of 40 columns shows it on one row, beside the sides of a box
_ALIKE = 0.5  # of the pieces of two lines, to be the same line in two captures
_GAP = "\0"  # a difference within one word
_GAPS = "\0\0"  # ... over several
_CHANGING = [
    re.escape(MASK),
    r"https?://\S+",
    r"[\w.+-]+@[\w.-]+",  # a user's name on a host
    r"(?<![\w\])])(?:~|\.{1,2})?/[\w.@+~-]+(?:/[\w.@+~-]*)*",  # a path, but not the /n of y/n
    r"[A-Za-z]:\\\S+",
    r"\"[^\"\n]*\"|“[^”\n]*”|‘[^’\n]*’|(?<!\w)'[^'\n]*'(?!\w)",  # quoted text varies
    r"[0-9][\w.,:%/-]*\w|[0-9]",  # numbers, dates, times, versions, percentages
    r"(?=[0-9a-f]*[0-9])[0-9a-f]{7,}",
    r"[⠀-⣿✢✳✶✻✽◐◓◑◒]",  # spinners
]
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


@frozen
class Proposal:
    """Clauses for ``all_of``, reasons to doubt them, and the cursor's state if all the screens share it."""

    clauses: tuple[Clause, ...]
    doubts: tuple[str, ...]
    cursor: CursorState = CursorState.ANY


class NotTold(Portable, ValueError):
    """No stable text distinguishes the screens from `others`."""

    def __init__(self, others: Sequence[Screen]) -> None:
        self.others = others
        super().__init__(f"nothing distinguishes it from {len(others)} of the other screens")


def propose(screens: Sequence[Screen], others: Sequence[Screen] = (), names: Collection[str] = ()) -> Proposal:
    """Clauses that hold on every one of the screens and, together, on none of the others.

    `names` are words that belong to this machine or its user.  Raises ValueError if no text is stable, NotTold if
    none distinguishes them.
    """
    pieces = _pieces_of(names)
    at_cursor = _prompt_pattern(screens, pieces)
    line = _on_all([] if at_cursor is None else [at_cursor], screens)
    drawn = _is_drawn(screens)
    if drawn:  # a hidden cursor may be anywhere, mostly on a footer or a row among others
        clauses = _on_all(_literals(screens, others, pieces), screens) or line
    elif not line or _held_by(line, others):
        clauses = line + _on_all(_literals(screens, others, pieces), screens)
    else:
        clauses = line
    if not clauses:
        raise ValueError("nothing on it is stable: only numbers, paths, names, single words, or what a person wrote")
    if alike := _held_by(clauses, others):
        raise NotTold(alike)
    cursor = CursorState.HIDDEN if drawn else CursorState.ANY
    return Proposal(tuple(clauses), tuple(_doubts(screens, others, clauses)), cursor)


def _doubts(screens: Sequence[Screen], others: Sequence[Screen], clauses: Sequence[Clause]) -> Iterator[str]:
    if len(screens) == 1:
        yield "there is one capture: what changes between runs is guessed; give more, with other names and sizes"
    if not others:
        yield "there is no other screen to compare it with: give some with --others"
    if all(clause.where != "prompt_line" for clause in clauses) and not _is_drawn(screens):
        yield "no text at the cursor is stable: a text that quotes the dialog may match as well"
    elif any(screen.cursor is None for screen in screens):
        yield "a capture has no cursor: its last line is taken as the prompt"


def _own_lines(screen: Screen) -> list[str]:
    """The program's own lines: empty if a person's words stand, or a text that gives way to what is typed."""
    layout = read_layout(screen)
    lines = [*screen.lines, *[""] * (screen.prompt_line.row + 1 - len(screen.lines))]
    for row in (*layout.parts.get("person", ()), *layout.parts.get("composer", ())):
        lines[row] = ""
    if screen.cursor is not None and screen.cursor.visible:  # a placeholder stands behind it
        row = screen.prompt_line.row
        lines[row] = lines[row] and screen.prompt_line.text
    return lines


def _pieces_of(names: Collection[str]) -> re.Pattern[str]:
    """Cuts a line into variable parts (the first group), words, blanks and single signs."""
    own = [rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names, key=len, reverse=True) if name]
    return re.compile(rf"({'|'.join([*own, *_CHANGING])})|[^\W\d]\w*|\s+|\W|\d")


def _cut(line: str, pieces: re.Pattern[str]) -> list[str]:
    found = ((one[0], one[1]) for one in pieces.finditer(line))
    return [piece if not changing else _GAPS if any(map(str.isspace, piece)) else _GAP for piece, changing in found]


def _merged(left: list[str], right: list[str]) -> list[str]:
    """The common parts of two lines, in order, with gaps where they differ."""
    merged: list[str] = []
    i = j = 0
    for a, b, size in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        one, two = left[i:a], right[j:b]
        if one or two:
            within = len(one) == len(two) == 1 and not any(piece.isspace() or piece == _GAPS for piece in (*one, *two))
            merged.append(_GAP if within else _GAPS)
        merged += left[a : a + size]
        i, j = a + size, b + size
    return merged


def _prompt_pattern(screens: Sequence[Screen], pieces: re.Pattern[str]) -> Clause | None:
    """The whole prompt line as a pattern that ends at the cursor; None if too little of it is stable."""
    if not all(_own_lines(screen)[screen.prompt_line.row] for screen in screens):
        return None
    lines = [_cut(screen.prompt_line.text.rstrip(), pieces) for screen in screens]
    common = reduce(_merged, lines)
    stable = "".join(piece for piece in common if piece not in (_GAP, _GAPS))
    if _letters(stable) < _LETTERS:
        return None
    source = ""
    for number, piece in enumerate(common):
        if piece == _GAPS or (piece == _GAP and number and common[number - 1] in (_GAP, _GAPS)):
            source = source.removesuffix(r"\S+").removesuffix(".*") + ".*"
        else:
            source += r"\S+" if piece == _GAP else _escaped(piece)
    return Clause(pattern=f"^{source} *$", where="prompt_line")


def _literals(screens: Sequence[Screen], others: Sequence[Screen], pieces: re.Pattern[str]) -> list[Clause]:
    """The longest stable runs, one of a line, in the lowest part of the screen that holds them everywhere."""
    first, *rest = screens
    found: list[tuple[int, int, str]] = []
    for row, line in enumerate(_own_lines(first)):
        runs = _runs(_in_all(_cut(line, pieces), rest, pieces))
        fresh = [run for run in runs if not any(run in other.text for other in others)]
        if fresh:
            best = _short(max(fresh, key=_letters))
            found.append((_letters(best), row, best))
    texts = dict.fromkeys(text for _, _, text in sorted(found, reverse=True))
    held = [text for text in texts if all(text in screen.text for screen in screens)][: 2 * _MOST]
    return [Clause(text=text, where=_tail(text, screens)) for text in _fewest(held, others)]


def _fewest(texts: Sequence[str], others: Sequence[Screen]) -> Sequence[str]:
    """As few of the texts as none of the others has together, but two where there are: one alone is soon quoted."""
    for count in range(min(2, len(texts)), _MOST + 1):
        for some in combinations(texts, count):
            if not any(all(text in other.text for text in some) for other in others):
                return some
    return texts[:_MOST]


def _in_all(cut: list[str], rest: Sequence[Screen], pieces: re.Pattern[str]) -> list[str]:
    for screen in rest:
        lines = [_cut(line, pieces) for line in _own_lines(screen) if line.strip()]
        like = partial(_likeness, cut)
        best = max(lines, key=like, default=[])
        if not best or like(best) < _ALIKE:
            return []
        cut = _merged(cut, best)
    return cut


def _short(run: str) -> str:
    """The run, cut between words where a narrow terminal would break it."""
    if len(run) <= _WIDEST:
        return run
    cut = run[:_WIDEST].rpartition(" ")[0]
    return cut if _letters(cut) >= _LETTERS else run


def _likeness(left: list[str], right: list[str]) -> float:
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def _runs(cut: list[str]) -> list[str]:
    text = "".join(_GAP if piece == _GAPS else piece for piece in cut)
    return [run for part in text.split(_GAP) if _letters(run := part.strip(" │┃|")) >= _LETTERS]


def _tail(text: str, screens: Sequence[Screen]) -> str:
    """A region that reaches a little higher than the text is in any capture."""
    deepest = 0
    for screen in screens:
        lines = screen.text.rstrip("\n ").split("\n")
        lowest = max((row for row, line in enumerate(lines) if text in line), default=0)
        deepest = max(deepest, len(lines) - lowest)
    return f"tail({deepest + 2})"


def _is_drawn(screens: Sequence[Screen]) -> bool:
    """Whether all of them hide the cursor, as dialogs do that draw their own."""
    return all(screen.cursor is not None and screen.cursor.visible is False for screen in screens)


def _on_all(clauses: Sequence[Clause], screens: Sequence[Screen]) -> list[Clause]:
    return [clause for clause in clauses if all(_holds(clause, screen) for screen in screens)]


def _holds(clause: Clause, screen: Screen) -> bool:
    return bool(find(clause, screen, Budget()).held)


def _held_by(clauses: Sequence[Clause], others: Sequence[Screen]) -> list[Screen]:
    return [other for other in others if all(_holds(clause, other) for clause in clauses)]


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)
