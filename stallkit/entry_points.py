"""Entry points of the installed distributions: packs, signals, transports and classifiers."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

from attrs import frozen

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
