"""Families of programs by the names of their processes: shells, editors, pagers, relays, interpreters and others.

What each is, ``data/families.toml`` says.  What is known of one program is in its pack.
"""

from __future__ import annotations

import tomllib
from pkgutil import get_data

__all__ = [
    "ANY_NAME",
    "ASKS_NOTHING",
    "EDITORS",
    "INTERPRETERS",
    "JAVASCRIPT",
    "LINE_EDITORS",
    "MODELS",
    "MULTI_CALL",
    "PAGERS",
    "RELAYS",
    "SHELLS",
    "STARTERS",
    "WRAPPERS",
]

_families = tomllib.loads((get_data("stallkit", "data/families.toml") or b"").decode())

RELAYS = frozenset(_families["relays"])
STARTERS = frozenset(_families["starters"])
WRAPPERS = STARTERS | frozenset(_families["wrappers"])
SHELLS = frozenset(_families["shells"])
INTERPRETERS = frozenset(_families["interpreters"])
JAVASCRIPT = frozenset(_families["javascript"])
ASKS_NOTHING = frozenset(_families["asks_nothing"])
EDITORS = frozenset(_families["editors"])
PAGERS = frozenset(_families["pagers"])
LINE_EDITORS = frozenset(_families["line_editors"])
MULTI_CALL = frozenset(_families["multi_call"])
ANY_NAME = frozenset(_families["any_name"])
MODELS = frozenset(_families["models"])
