"""Tables of words and patterns, ``data/NAME.toml``: each is read when it is first asked for, and once.

The families of programs are the table ``families``.  What is known of one program is in its pack.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pkgutil import get_data
from typing import Any

_PIECE = re.compile(r"\(\?&(\w+)\)")
compiled = cache(re.compile)


@cache
def table(name: str) -> dict[str, Any]:
    """What a file says."""
    return tomllib.loads((get_data("stallkit", f"data/{name}.toml") or b"").decode())


def filled(pattern: str, name: str) -> str:
    """The pattern with the pieces put in that it names, of those in the table ``pieces`` of a file.

    >>> filled("(?&unknown)", "phrases")
    '(?&unknown)'
    """
    pieces, before = table(name)["pieces"], ""
    while pattern != before:
        before, pattern = pattern, _PIECE.sub(lambda one: str(pieces.get(one[1], one[0])), pattern)
    return pattern


class Patterns:
    """The patterns of a file by their names, each compiled when it is first used.

    They stand in its table ``patterns``: a text, or a list of alternatives, in which ``(?&NAME)`` stands for one of its
    `pieces`.

    >>> bool(Patterns("turns").stopped.match("Interrupted by user"))
    True
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> re.Pattern[str]:
        given = table(self._name)["patterns"].get(name)
        if given is None:
            raise AttributeError(name)
        found = compiled(self.filled(given if isinstance(given, str) else "|".join(given)))
        setattr(self, name, found)
        return found

    def filled(self, pattern: str) -> str:
        """The pattern with the pieces put in that it names."""
        return filled(pattern, self._name)


# --- families of programs ---

_families = {name: frozenset(some) for name, some in table("families").items()}

RELAYS = _families["relays"]
STARTERS = _families["starters"]
WRAPPERS = STARTERS | _families["wrappers"]
SHELLS = _families["shells"]
INTERPRETERS = _families["interpreters"]
JAVASCRIPT = _families["javascript"]
ASKS_NOTHING = _families["asks_nothing"]
EDITORS = _families["editors"]
PAGERS = _families["pagers"]
LINE_EDITORS = _families["line_editors"]
MULTI_CALL = _families["multi_call"]
ANY_NAME = _families["any_name"]
ANY_PROGRAM = _families["any_program"]
MODELS = _families["models"]
