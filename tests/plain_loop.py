"""The specification of the engine: a plain loop over ordered signatures.

It is written with `re`, without a prefilter, a cache or a budget.  Nothing in it comes from the engine or the matcher;
screens and clauses are plain values.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Iterator

from stallkit.detect.composer import said_by_person
from stallkit.detect.engine import Engine
from stallkit.detect.matcher import Keywords, in_one_pass, one_by_one
from stallkit.detect.signature import Clause, CursorState, Pack, Signature, State
from stallkit.terminal.screen import Screen

TIERS = ["ended", "dialog", "quota", "working", "composer", "prompt_line", "maybe"]
SEARCHES = [in_one_pass, one_by_one]
MARKS = "❯›▸▶➤➜→●◉❭»>"
COLUMNS, TEXT = 500, 20_000  # characters of one line, and of a whole region, that a clause is shown


def tier(signature: Signature) -> int:
    if signature.given_tier is not None:
        return TIERS.index(signature.given_tier.name.lower())
    if signature.certainty == "maybe":
        return TIERS.index("maybe")
    if signature.state == "waiting":
        return TIERS.index("prompt_line" if any(c.where == "prompt_line" for c in signature.all_of) else "dialog")
    return TIERS.index({"ended": "ended", "quota": "quota", "working": "working", "idle": "composer"}[signature.state])


def in_order(packs: tuple[Pack, ...]) -> list[tuple[Pack, Signature]]:
    rows = []
    for place, pack in enumerate(packs):
        for number, one in enumerate(pack.signatures):
            generic = not pack.foreground
            key = (tier(one), generic, pack.priority, pack.distribution, pack.name, place, number)
            rows.append((key, pack, one))
    return [(pack, one) for _, pack, one in sorted(rows, key=lambda row: row[0])]


def left_of(line: str, column: int) -> str:
    """The part of a line in its first columns, filled up with blanks."""
    taken, shown = 0, ""
    for char in line:
        no_width = unicodedata.category(char) in ("Mn", "Me", "Cf")
        taken += 0 if no_width else 1 + (unicodedata.east_asian_width(char) in "WF")
        if taken > column:
            return shown.ljust(len(shown) + column - taken + 1 + (unicodedata.east_asian_width(char) in "WF"))
        shown += char
    return shown + " " * (column - taken)


def region(where: str, screen: Screen) -> tuple[str, int] | None:
    """The text that a clause looks at and the row where it begins: no line, and no text, longer than its bound."""
    found = unbounded(where, screen)
    if found is None:
        return None
    kept: list[str] = []
    lines = [line[max(0, len(line) - COLUMNS) :] for line in found[0].split("\n")]
    for line in reversed(lines):
        if kept and sum(map(len, kept)) + len(kept) + len(line) > TEXT:
            break
        kept.append(line)
    return "\n".join(reversed(kept)), found[1] + len(lines) - len(kept)


def unbounded(where: str, screen: Screen) -> tuple[str, int] | None:
    """The same with all that stands there."""
    lines = [line.rstrip() for line in screen.lines]
    filled = [row for row, line in enumerate(lines) if line]
    last = screen.last_live_row  # above what is fixed to the foot of a screen (tests/terminal/test_screen.py)
    if where == "screen":
        return "\n".join(lines), 0
    if where == "title":
        return None if screen.title is None else (screen.title, 0)
    if where.startswith("tail"):
        start = max(0, last + 1 - int(where[5:-1]))
        return "\n".join(lines[start : last + 1]), start
    if where == "block":
        shown = [row for row in filled if row <= last]
        marked = [row for row in shown if re.match(rf"[\s│┃║|▌▏]*[{MARKS}](\s|$|[◯◉○●☐☑\[])", screen.lines[row])]
        if not marked:
            return "", 0
        row = screen.cursor.row if screen.cursor and screen.cursor.row in marked else marked[-1]
        return around(row, lines)
    if screen.cursor is None:
        at, text = last, screen.lines[last]
    else:
        at = screen.cursor.row
        text = left_of(screen.lines[at] if at < len(lines) else "", screen.cursor.column)
    if where == "prompt_line":
        return text, at
    if where == "paragraph":
        if at >= len(lines) or not lines[at]:
            return "", at
        return around(at, lines)
    if where.startswith("down_to_cursor"):
        if screen.cursor is None:
            return None
        start = max(0, at + 1 - int(where[15:-1]))
        return "\n".join([*[*lines, *[""] * at][start:at], text.rstrip()]), start
    over = [row for row in filled if row < at]
    return (lines[over[-1]], over[-1]) if over else ("", 0)


def around(row: int, lines: list[str]) -> tuple[str, int]:
    """The lines around one, up and down to a blank one."""
    start = max([blank + 1 for blank in range(row) if not lines[blank]], default=0)
    end = min([blank for blank in range(row, len(lines)) if not lines[blank]], default=len(lines))
    return "\n".join(lines[start:end]), start


def ends(literal: str, text: str, start: int) -> int | None:
    """Where a literal found at a place ends: its closing blanks may be the end of the line."""
    if text.startswith(literal, start):
        return start + len(literal)
    body = start + len(literal.rstrip(" "))
    at_end = text.startswith(literal.rstrip(" "), start) and text[body : body + 1] in ("", "\n")
    return body if at_end and literal.endswith(" ") else None


def places(clause: Clause, text: str) -> Iterator[tuple[int, int]]:
    """Every place where a clause holds, the highest first."""
    if clause.pattern is not None:
        flags = re.MULTILINE | (re.IGNORECASE if clause.ignore_case else 0)
        yield from (match.span() for match in re.finditer(clause.pattern, text, flags))
        return
    literal = clause.text or ""
    for start in range(len(text)):
        if not clause.ignore_case:
            end = ends(literal, text, start)
        else:
            blanks = literal[len(literal.rstrip(" ")) :]
            source = re.escape(literal.rstrip(" ")) + (f"(?:{blanks}|$)" if blanks else "")
            found = re.compile(source, re.MULTILINE | re.IGNORECASE).match(text, start)
            end = found.end() if found else None
        if end is not None:
            yield start, end


def in_one_case(text: str) -> str:
    return "".join("i" if char in "\u0130\u0131" else char.casefold() for char in text)


def admitted(clause: Clause, text: str) -> bool:
    """Whether a region has what the author says that the clause needs."""
    shown = in_one_case(text)
    edges = shown.strip(" │┃|")
    return (
        any(in_one_case(keyword) in shown for keyword in clause.keywords or [""])
        and (not clause.begins or edges[:1] in [*in_one_case(clause.begins)])
        and (not clause.ends or edges[-1:] in [*in_one_case(clause.ends)])
    )


def rows(clause: Clause, screen: Screen) -> tuple[int, int] | None:
    """The first and last row of the lowest place where a clause holds; line ends around it belong to no row."""
    where = region(clause.where, screen)
    found = list(places(clause, where[0])) if where and admitted(clause, where[0]) else []
    if where is None or not found:
        return None
    start, end = found[-1]
    while start < end and where[0][start] == "\n":
        start += 1
    while start < end and where[0][end - 1] == "\n":
        end -= 1
    top = where[1] + where[0][:start].count("\n")
    return top, top + where[0][start:end].count("\n")


def holds(signature: Signature, screen: Screen) -> list[tuple[int, int]] | None:
    """The rows that each clause of a signature rests on, but for those on the title; None where it does not hold."""
    visible = screen.cursor.visible if screen.cursor else None
    wanted = {CursorState.ANY: (True, False), CursorState.VISIBLE: (True,), CursorState.HIDDEN: (False,)}
    if signature.cursor is CursorState.SEEN and not visible:
        return None
    if visible is not None and signature.cursor in wanted and visible not in wanted[signature.cursor]:
        return None
    found = {clause: rows(clause, screen) for clause in signature.all_of}
    if None in found.values() or any(rows(clause, screen) for clause in signature.none_of):
        return None
    placed = [at for clause, at in found.items() if at and clause.where != "title"]  # the title is in no row
    if signature.state is State.QUOTA and placed and all(said_by_person(screen, top) for top, _ in placed):
        return None  # who asks about a limit has not reached one
    return placed


def stale(one: Signature, at: list[tuple[int, int]], other: Signature, other_at: list[tuple[int, int]]) -> bool:
    """Whether a waiting signature counts no more: the other one goes on wholly below it, or it is a draft in it."""
    top, bottom = min((top for top, _ in at), default=-1), max((bottom for _, bottom in at), default=10_000)
    if other.state is State.IDLE:
        last = 1 if State.IDLE in one.allow_below else 0  # the status line of what stands above it
        if any(upper <= top and upper < bottom <= lower - last for upper, lower in other_at):
            return True
    return other.state not in one.allow_below and min((upper for upper, _ in other_at), default=-1) > bottom


def reference(packs: tuple[Pack, ...], screen: Screen) -> str | None:
    """The first signature, in order, that holds and is live."""
    order = in_order(packs)
    for pack, one in order:
        found = holds(one, screen)
        if found is None:
            continue
        lively = [other for _, other in order if other.state in (State.WORKING, State.IDLE)]
        below = [(other, holds(other, screen)) for other in lively if one.state is State.WAITING]
        if not any(other_at is not None and stale(one, found, other, other_at) for other, other_at in below):
            return f"{pack.name}:{one.id}"
    return None


def said(engine: Engine, screen: Screen) -> str | None:
    found = engine.detect(screen)
    assert not found.undecided
    return f"{found.match.pack.name}:{found.match.signature.id}" if found.match else None


def engines(packs: tuple[Pack, ...]) -> list[Engine]:
    """The engine with each way of searching for literals, whichever this machine would take."""
    made = []
    for search in SEARCHES:
        engine = Engine(packs)
        engine._keywords = Keywords(engine.signatures, search)
        made.append(engine)
    return made
