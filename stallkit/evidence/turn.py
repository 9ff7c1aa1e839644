"""An agent's turn: its last message, how it ended, and whether the program goes on on its own.  Pure.

Agents draw differently, but alike in this: a message begins at a mark (●, •, ✦, ⏺, *) or after the person's own line
(> text), its text is indented by the same columns, code stands deeper, in a fence or behind numbers, and what stands
between it and the composer is short and known (a time, a tip, a folder).

If no signal says how a turn ended, the last message does.  A question counts in any language by its mark; the words are
for those that need none.  A refused request that is sent again, and a limit whose end is awaited, are known by words of
any program and by those that packs have of their own (`Vocabulary`): the lowest of them count, below the last message.
"""

from __future__ import annotations

import re
from enum import Enum, StrEnum, auto
from functools import cache, lru_cache
from typing import Callable, Iterator, Sequence

from attrs import frozen

from stallkit.detect.agent import NO_WORDS, Vocabulary
from stallkit.detect.composer import Composer, written
from stallkit.terminal.screen import Screen
from stallkit.word_tables import Patterns, compiled, table

# --- the last message ---

EDGE = "\0"  # in place of a row above which another message stands
_of = Patterns("turns")
ROWS = 60  # above the composer, looked at
_RIGHT = 30  # columns of blanks before a row that is aligned at the right


def _above(screen: Screen, bottom: int, words: Vocabulary, fails: Callable[[str], bool]) -> list[str]:
    """The rows above the composer, without what stands between the message and it."""
    rows = unframed(screen.lines[max(0, bottom - ROWS) : bottom])
    rows = [row if row == EDGE else _of.right_bar.sub("", row.rstrip()).rstrip() for row in rows]
    below = ""
    while rows and (rows[-1] == EDGE or _is_status(rows[-1]) or _is_chrome(rows[-1], words)):
        below = rows.pop().strip() or below
    return _failure(rows, words, fails) if words.is_over(below) else rows


def _failure(rows: list[str], words: Vocabulary, fails: Callable[[str], bool]) -> list[str]:
    """Rows whose last ones may be in a frame: an agent frames what its person says, and its own failures.

    A failure is followed by the line that its turn is over, and has something of that turn above it.  So may be what a
    person said who interrupted the agent before it answered: its words tell.
    """
    top = len(rows)
    while top and _of.framed.match(rows[top - 1]):
        top -= 1
    above = next((row.strip() for row in reversed(rows[:top]) if row.strip()), "")
    framed = [_of.framed.sub("", row).strip() for row in rows[top:]]
    if not framed or not above or words.is_below(above) or not fails(" ".join(framed)):
        return rows
    first, *more = framed
    return [f"● Error: {first}", *(f"  {row}" for row in more)]


def last_message(
    screen: Screen, composer: Composer | None, top: int | None, words: Vocabulary, fails: Callable[[str], bool]
) -> tuple[list[str], bool, bool]:
    """The rows of the last block of text above the composer, its mark removed; empty if there is none.

    Also whether it is whole (what it begins with is in sight), and whether the person's own line stands right above it,
    so that nothing was done in between.  Where the composer is not described, it begins at the row
    `top`, or else it is what the cursor stands in, or the lowest row between two rules.  `fails` says whether a text
    tells of a failure.
    """
    found: list[str] = []
    whole = at_once = False
    bottom = _top(screen, composer, top)
    lead = _lead(screen, bottom)
    above = _above(screen, bottom, words, fails)
    for place, row in reversed([*enumerate(above)]):
        mark = _of.mark.match(row) or _of.speaker.match(row)
        if row == EDGE and not any(line.strip() for line in found):
            continue
        if row == EDGE and _of.call.match(next(line for line in reversed(found) if line.strip())):
            found.clear()  # a tool's box is no message, whatever it holds
            continue
        if row == EDGE or (mark is None and (_of.person.match(row) or (lead and row.startswith(lead)))):
            whole = at_once = True
            break
        if _of.rule.match(row) or _is_chrome(row, words):
            if found and not _of.rule.match(row):
                break
            if found and not row.strip():
                found.append("")
            continue
        found.append(" " * mark.end() + row[mark.end() :] if mark else row)
        if mark and words.is_notice(row[mark.end() :]) and _fails_above(above[:place], words, fails):
            found.clear()
        elif mark:
            whole, before = True, next((line for line in reversed(above[:place]) if line.strip()), "")
            at_once = before == EDGE or _of.person.match(before) is not None
            break
    rows = found[::-1] if whole else _without_start(found[::-1])
    while rows and not rows[0].strip():
        rows.pop(0)
    return rows, whole, at_once


