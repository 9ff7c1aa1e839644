"""What a shell completes: the names that there are now, each with a word about it.

Only a shell asks, at each press of Tab: whatever fails here has no completions, and says nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import click

from stallkit.packs.registry import installed_engine
from stallkit.press.policy_file import PROFILES


def packs(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The installed packs."""
    for pack in installed_engine().packs:
        yield pack.name, ", ".join(sorted(pack.foreground)) or "any program"


def signatures(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The signatures of the installed packs."""
    for rule in installed_engine().rules:
        yield rule.name, rule.signature.title


def policies(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The built-in policies, and the TOML files here."""
    yield from ((name, "built in") for name in PROFILES)
    yield from ((path.name, "a file") for path in sorted(Path().glob("*.toml")))
