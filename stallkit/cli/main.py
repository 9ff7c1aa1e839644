"""The entry point of the command.

It imports next to nothing: where a supervisor runs, it may answer (`stallkit.cli.resident`), and a plain `check` needs
no click (`stallkit.cli.checking`).
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, NoReturn

from stallkit.core import pattern_programs

if TYPE_CHECKING:
    from stallkit.core.pattern_programs import Store

__all__ = ["main"]

COLLECTED = 50_000  # objects between two garbage collections: most commands end before, and none has more garbage


def main() -> NoReturn:
    """Run the command line and exit with a documented code (docs/command-line.md)."""
    gc.set_threshold(COLLECTED)
    pattern_programs.keep_in(_store)
    try:
        code = _quickly(sys.argv[1:])
        if code is not None:
            sys.exit(code)
        from stallkit.cli.commands import run

        run()
    finally:
        pattern_programs.save()
        gc.freeze()  # Python's own end would look through all of it once more


def _quickly(words: list[str]) -> int | None:
    """Do what the simplest words ask for, and return the exit code; None, with nothing done, for all else."""
    if words[:1] not in (["check"], ["status"]):
        return None
    from stallkit.cli.resident import answered

    code = answered(words)
    if code is None and words[0] == "check":
        from stallkit.cli.checking import check_plainly

        code = check_plainly(words[1:])
    return code


def _store() -> Store | None:
    from stallkit.packs.kept_programs import user_programs  # late: not every command compiles a pattern

    return user_programs()
