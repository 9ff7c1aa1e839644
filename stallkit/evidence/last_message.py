"""The last message of an agent that is at rest: the text above its composer.  Pure.

Agents draw differently, but alike in this: a message begins at a mark (●, •, ✦, ⏺, *) or after the person's own line
(> text), its text is indented by the same columns, code stands deeper, in a fence or behind numbers, and what stands
between it and the composer is short and known (a time, a tip, a folder).
"""

from __future__ import annotations

import re
from typing import Iterator, Sequence

from stallkit.detect.agent import NO_WORDS, Vocabulary
from stallkit.detect.composer import Composer, written
from stallkit.terminal.screen import Screen

__all__ = ["ITEM", "last_message", "prose"]

EDGE = "\0"  # in place of a row above which another message stands
# What programs draw around a message: boxes, titled rules, a bar at its left.
_SIDE = r"[│┃║]"
_BORDERS = rf"(?:{_SIDE} ?){{0,3}}"
_RIGHT_SIDES = r"[ │┃║█▀▁▂▃▄▅▆▇▐▕]*$"  # the frames' right sides, and a scroll bar
_TOP = re.compile(rf"^ *{_BORDERS} *[╭┌┏╔].*[─━═╮┐┓╗]{_RIGHT_SIDES}")
_BOTTOM = re.compile(rf"^ *{_BORDERS} *[╰└┗╚][─━═].*[─━═╯┘┛╝]{_RIGHT_SIDES}")
_TITLED = re.compile(r"^ *(?:[─━═]{1,4} +\S.{0,60}? +[─━═]{8,}|[─━═]{8,} +\S.{0,60}? +[─━═]{1,4}) *$")
_BOXED = re.compile(rf"^ *(?:{_SIDE} ?)+([^│┃║]*?) *{_SIDE}(?: *[│┃║█▀▁▂▃▄▅▆▇▐▕])* *$")
_TABLE = re.compile(r"[┬┴┼├┤╤╧╪]")
_LEFT_BAR = re.compile(r"^ {0,3}[┃▌] ?")
_NAMED = re.compile(r"^ {0,3}\S.{0,40}:$")  # who says what stands at the bar below
_PERSONS_NAME = re.compile(r"^ *(?:you|user|human|me|ich|vous|tú|tu|voce|você|вы|あなた|你|나)\b", re.IGNORECASE)

ROWS = 60  # above the composer, looked at
_BAR = re.compile(r"\s*[│┃║█▄▀▐▕|]+$")  # a frame or a scroll bar, at the right
_RULE = re.compile(r"^[\s─━═▀▄╭╮╰╯┌┐└┘╹╻=_-]{3,}$|^\s*[>❯›]?\s*$")
_PERSON = re.compile(r"^ {0,3}(?:[>❯›]|\w{0,10}> |┃|▌)\s*\S")
_COMPOSER = re.compile(r"^\s*[│┃]?\s*[>❯›●*!](?:\s|$)")
_FRAME = re.compile(r"^\s*[─━═▀▄╭╮╰╯┌┐└┘╹╻]{3,}\s*$")
_MARK = re.compile(r"^( {0,3})(?:[●•✦⏺◆✗✕✖■⚠ℹ*]|⎿|└)\s+(?=\S)")
_CALL = re.compile(r"\s*(?:[^\w\s]|[xo]) {2,3}[A-Z]\w* ")  # how far a tool is, and which: the first row of its box
# What programs write below a message: tips, the folder, keys.  Packs know more of theirs.
_CHROME = re.compile(
    r"^\s*(?:└? ?Tip: |\? for shortcuts|[Ss]hift\+[Tt]ab |Ctrl\+\w |(?:~|/)\S*(?: \[.*\])?$|Press \w+ again|Esc )"
)
# The same of programs that no pack knows, right above the composer: counts, a status, notes, an offer to help.
_STATUS = re.compile(
    r"^\s*~?[\d.]+k? tokens$|^\s*(?:[\d.,]+ ?[A-Za-z%]{0,8}(?:\s*[•·|,/]\s*|\s*$)){2,6}$"
    r"|^\s*(?:[^│|]{1,30} [│|] ){2,}|^· \S"
    r"|^(?:What|How) (?:would|do|can) (?:you|I) (?:like me to help|want to do|help)\b.{0,30}\?$"
)
# How full something is, as a bar or in per cent, on a row of its own.
_GAUGE = re.compile(
    r"^[^.?!]{0,60}(?:[█▉▊▋▌▍▎▏▓▒░▰▱■□●○━╸╺⣿⣀]{5,}|\[[=#>. -]{5,}\])[^.?!]{0,40}$"
    r"|^\W*(?:[\w-]+:? ){0,4}\d+(?:\.\d+)? ?%(?: [\w-]+){0,4}\W*$"
)
_BELOW = (_RULE, _STATUS, _GAUGE)
_SPEAKER = re.compile(r"^()(?:assistant|system|ai|agent|bot|model):(?:\s+|$)", re.IGNORECASE)
_LEAD = re.compile(r"\S{1,16}(?: \S{1,2})?")  # a prompt at which a person types to it
_RIGHT = 30  # columns of blanks before a row that is aligned at the right
_FRAMED = re.compile(r"^ {0,3}┃\s*(?=\S)")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_NUMBERED = re.compile(r"^\s*\d+ (?= *\S)(?!\d*[.)])")
_QUOTED = re.compile(r"^\s*>|^\s*[│▌]")
_SOURCE = re.compile(
    r"^\s*(?:# |// |/\*|[A-Za-z_][\w.\[\]]* [-+|]?= )"
    r"|^\s*(?:if|for|while|def|class|return|raise|import|from|const|let) .*[:;)\"]$"
    r"|[;{}]$"
)
# A prompt with its answer behind it: what it asked is over.
_ANSWERED = re.compile(
    r"\?\s+(?:/?\([A-Z]\)[\w' ]*?)+ ?\[\w+\]:\s+\S"
    r"|\?\s+[\[(]\w{1,6}(?:[/,|]\w{1,6})+[\])](?: ?[\[(]\w+[\])])?:?\s+\w{1,12}$"
    r"|^\s*[✔✓◇] .{1,80}\s[…·›»]\s+\S"
)
# A program's name and version, alone on a row: where it was started.
_BANNER = re.compile(r"^\W*(?:[\w.-]+ ){1,3}\(?v\d+\.\d+[\w.-]*\)?\W*$")
ITEM = re.compile(r"^\s*(?:[-*•·]|\d+[.)]|[A-Za-z][.)]|\[.\])\s+")


