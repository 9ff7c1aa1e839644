"""What the installed distributions bring, by their entry points: packs, signals, transports, classifiers, commands.

What is built on stallkit brings commands, and what others use if it is there, each named by an entry point of the group
`stallkit.commands` (`stallkit.cli.command_set`); stallkit imports none of it.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module, metadata
from typing import Any, Iterator, Mapping, Protocol

from attrs import frozen

# --- entry points ---


@frozen
class EntryPoint:
    """What a distribution offers under a name; its name and version are empty if an install was interrupted."""

    name: str
    value: str
    distribution: str = ""
    version: str = ""

    @property
    def module(self) -> str:
        """The module that it is in."""
        return self.value.partition(":")[0].strip()

    def load(self) -> Any:
        """The module or the object in it.  Raises whatever the import of it raises."""
        if self.value == self.module:
            return import_module(self.value)
        return metadata.EntryPoint(self.name, self.value, "").load()


def entry_points(group: str) -> list[EntryPoint]:
    """Those of one group, sorted by distribution and name.  Nothing is imported."""
    found = [_of(one) for one in metadata.entry_points(group=group)]
    return sorted(found, key=lambda one: (one.distribution.lower(), one.name))


def own_version() -> str:
    """The version of stallkit that is installed, empty if none is."""
    try:
        return metadata.version("stallkit")
    except metadata.PackageNotFoundError:
        return ""


def _of(found: metadata.EntryPoint) -> EntryPoint:
    name = found.dist.metadata["Name"] if found.dist else None
    return EntryPoint(found.name, found.value, name or "", found.dist.version if found.dist and name else "")


# --- what is built on stallkit ---

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
    return next(offers(name), None)


def offers(name: str) -> Iterator[Any]:
    """What each installed distribution offers under this name.  Raises what its import raises."""
    return (named(one.offers[name]) for one in brought() if name in one.offers)


def named(reference: str) -> Any:
    """The object that ``module:name`` refers to.  Raises whatever the import of the module raises.

    >>> named("math:floor")(2.5)
    2
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