def _fails_above(rows: list[str], words: Vocabulary, fails: Callable[[str], bool]) -> bool:
    """Whether the last message that begins with a mark tells of a failure, or only points at one above it."""
    start = next((at for at in range(len(rows) - 1, -1, -1) if _of.mark.match(rows[at])), None)
    if start is None:
        return False
    message = " ".join(_of.mark.sub("", row).strip() for row in rows[start:]).strip()
    return fails(message) or (words.is_notice(message) and _fails_above(rows[:start], words, fails))


def _without_start(rows: list[str]) -> list[str]:
    """Rows of which no mark says where the message begins, without what stands above it: a banner, a wide gap."""
    start = max((at for at, row in enumerate(rows) if _of.banner.match(row)), default=-1)
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
    """What every line of the person begins with, if that is a prompt; else nothing."""
    prompt = screen.lines[bottom].strip() if bottom < len(screen.lines) else ""
    return f"{prompt} " if _of.lead.fullmatch(prompt) else ""


def _top(screen: Screen, composer: Composer | None, top: int | None) -> int:
    """The composer's first row."""
    found = written(screen, composer) if composer else None
    if found is not None:
        return found.start
    if top is not None:
        return top
    lines = screen.lines
    for row in range(len(lines) - 2, 0, -1):
        if _of.composer.match(lines[row]) and _of.frame.match(lines[row - 1]) and _of.frame.match(lines[row + 1]):
            return row
    return screen.cursor.row if screen.cursor else len(screen.lines)


def _is_status(row: str) -> bool:
    return any(one.match(row) for one in (_of.rule, _of.status, _of.gauge))


def _is_chrome(row: str, words: Vocabulary) -> bool:
    aligned = len(row) - len(row.lstrip(" ")) >= _RIGHT
    return aligned or _of.chrome.match(row) is not None or words.is_below(row)


def _without_code(rows: Sequence[str]) -> Iterator[str]:
    indents = [len(row) - len(row.lstrip(" ")) for row in rows if row.strip()]
    own, fenced, item = (min(indents) if indents else 0), False, False
    for row in rows:
        if _of.fence.match(row):
            fenced = not fenced
            yield ""
            continue
        deeper = len(row) - len(row.lstrip(" ")) >= own + 2
        item = bool(_of.item.match(row)) or (item and deeper and bool(row.strip()))
        quoted = _of.source.search(row) or _of.numbered.match(row) or _of.quoted.match(row)
        yield "" if fenced or quoted or (deeper and not item) or _of.answered.search(row) else row.strip()


def _paragraphs(rows: Iterator[str]) -> Iterator[str]:
    held: list[str] = []
    for row in rows:
        if not row or _of.item.match(row):
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
        if _of.named.match(row.rstrip()) and not _of.persons_name.match(row) and _is_barred(plain, at + 1):
            plain[at] = EDGE
            for below in range(_first_bar(plain, at + 1), len(plain)):
                if not _of.left_bar.match(plain[below]):
                    break
                plain[below] = _of.left_bar.sub("", plain[below])
    return plain


def _without_box(row: str) -> str:
    if _of.table.search(row):
        return row
    if _of.bottom.match(row):
        return ""
    if _of.titled.match(row) or _of.top.match(row):
        return EDGE
    boxed = _of.boxed.match(row)
    return boxed[1] if boxed else row


