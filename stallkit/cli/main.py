"""The entry point of the command.

It imports next to nothing: where a supervisor runs, it may answer (`stallkit.cli.resident`).
"""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

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

    try:
        run()
    finally:
        gc.freeze()  # Python's own end would look through all of it once more
