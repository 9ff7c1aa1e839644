"""Entry points of the installed distributions: packs, signals and transports."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module, metadata
from typing import Any

from stallkit.core.values import frozen

__all__ = ["EntryPoint", "entry_points", "own_version"]


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
    """Those of one group, sorted by distribution and name.  Nothing is imported.

    What is installed later, while this process runs, is not seen.
    """
    found = [_of(one) for one in _installed(tuple(sys.path)).select(group=group)]
    return sorted(found, key=lambda one: (one.distribution.lower(), one.name))


def own_version() -> str:
    """The version of stallkit that is installed, empty if none is."""
    try:
        return metadata.version("stallkit")
    except metadata.PackageNotFoundError:
        return ""


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> Any:
    """Those of all groups, found once: to find them reads a file of every distribution on the path."""
    return metadata.entry_points()


def _of(found: metadata.EntryPoint) -> EntryPoint:
    name = found.dist.metadata["Name"] if found.dist else None
    return EntryPoint(found.name, found.value, name or "", found.dist.version if found.dist and name else "")
