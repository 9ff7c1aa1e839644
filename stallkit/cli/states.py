"""How each state looks in a list, and which comes first: one table for every command that lists sessions.

A mark has a shape of its own, so that nothing depends on its colour.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from attrs import frozen

_WORD = re.compile(r"\w+(?: \w+)?")


@frozen
class Look:
    """A mark of one column, a colour (as rich and click call it), and the place in a list: 0 comes first."""

    mark: str
    colour: str
    urgency: int


_STOPPED, _UNKNOWN, _WORKS = Look("■", "red", 1), Look("?", "magenta", 1), Look("►", "green", 3)
_OVER = Look("×", "bright_black", 4)
LOOKS = MappingProxyType(
    {
        "waiting": Look("●", "yellow", 0),  # for a person
        "halted": _STOPPED,  # by a limit of stallkit
        "hung": _STOPPED,
        "failed": _STOPPED,
        "quota": Look("◐", "magenta", 1),
        "unknown": _UNKNOWN,
        "unreachable": _UNKNOWN,
        "connecting": _UNKNOWN,
        "idle": Look("○", "cyan", 2),
        "working": _WORKS,
        "running": _WORKS,
        "starting": _WORKS,
        "watched": _WORKS,
        "not started": _OVER,
        "ended": _OVER,
        "gone": _OVER,
    }
)


def look_of(state: str) -> Look:
    """The look of a state, also as lists write it: with its kind, in doubt, or as it was noted last.

    >>> look_of("(waiting: confirm?)").mark, look_of("idle").colour
    ('●', 'cyan')
    """
    found = _WORD.search(state)
    return LOOKS.get(found[0], _UNKNOWN) if found else _UNKNOWN
