"""How an agent ended its turn: it is done, it asks the person something, or it failed.  Pure.

From its last message, where no signal says it.  A question counts in any language by its mark; the words are for those
that need none.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from stallkit.core.composer import Composer
from stallkit.core.last_message import ITEM, last_message, prose
from stallkit.core.screen import Screen
from stallkit.core.turn_words import ASKED, CLASSES, CLOSING, FAILS, NO_MARK, QUESTION, SENTENCE, STOPPED, TO_THE_PERSON

__all__ = ["EndedTurn", "How", "ended_turn", "of_message"]

WORDS = 500  # characters of a message that are told


class How(StrEnum):
    """How a turn ended."""

    DONE = "done"
    ASKS = "asks"
    FAILED = "failed"


@frozen
class EndedTurn:
    """How a turn ended, and the end of its last message; `error` is the class of a failure.

    `question` is the sentence that asks, alone; `whole`: the message is all of it.
    """

    how: How
    message: str = ""
    error: str | None = None
    question: str = ""
    whole: bool = False


def ended_turn(screen: Screen, composer: Composer | None = None) -> EndedTurn:
    """How the turn ended whose last message stands above the composer, which may be described."""
    rows, whole = last_message(screen, composer)
    return _of_rows(rows, whole)


def of_message(message: str) -> EndedTurn:
    """How the turn ended whose last message is known, line by line.

    >>> of_message("I renamed it.\\n\\nShall I run the tests?").how
    <How.ASKS: 'asks'>
    """
    return _of_rows(message.split("\n"), whole=True)


def _of_rows(rows: list[str], whole: bool) -> EndedTurn:
    paragraphs = prose(rows)
    text = _said(rows)
    if FAILS.match(text.lstrip("[(✕✗ ")):
        return EndedTurn(How.FAILED, text[:WORDS], _class_of(text))
    if paragraphs and not STOPPED.match(text) and _asks(paragraphs):
        message = _end_of(paragraphs)
        last = [one.strip() for one in SENTENCE.split(paragraphs[-1]) if one.strip()][-1]
        return EndedTurn(How.ASKS, message, question=last, whole=whole and message == _said(rows))
    return EndedTurn(How.DONE, _end_of(paragraphs))


def _class_of(text: str) -> str:
    return next((name for name, pattern in CLASSES if pattern.search(text)), "unknown")


def _asks(paragraphs: list[str]) -> bool:
    """Whether the last sentence asks, or the one before it, where the last one speaks to the person.

    The options of a question are below it: a list at the end is passed over, if what is above it asks.
    """
    above = paragraphs[:]
    while above and ITEM.match(above[-1]):
        if any(_question(sentence) for sentence in SENTENCE.split(above.pop())):
            return True
    last = above[-2:] or paragraphs[-1:]
    sentences = [one.strip() for paragraph in last for one in SENTENCE.split(paragraph) if one.strip()]
    if not sentences:
        return False
    if len(sentences) > 1 and CLOSING.match(sentences[-1]):
        sentences.pop()
    if _question(sentences[-1]) or _question(paragraphs[-1]):
        return True
    if len(sentences) < 2 or not _question(sentences[-2]):
        return False
    return bool(TO_THE_PERSON.search(sentences[-1]) or ASKED.search(sentences[-2]))


def _question(sentence: str) -> bool:
    return bool(QUESTION.search(sentence.strip()) or NO_MARK.search(sentence.strip()))


def _end_of(paragraphs: list[str]) -> str:
    text = " ".join(paragraphs)
    return text if len(text) <= WORDS else f"…{text[-WORDS:]}"


def _said(rows: list[str]) -> str:
    """All of a message, on one line: code and quotations too."""
    return " ".join(" ".join(rows).split())
