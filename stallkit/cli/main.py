"""The entry point of the command.

It imports next to nothing: where a supervisor runs, it may answer (`stallkit.cli.resident`).
"""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line and exit with a documented code (docs/command-line.md)."""
    if sys.argv[1:2] in (["check"], ["status"]):
        from stallkit.cli.resident import answered

        code = answered(sys.argv[1:])
        if code is not None:
            sys.exit(code)
    from stallkit.cli.commands import run

    run()
