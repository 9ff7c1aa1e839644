"""Whether a program says that it goes on by itself: a refused request that it sends again, a limit whose end it awaits.

Pure.  The words are those of any program, and those that packs have of their own (`Vocabulary`); the lowest of them
count, and only below the last message.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache

from stallkit.detect.agent import NO_WORDS, Vocabulary
from stallkit.terminal.screen import Screen
from stallkit.word_tables import Patterns

__all__ = ["retrying"]

ROWS = 18  # at the bottom of the screen, looked at
WORDS = 200  # characters of a row that are told

_of = Patterns("prompts")
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
    rows = [_said(drawn, words) for drawn in screen.tail(ROWS).text.split("\n")]
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
def _said(drawn: str, words: Vocabulary) -> str | _Row:
    """The words of a row that says so, or else what it is."""
    row = _of.sides.sub("", drawn)
    if _of.person.match(row):
        return _Row.PERSON
    if words.stays(row):
        return _Row.STAYS
    small = row.lower()
    if words.retries(row) or (any([piece in small for piece in _NEEDS]) and _of.goes_on.search(row)):
        return row.strip(" │┃╭╰")[:WORDS].strip()
    return _Row.MESSAGE if _of.message.match(row) else _Row.NOTHING
