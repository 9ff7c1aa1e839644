"""What a person typed, on the screen of a program that talks with them: a message quotes what it is about.  Pure."""

from __future__ import annotations

import re

from stallkit.detect.families import MODELS
from stallkit.terminal.screen import Screen
from stallkit.word_tables import Patterns

__all__ = ["names_person", "said_by_person", "talks", "talks_here"]

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
