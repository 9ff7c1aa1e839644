"""Families of programs by the names of their processes: shells, editors, pagers, relays, interpreters and others.

What each is, ``data/families.toml`` says.  What is known of one program is in its pack.
"""

from __future__ import annotations

from stallkit.word_tables import table

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
