"""What a look shows, in features that programs share: words by where they stand, frames, marks, facts.  Pure.

No feature names a program.  All digits are one digit, and what spins, frames, counts or marks is one token each, so
that two programs which draw the same thing in different ways have features in common.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterable, Iterator

from stallkit.detect.composer import talks
from stallkit.detect.layout import PARTS, Layout, read_layout
from stallkit.evidence.claim import Shown
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.screen import Screen
from stallkit.word_tables import INTERPRETERS, RELAYS, SHELLS

_ROWS = 24  # written rows of a screen that are looked at, upwards from the last
_NEAR = 6  # of these, rows at the end
_SHAPE = 16  # characters of the shape of a prompt
_EDGES = "│┃║|▌▐▏▎▊█╎┆┊ \t"
_LEFT, _RIGHT = frozenset("│┃║|▌▐▏▎▊╎┆┊"), frozenset("│┃║|▐▎╎┆┊")
_RULE = re.compile(r"[\s─━═▁▔_=\-–—╌┄┈▀▄╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝╠╣*~.+|]{6,}")
_TITLED = re.compile(r"[╭┌╔┏+─━═╰└╚┗├][─━═-]+[^─━═]{1,60}[─━═-]{3,}")
_TOKEN = re.compile(
    r"(?P<spin>[⠁-⣿◐◓◑◒◴◷◶◵✻✽✶✳✢∗⟳↻⏳⌛])|(?P<mark>[❯›▸▶➤➜→●◉❭»▷►⮞])"
    r"|(?P<radio>[○◯☐☑☒◻◼◇◆□■]|\([ *xo•]\)|\[[ *x✔✓•]\])|(?P<key>[\[(<][a-z0-9](?:/[a-z0-9])*[\])>])|(?P<done>[✓✔✗✘✖])"
    r"|(?P<time>\b\d+(?:\.\d+)?\s?(?:ms|s|m|secs?|seconds|min)\b|\b\d+:\d\d(?::\d\d)?\b)"
    r"|(?P<share>\d+(?:\.\d+)?\s?%|\b\d+/\d+\b)|(?P<option>^\s*[(\[]?\d{1,2}[.):\]]\s)|(?P<number>\d[\d.,]*k?)"
    r"|(?P<dots>…|\.\.\.)|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)|(?P<sign>[?:>$%#*;&@/~=!•⏎↑↓↵⎿└├])"
)
_SHAPES = re.compile(r"[^\W\d_]+|\d+|\s+|.")
_DRAWN = ("OPTION", "MARK", "RADIO", "SPIN", "TIME", "RULE", "FRAMED", "CLOSED", "DONE", "TITLED", "DOTS", "SHARE")
_CLOCK = re.compile(r"(?<![\d:.])\d{1,2}:[0-5]\d:[0-5]\d(?![\d:.])")


def features(snapshot: Snapshot, shown: Shown, rests: bool | None) -> frozenset[str]:
    """All features of a look whose verdict, by signatures and facts, is this one; each is a short text.

    `rests`: nothing was printed since the look before it.  Of a screen that `talks` each feature stands twice, as what
    is true everywhere and as what is true there (H. Daumé III, "Frustratingly easy domain adaptation", 2007).
    """
    found = frozenset((*_written(snapshot.screen), *_known(snapshot, rests), *_judged(shown)))
    return found | {f"talks, {one}" for one in found} if talks(snapshot.screen) else found


@lru_cache(maxsize=4_096)  # most rows stood in the look before, a second ago
def tokens(row: str) -> tuple[str, ...]:
    """What stands in a row: words in small letters, and names in capitals for what is drawn in many ways.

    >>> tokens("│ ❯ 1. Yes, go on (12s) │")
    ('FRAMED', 'CLOSED', 'MARK', 'NUMBER', 'yes', 'go', 'on', 'TIME')
    """
    bare = row.strip()
    if not bare:
        return ()
    if _RULE.fullmatch(row):
        return ("RULE",)
    found = ["FRAMED"] if bare[0] in _LEFT else []
    if bare[-1] in _RIGHT and len(bare) > 3:
        found.append("CLOSED")
    if _TITLED.match(bare):
        found.append("TITLED")
    for one in _TOKEN.finditer(row.strip(_EDGES).lower()):
        sort = one.lastgroup or ""
        found.append(one[0] if sort in ("word", "sign") else f"KEY{one[0]}" if sort == "key" else sort.upper())
    return tuple(found)


def _judged(shown: Shown) -> Iterator[str]:
    """What it was taken for so far; a signature of a pack that names programs is none of its own."""
    match = shown.match
    yield f"judged {shown.state}"
    if match is None:
        yield f"judged {shown.state} {shown.kind} without a signature"
    elif match.pack.general:
        yield f"judged {shown.state} {shown.kind} {shown.certainty}"
        yield f"matched {match.signature.state} {match.signature.tier:d}"
        yield f"matched {match.pack.name}:{match.signature.id}"


def _written(screen: Screen) -> Iterator[str]:
    lines = screen.lines
    last = max((row for row, line in enumerate(lines) if line.strip()), default=-1)
    if last < 0:
        yield "empty"
        return
    at = screen.cursor.row if screen.cursor else last
    rows = [row for row in range(max(0, last - _ROWS + 1), last + 1) if lines[row].strip()]
    shown = {row: tokens(lines[row]) for row in rows}
    above = [row for row in rows if row < at]
    yield from _row("at", tokens(lines[at]) if at < len(lines) else ())
    yield from _prompt(screen, at)
    for place, some in {"above": above[-1:], "last": rows[-1:]}.items():
        for row in some:
            yield from _row(place, shown[row])
    yield from _parts(read_layout(screen))
    yield from _layout(screen, shown, at, last)


def _parts(layout: Layout) -> Iterator[str]:
    """What stands in each part: its words, what its rows begin with, and whether there is one."""
    for part in PARTS:
        rows = layout.parts.get(part, ())
        yield f"{part} {min(len(rows), 3)}"
        for row in rows[-_NEAR:]:
            found = tokens(layout.rows[row].text)
            yield from (f"{part} {token}" for token in found)
            yield f"{part} begins {' '.join(found[:2])}"
    yield f"parts {' '.join(part for part in PARTS if part in layout.parts)}"


def _row(place: str, words: Iterable[str]) -> Iterator[str]:
    before = "^"
    for word in words:
        yield f"{place} {word}"
        yield f"{place} {before} {word}"
        before = word
    yield f"{place} {before} $"


def _prompt(screen: Screen, at: int) -> Iterator[str]:
    line = screen.prompt_line.text
    bare = line.strip(_EDGES)
    signs = sorted({sign for sign in bare if not sign.isalnum() and not sign.isspace()})
    yield f"ends {bare[-1:] or 'nothing'}"
    yield f"ends as {_shape(bare[-4:])}"
    yield f"blank {line[-1:].isspace()}"
    yield f"shape {_shape(bare[-500:])[:_SHAPE]}"
    yield f"starts {_shape(bare[:3])}"
    yield f"length {min(len(bare) // 10, 6)}"
    yield f"signs {''.join(signs)[:6]}"
    if screen.cursor is not None:
        behind = screen.lines[at][len(line) :].strip(_EDGES) if at < len(screen.lines) else ""
        yield f"behind {bool(behind)}"
        yield f"column {min(screen.cursor.column, 9)}"


def _shape(text: str) -> str:
    """Runs of letters as ``a``, of digits as ``0``, of blanks as one, and every other sign as it is."""
    return "".join(
        "a" if run[0].isalpha() else "0" if run[0].isdigit() else " " if run.isspace() else run
        for run in _SHAPES.findall(text)
    )


def _layout(screen: Screen, shown: dict[int, tuple[str, ...]], at: int, last: int) -> Iterator[str]:
    for name in _DRAWN:
        yield f"rows {name} {min(sum(name in words for words in shown.values()), 4)}"
    yield f"keys {min(4, sum(word.startswith('KEY') for words in shown.values() for word in words))}"
    yield f"questions {min(3, sum('?' in words for words in shown.values()))}"
    if any("?" in words for row, words in shown.items() if row >= last - _NEAR):
        yield "asks near the end"
    yield f"alternate {screen.alternate}"
    yield f"written rows {min(len(shown), 20) // 3}"
    if screen.size:
        yield f"full {4 * (last + 1) // max(1, screen.size.rows)}"
    if screen.cursor is not None:
        yield f"cursor seen {screen.cursor.visible}"
        yield f"cursor at start {screen.cursor.column == 0}"
        yield f"rows below {min(last - at, 6) if at <= last else 'none'}"
        if screen.size:
            yield f"cursor on the last row {at >= screen.size.rows - 1}"
        for step in (-1, 1):
            yield f"beside {step} {''.join(shown.get(at + step, ('nothing',))[:1])}"


def _known(snapshot: Snapshot, rests: bool | None) -> Iterator[str]:
    name, kernel, tty = snapshot.foreground, snapshot.kernel, snapshot.tty
    yield "facts" if kernel is not None else "screen alone"
    if name is not None:
        interpreter = name.rstrip("0123456789.") in INTERPRETERS
        sort = "shell" if name in SHELLS else "relay" if name in RELAYS else "interpreter" if interpreter else "program"
        yield f"foreground {sort}"
    modes = "" if tty is None else f"echo {tty.echo} lines {tty.canonical}"
    if tty is not None:
        yield f"modes {modes}"
    if kernel is not None:
        yield f"listens {kernel.listening} {kernel.how}"
        yield f"runs {None if kernel.running is None else min(kernel.running, 2)}"
        yield f"listens {kernel.listening} {kernel.how} {modes}"
    if rests is not None:
        moves = "rests" if rests else "a clock" if _CLOCK.search(snapshot.screen.text) else "moves"
        yield f"moves {moves}"
        yield f"moves {moves} {kernel.listening if kernel else None} {modes}"
