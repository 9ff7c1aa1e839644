"""Where a person types to an agent: the rows of its composer, and what they typed before.  Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import regex
from attrs import evolve, field, frozen

from stallkit.terminal.screen import Cursor, Screen
from stallkit.terminal.text import cells, fold, strip
from stallkit.word_tables import MODELS, Patterns

# --- what was said ---

_of = Patterns("prompts")
_ROWS = 40  # of one message, looked at
# What programs speak of that chat with a model, and others hardly do.
_TALK = re.compile(
    r"\b(?:tokens?|context|model|llm|prompt|agent|assistant|chat|mcp|provider|conversation|session|yolo|approve|approval|"
    rf"auto-approve|tool|thinking|reasoning|ctx|{'|'.join(sorted(MODELS))})\b|/help\b|🤖|you:|ai:",
    re.IGNORECASE,
)
_TALKS = 2  # different words of them


def names_person(line: str) -> bool:
    """Whether a prompt is only what a program calls the person at it: it may ask for a name, or for anything.

    >>> names_person("User:"), names_person("Username:")
    (True, False)
    """
    return _of.name_alone.match(line) is not None


def talks_here(screen: Screen, line: str) -> bool:
    """Whether a prompt is the name at which a person has written messages above: no login, that takes one word.

    >>> talks_here(Screen.from_text("User: what else\\nThat is all.\\nUser:"), "User:")
    True
    >>> talks_here(Screen.from_text("User: ada\\nLogin incorrect\\nUser:"), "User:")
    False
    """
    alone = _of.name_alone.match(line)
    return alone is not None and any(
        spoken[1] == alone[1] for spoken in map(_of.said_at.match, screen.lines) if spoken is not None
    )


def talks(screen: Screen) -> bool:
    """Whether the screen speaks as programs do that chat with a model.

    >>> talks(Screen.from_text("12k tokens | /help\\n> "))
    True
    """
    return len({word.lower() for word in _TALK.findall(screen.text)}) >= _TALKS


def said_by_person(screen: Screen, row: int) -> bool:
    """Whether a row belongs to a message that a person typed: it has their mark, or goes on from a row that has it.

    >>> said_by_person(Screen.from_text("> It fails with\\n  rate limit exceeded"), 1)
    True
    >>> said_by_person(Screen.from_text("> It fails\\n\\n  rate limit exceeded"), 2)
    False
    """
    for at in range(min(row, len(screen.lines) - 1), max(-1, row - _ROWS), -1):
        line = screen.lines[at]
        if _of.said_begins.match(line):
            return True
        if not _of.said_goes_on.match(line):
            return False
    return False


# --- the composer ---

TIMEOUT_S = 0.025  # for one pattern on one row: ordinary ones take microseconds
_ABOVE = 2  # rows that `above` is shown


def _pattern(value: str) -> str:
    regex.compile(value)  # raises regex.error, which names what is wrong
    return value


@frozen
class Composer:
    """How an agent draws its composer: patterns of what stands around the text and left of it.

    `above` matches the end of the two rows above the text, `lead` and `more` what stands left of it in its first and
    its further rows, and `below` the beginning of what follows its last row; rows are padded with blanks to the width
    of the screen.  `placeholder` is what stands instead of a text, as what is dim does.  `modes` are first characters
    of a text that the agent does not take as text, `lists` those of a last word for which it shows a list from which
    Enter would choose.  `lines`: it takes several lines by bracketed paste, and shows them as they are.
    Raises regex.error for an invalid pattern.

    >>> Composer(lead="> ", lists="@").typed("look at @notes")
    'look at @notes '
    """

    lead: str = field(converter=_pattern)
    more: str = field(default="  ", converter=_pattern)
    above: str = field(default="", converter=_pattern)
    below: str = field(default="", converter=_pattern)
    placeholder: str = field(default="", converter=_pattern)
    modes: str = ""
    lists: str = ""
    lines: bool = False

    def typed(self, text: str) -> str:
        """What is typed for a text: a blank behind it closes a list."""
        words = text.split()
        return f"{text} " if words and words[-1][0] in self.lists and text.endswith(words[-1]) else text


@frozen
class Written:
    """What stands in a composer that the cursor is in: `rows` of text, from row `start` of the screen on."""

    rows: tuple[str, ...]
    start: int
    lead: str  # what stands left of the first row
    at_start: bool  # nothing stands left of the cursor
    placeholder: bool  # the cursor is at the start, and what stands there is what is shown in place of a text

    @property
    def empty(self) -> bool:
        """Whether nobody's text is shown."""
        return self.at_start and (self.placeholder or not any(self.rows))

    def is_exactly(self, text: str) -> bool:
        """Whether this text is shown and nothing else, blanks aside at which a row may have been broken.

        Each line of it begins on a row of its own.
        """
        if self.at_start:  # a placeholder may read the same
            return False
        rest = _plain(text).strip(" ")
        for number, row in enumerate(self.rows):
            shown = _plain(row).rstrip(" ")
            if number and rest.lstrip(" ").startswith("\n"):
                rest = rest.lstrip(" ")[1:]
            elif number and not rest.startswith(shown):  # a blank at the break may stand on either row, or on none
                shown, rest = shown.lstrip(" "), rest.lstrip(" ")
            if not rest.startswith(shown):
                return False
            rest = rest.removeprefix(shown)
        return not rest.strip(" ")

    def put_back(self, screen: Screen, row: str) -> Screen:
        """The screen as it was before the text was typed, with one row in the composer: an agent's own words there."""
        lines = (*screen.lines[: self.start], self.lead + row, *screen.lines[self.start + len(self.rows) :])
        visible = screen.cursor.visible if screen.cursor else None
        return evolve(screen, lines=lines, cursor=Cursor(cells(self.lead), self.start, visible))


