"""How an agent ended its turn: it is done, it asks the person something, or it failed.  Pure.

From its last message, where no signal says it.  A question counts in any language by its mark; the words are for those
that need none.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

from attrs import frozen

from stallkit.detect.agent import NO_WORDS, Vocabulary
from stallkit.detect.composer import Composer
from stallkit.evidence.last_message import last_message, prose
from stallkit.terminal.screen import Screen
from stallkit.word_tables import Patterns, compiled, table

__all__ = ["EndedTurn", "TurnOutcome", "LASTING", "class_of", "ended_turn", "of_failure", "of_message"]


_of = Patterns("turns")
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

    Its class is the one that the program names, where that is one of ours, else the one that the words tell.

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
    """The last block of the rows, where that is an error of a known class by its first words, or raises one."""
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
    if not sentences:
        return False
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