def _above(screen: Screen, bottom: int, words: Vocabulary) -> list[str]:
    """The rows above the composer, without what stands between the message and it."""
    rows = unframed(screen.lines[max(0, bottom - ROWS) : bottom])
    rows = [row if row == EDGE else _BAR.sub("", row.rstrip()).rstrip() for row in rows]
    below = ""
    while rows and (rows[-1] == EDGE or any(one.match(rows[-1]) for one in _BELOW) or _is_chrome(rows[-1], words)):
        below = rows.pop().strip() or below
    return _failure(rows, words) if words.is_over(below) else rows


def _failure(rows: list[str], words: Vocabulary) -> list[str]:
    """Rows whose last ones may be in a frame: an agent frames what its person says, and its own failures.

    Only a failure is followed by the line that its turn is over, and has something of that turn above it.
    """
    top = len(rows)
    while top and _FRAMED.match(rows[top - 1]):
        top -= 1
    above = next((row.strip() for row in reversed(rows[:top]) if row.strip()), "")
    if top == len(rows) or not above or words.is_below(above):
        return rows
    first, *more = [_FRAMED.sub("", row).strip() for row in rows[top:]]
    return [f"● Error: {first}", *(f"  {row}" for row in more)]


def last_message(
    screen: Screen, composer: Composer | None = None, top: int | None = None, words: Vocabulary = NO_WORDS
) -> tuple[list[str], bool, bool]:
    """The rows of the last block of text above the composer, its mark removed; empty where there is none.

    Also whether it is whole (what it begins with is in sight), and whether the person's own line stands right above it,
    so that nothing was done in between.  Where the composer is not described, it begins at the row
    `top`, or else it is what the cursor stands in, or the lowest row between two rules.
    """
    found: list[str] = []
    whole = at_once = False
    bottom = _top(screen, composer, top)
    lead = _lead(screen, bottom)
    above = _above(screen, bottom, words)
    for place, row in reversed([*enumerate(above)]):
        mark = _MARK.match(row) or _SPEAKER.match(row)
        if row == EDGE and not any(line.strip() for line in found):
            continue
        if row == EDGE and _CALL.match(next(line for line in reversed(found) if line.strip())):
            found.clear()  # a tool's box is no message, whatever it holds
            continue
        if row == EDGE or (mark is None and (_PERSON.match(row) or (lead and row.startswith(lead)))):
            whole = at_once = True
            break
        if _RULE.match(row) or _is_chrome(row, words):
            if found and not _RULE.match(row):
                break
            if found and not row.strip():
                found.append("")
            continue
        found.append(" " * mark.end() + row[mark.end() :] if mark else row)
        if mark and words.is_notice(row[mark.end() :]):
            found.clear()
        elif mark:
            whole, before = True, next((line for line in reversed(above[:place]) if line.strip()), "")
            at_once = before == EDGE or _PERSON.match(before) is not None
            break
    rows = found[::-1] if whole else _without_start(found[::-1])
    while rows and not rows[0].strip():
        rows.pop(0)
    return rows, whole, at_once


