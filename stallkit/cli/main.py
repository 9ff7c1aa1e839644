"""The entry point of the command.

It imports next to nothing: where a supervisor runs, it may answer (`stallkit.cli.resident`).
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from stallkit.core.pattern_programs import Store

__all__ = ["main"]

COLLECTED = 50_000  # objects between two garbage collections: most commands end before, and none has more garbage


def main() -> NoReturn:
    """Run the command line and exit with a documented code (docs/command-line.md)."""
    if sys.argv[1:2] in (["check"], ["status"]):
        from stallkit.cli.resident import answered

        code = answered(sys.argv[1:])
        if code is not None:
            sys.exit(code)
    gc.set_threshold(COLLECTED)
    from stallkit.cli.commands import run
    from stallkit.core import pattern_programs

    pattern_programs.keep_in(_store)
    try:
        run()
    finally:
        pattern_programs.save()
        gc.freeze()  # Python's own end would look through all of it once more


def _store() -> Store | None:
    from stallkit.packs.kept_programs import user_programs  # late: not every command compiles a pattern

    return user_programs()
