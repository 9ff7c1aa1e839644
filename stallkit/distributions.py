"""What the installed distributions that are built on stallkit bring: commands, and what others use if it is there.

Each is named by an entry point of the group `stallkit.commands` (`stallkit.cli.command_set`); stallkit imports none.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any, Mapping, Protocol

from stallkit.entry_points import entry_points

__all__ = ["GROUP", "Brings", "brought", "named", "offered"]

GROUP = "stallkit.commands"


class Brings(Protocol):
    """What a distribution brings: `stallkit.cli.command_set.CommandSet` is one."""

    @property
    def verbs(self) -> Mapping[str, tuple[str, str]]:
        """Its commands: the module of each, and what --help says of it."""
        ...

    @property
    def printed(self) -> str | None:
        """The module:name of what these commands print with --json."""
        ...

    @property
    def offers(self) -> Mapping[str, str]:
        """The module:name of what other distributions use."""
        ...


@cache
def brought() -> tuple[Brings, ...]:
    """The sets of the installed distributions; one that cannot be loaded is named on standard error, and left out."""
    found = []
    for one in entry_points(GROUP):
        try:
            found.append(one.load())
        except Exception as error:
            why = f"the commands of {one.distribution} are left out: {error}; install it again"
            print(f"stallkit: {why}", file=sys.stderr)
    return tuple(found)


def offered(name: str) -> Any | None:
    """What an installed distribution offers under this name; None if none does.  Raises what its import raises."""
    return next((named(one.offers[name]) for one in brought() if name in one.offers), None)


def named(reference: str) -> Any:
    """The object that ``module:name`` refers to.  Raises whatever the import of the module raises.

    >>> named("math:floor")(2.5)
    2
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