def _without_start(rows: list[str]) -> list[str]:
    """Rows of which no mark says where the message begins, without what stands above it: a banner, a wide gap."""
    start = max((at for at, row in enumerate(rows) if _BANNER.match(row)), default=-1)
    if start >= 0:
        start = next((at for at in range(start, len(rows)) if not rows[at].strip()), len(rows))
    gaps = [at for at in range(2, len(rows)) if rows[at].strip() and not (rows[at - 1].strip() or rows[at - 2].strip())]
    return rows[max([start, *gaps], default=0) :] if start >= 0 or gaps else rows


def prose(rows: Sequence[str]) -> list[str]:
    """The paragraphs of a message, each on one line: without code, quotations and tools' output.

    An item of a list is a paragraph of its own, and keeps its mark.

    >>> prose(["  It works.", "", "      $ make", "", "  Shall I", "  go on?"])
    ['It works.', 'Shall I go on?']
    """
    return [text for text in _paragraphs(_without_code(rows)) if text]


def _lead(screen: Screen, bottom: int) -> str:
    """What every line of the person begins with, where that is a prompt; else nothing."""
    prompt = screen.lines[bottom].strip() if bottom < len(screen.lines) else ""
    return f"{prompt} " if _LEAD.fullmatch(prompt) else ""


def _top(screen: Screen, composer: Composer | None, top: int | None) -> int:
    """The composer's first row."""
    found = written(screen, composer) if composer else None
    if found is not None:
        return found.start
    if top is not None:
        return top
    lines = screen.lines
    for row in range(len(lines) - 2, 0, -1):
        if _COMPOSER.match(lines[row]) and _FRAME.match(lines[row - 1]) and _FRAME.match(lines[row + 1]):
            return row
    return screen.cursor.row if screen.cursor else len(screen.lines)


def _is_chrome(row: str, words: Vocabulary) -> bool:
    aligned = len(row) - len(row.lstrip(" ")) >= _RIGHT
    return aligned or _CHROME.match(row) is not None or words.is_below(row)


def _without_code(rows: Sequence[str]) -> Iterator[str]:
    indents = [len(row) - len(row.lstrip(" ")) for row in rows if row.strip()]
    own, fenced, item = (min(indents) if indents else 0), False, False
    for row in rows:
        if _FENCE.match(row):
            fenced = not fenced
            yield ""
            continue
        deeper = len(row) - len(row.lstrip(" ")) >= own + 2
        item = bool(ITEM.match(row)) or (item and deeper and bool(row.strip()))
        code = fenced or _SOURCE.search(row) or _NUMBERED.match(row) or _QUOTED.match(row) or (deeper and not item)
        yield "" if code or _ANSWERED.search(row) else row.strip()


def _paragraphs(rows: Iterator[str]) -> Iterator[str]:
    held: list[str] = []
    for row in rows:
        if not row or ITEM.match(row):
            yield " ".join(held)
            held = []
        if row:
            held.append(row)
    yield " ".join(held)


def unframed(rows: Sequence[str]) -> list[str]:
    """The rows, each at its place; a table keeps its lines, which are a message's own.

    >>> unframed(["╭─ agent ─╮", "│ Done.   │", "╰─────────╯"])
    ['\\x00', 'Done.', '']
    """
    plain = [_without_box(row) for row in rows]
    for at, row in enumerate(plain):
        if _NAMED.match(row.rstrip()) and not _PERSONS_NAME.match(row) and _is_barred(plain, at + 1):
            plain[at] = EDGE
            for below in range(_first_bar(plain, at + 1), len(plain)):
                if not _LEFT_BAR.match(plain[below]):
                    break
                plain[below] = _LEFT_BAR.sub("", plain[below])
    return plain


def _without_box(row: str) -> str:
    if _TABLE.search(row):
        return row
    if _BOTTOM.match(row):
        return ""
    if _TITLED.match(row) or _TOP.match(row):
        return EDGE
    boxed = _BOXED.match(row)
    return boxed[1] if boxed else row


def _is_barred(rows: Sequence[str], at: int) -> bool:
    first = _first_bar(rows, at)
    return first < len(rows) and _LEFT_BAR.match(rows[first]) is not None


def _first_bar(rows: Sequence[str], at: int) -> int:
    """The first row from there that is not blank."""
    while at < len(rows) and not rows[at].strip():
        at += 1
    return at