def _is_barred(rows: Sequence[str], at: int) -> bool:
    first = _first_bar(rows, at)
    return first < len(rows) and _of.left_bar.match(rows[first]) is not None


def _first_bar(rows: Sequence[str], at: int) -> int:
    """The first row from there that is not blank."""
    while at < len(rows) and not rows[at].strip():
        at += 1
    return at


# --- how the turn ended ---

# Of the classes of failures those of which no further try helps.
LASTING = frozenset({"authentication_failed", "billing_error", "context_full", "invalid_request"})
WORDS = 500  # characters of a message that are told
_OPENING = '[({"✕✗⎢⎣ '  # what may stand before the words of an error
UNKNOWN = "unknown"


class TurnOutcome(StrEnum):
    """How a turn ended."""

    DONE = "done"
    ASKS = "asks"
    FAILED = "failed"


@frozen
class EndedTurn:
    """How a turn ended, and the end of its last message; `error` is the class of a failure.

    `question` is the sentence that asks, alone; `whole`: the message is all of it; `at_once`: it stands right below the
    person's own line, or may.
    """

    how: TurnOutcome
    message: str = ""
    error: str | None = None
    question: str = ""
    whole: bool = False
    at_once: bool = True


def ended_turn(
    screen: Screen, composer: Composer | None = None, top: int | None = None, words: Vocabulary = NO_WORDS
) -> EndedTurn:
    """How the turn ended whose last message stands above the composer, which is described, or begins at row `top`.

    `words` are those of known agents.
    """
    return _of_rows(*last_message(screen, composer, top, words, _tells_failure))


def of_message(message: str) -> EndedTurn:
    """How the turn ended whose last message is known, line by line.

    >>> of_message("I renamed it.\\n\\nShall I run the tests?").how
    <TurnOutcome.ASKS: 'asks'>
    """
    return _of_rows(message.split("\n"), whole=True)


def of_failure(words: str, error: str, shown: EndedTurn) -> EndedTurn:
    """How the turn ended of which its program says that it failed: in its words, or else those that are `shown`.

    Its class is the one that the program names, if that is one of ours, else the one that the words tell.

    >>> shown = EndedTurn(TurnOutcome.DONE, "unexpected status 401 Unauthorized")
    >>> of_failure("", "error", shown).error
    'authentication_failed'
    """
    tells = words and (class_of(words) != UNKNOWN or shown.how is not TurnOutcome.FAILED)
    text = words if tells else shown.message or words
    return EndedTurn(TurnOutcome.FAILED, text[:WORDS], error if error in _failures() else class_of(f"{text} {error}"))


def _of_rows(rows: list[str], whole: bool, at_once: bool = True) -> EndedTurn:
    paragraphs = prose(rows)
    text = _said(rows)
    if _of.fails.match(text.lstrip(_OPENING)):
        return EndedTurn(TurnOutcome.FAILED, text[:WORDS], class_of(text))
    failure = _failure_below(rows)
    if failure:
        return EndedTurn(TurnOutcome.FAILED, failure[:WORDS], class_of(failure))
    stopped = _of.stopped.match(text) or (rows and _of.stopped.match(rows[-1].lstrip(_OPENING)))
    if paragraphs and not stopped and _asks(paragraphs):
        message = _end_of(paragraphs)
        last = [one.strip() for one in _of.sentence.split(paragraphs[-1]) if one.strip()][-1]
        return EndedTurn(
            TurnOutcome.ASKS, message, question=last, whole=whole and message == _said(rows), at_once=at_once
        )
    return EndedTurn(TurnOutcome.DONE, _end_of(paragraphs))


def _tells_failure(text: str) -> bool:
    return _of.fails.match(text.lstrip(_OPENING)) is not None or class_of(text) != UNKNOWN


def _failure_below(rows: list[str]) -> str:
    """The last block of the rows, if that is an error of a known class by its first words, or raises one."""
    last: list[str] = []
    for row in reversed(rows):
        if last and not row.strip():
            break
        last = [row, *last] if row.strip() else last
    raised = next((at for at in range(len(last) - 1, -1, -1) if _of.raised.match(last[at])), None)
    text = _said(last[raised or 0 :])
    fails = raised is not None or _of.fails.match(text.lstrip(_OPENING))
    return text if fails and class_of(text) != UNKNOWN else ""