def written(screen: Screen, composer: Composer) -> Written | None:
    """What stands in the composer; None if the cursor is not in one, or that cannot be known."""
    if screen.cursor is None or screen.size is None or screen.cursor.row >= len(screen.lines):
        return None
    try:
        return _written(screen, screen.cursor, [line.ljust(screen.size.columns) for line in screen.lines], composer)
    except TimeoutError:  # a runaway is no evidence
        return None


def _written(screen: Screen, cursor: Cursor, lines: list[str], composer: Composer) -> Written | None:
    start = _start(lines, cursor.row, composer)
    lead = None if start is None else _begins(composer.lead, lines[start])
    if start is None or lead is None:
        return None
    rows = _rows(lines, start, lead, composer)
    if rows is None or cursor.row >= start + len(rows):
        return None
    at_start = cursor.row == start and cursor.column == cells(lead)
    shown = " ".join(rows).strip()
    named = bool(composer.placeholder) and _begins(f"(?:{composer.placeholder})\\Z", shown) is not None
    return Written(tuple(rows), start, lead, at_start, at_start and (named or start in screen.shades.dim))


def _start(lines: list[str], row: int, composer: Composer) -> int | None:
    """The first row of the text, upwards from a row in it."""
    for at in range(row, -1, -1):
        if _begins(composer.lead, lines[at]) is not None:
            above, ends = "\n".join(lines[max(0, at - _ABOVE) : at]), _compiled(f"(?:{composer.above})\\Z")
            if not composer.above or ends.search(above, timeout=TIMEOUT_S):
                return at
        if _begins(composer.more, lines[at]) is None:
            return None
    return None


def _rows(lines: list[str], start: int, lead: str, composer: Composer) -> list[str] | None:
    """The rows of the text, down to what follows it; None if that does not follow."""
    rows = [lines[start].removeprefix(lead).rstrip(" ")]
    while _begins(composer.below, "\n".join(lines[(at := start + len(rows)) :])) is None:
        more = _begins(composer.more, lines[at]) if at < len(lines) else None
        if more is None:
            return None
        rows.append(lines[at].removeprefix(more).rstrip(" "))
    return rows


def _plain(text: str) -> str:
    """As it is on a screen, where a character may be composed or in parts."""
    return unicodedata.normalize("NFC", fold(strip(text)))


def _begins(pattern: str, text: str) -> str | None:
    found = _compiled(pattern).match(text, timeout=TIMEOUT_S)
    return found[0] if found else None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.MULTILINE)