def class_of(text: str) -> str:
    """The class of a failure, by the words that tell it.

    >>> class_of("401 invalid x-api-key"), class_of("It broke.")
    ('authentication_failed', 'unknown')
    """
    return next((name for name, pattern in _failures().items() if pattern.search(text)), UNKNOWN)


@cache
def _failures() -> dict[str, re.Pattern[str]]:
    """The patterns of the classes of failures, in the order in which they are tried."""
    return {name: compiled(f"(?i){'|'.join(some)}") for name, some in table("turns")["failures"].items()}


def _asks(paragraphs: list[str]) -> bool:
    """Whether the last sentence asks, or the one before it, where the last one speaks to the person.

    The options of a question are below it: a list at the end is passed over, if what is above it asks.
    """
    above = paragraphs[:]
    while above and _of.item.match(above[-1]):
        if any(_question(sentence) for sentence in _of.sentence.split(above.pop())):
            return True
    last = above[-2:] or paragraphs[-1:]
    sentences = [one.strip() for paragraph in last for one in _of.sentence.split(paragraph) if one.strip()]
    if len(sentences) > 1 and _of.closing.match(sentences[-1]):
        sentences.pop()
    if _question(sentences[-1]) or _question(paragraphs[-1]):
        return True
    if len(sentences) < 2 or not _question(sentences[-2]):
        return False
    return bool(_of.to_the_person.search(sentences[-1]) or _of.asked.search(sentences[-2]))


def _question(sentence: str) -> bool:
    return bool(_of.question.search(sentence.strip()) or _of.no_mark.search(sentence.strip()))


def _end_of(paragraphs: list[str]) -> str:
    text = " ".join(paragraphs)
    return text if len(text) <= WORDS else f"…{text[-WORDS:]}"


def _said(rows: list[str]) -> str:
    """All of a message, on one line: code and quotations too."""
    return " ".join(" ".join(rows).split())


# --- what it tries again ---

BOTTOM_ROWS = 18  # at the bottom of the screen, looked at
ROW_WORDS = 200  # characters of a row that are told

_tries = Patterns("prompts")
# One of these stands in whatever fits, in small letters; none has a letter with a third form (i, k, s).
_NEEDS = ("retry", "attempt", "reconnect", "cont")


class _Row(Enum):
    """What a row says that does not say that the program goes on."""

    PERSON = auto()
    STAYS = auto()
    MESSAGE = auto()
    NOTHING = auto()


def retrying(screen: Screen, words: Vocabulary = NO_WORDS) -> str | None:
    """The row that says so, in any program's words or in those of known agents; None if none does.

    >>> retrying(Screen.from_text("✻ API error · Retrying in 2s · attempt 3/10"))
    '✻ API error · Retrying in 2s · attempt 3/10'
    """
    persons = 0
    rows = [_row_said(drawn, words) for drawn in screen.tail(BOTTOM_ROWS).text.split("\n")]
    for said in reversed([row for row in rows if row is not _Row.NOTHING]):
        if said is _Row.PERSON:
            persons += 1  # the lowest is the composer, or what was asked last
            if persons > 1:
                return None
        elif isinstance(said, str):
            return said
        else:
            return None
    return None


@lru_cache(maxsize=4_096)  # most rows stood in the look before
def _row_said(drawn: str, words: Vocabulary) -> str | _Row:
    """The words of a row that says so, or else what it is."""
    row = _tries.sides.sub("", drawn)
    if _tries.person.match(row):
        return _Row.PERSON
    if words.stays(row):
        return _Row.STAYS
    small = row.lower()
    if words.retries(row) or (any([piece in small for piece in _NEEDS]) and _tries.goes_on.search(row)):
        return row.strip(" │┃╭╰")[:ROW_WORDS].strip()
    return _Row.MESSAGE if _tries.message.match(row) else _Row.NOTHING
