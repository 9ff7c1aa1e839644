"""Entry points of the installed distributions, remembered from one start to the next.

`importlib.metadata` reads a file of every distribution, and its import alone takes as long as a bare Python.  So what
it found is kept in the user's cache, as long as nothing on `sys.path` was installed, removed or changed since.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable, Iterator, NamedTuple

from stallkit.cache import user_cache

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint as Standard

__all__ = ["EntryPoint", "entry_points", "own_version", "stamp"]

GROUPS = ("stallkit.packs", "stallkit.signals", "stallkit.transports")
_OWN = "stallkit"
_RESTS_NS = 2_000_000_000  # what changed later may change again within one tick of the file system's clock
_METADATA = (".dist-info", ".egg-info")


class EntryPoint(NamedTuple):  # attrs takes longer to import than all of this to run
    """What a distribution offers under a name; its name and version are empty where an install was interrupted."""

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
        from importlib import metadata  # late, as below

        return metadata.EntryPoint(self.name, self.value, "").load()


def entry_points(group: str) -> list[EntryPoint]:
    """Those of one of `GROUPS`, sorted by distribution and name.  Nothing is imported."""
    return [EntryPoint(*one) for one in _found()[group]]


def own_version() -> str:
    """The version of stallkit that is installed, empty where none is."""
    return "".join(*_found()[_OWN])


def _found() -> dict[str, list[list[str]]]:
    cache = user_cache("entry-points")
    if cache is None:
        return _read()
    newest, key = stamp()
    place = sha256("\0".join((sys.executable, *sys.path)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    kept = cache.read(place, key)
    if kept is not None:
        with suppress(ValueError, KeyError):
            return _rows(kept.decode())
    found = _read()
    if newest < time.time_ns() - _RESTS_NS:
        rows = ("\t".join((group, *row)) for group, rows in found.items() for row in rows)
        cache.write(place, key, "\n".join(rows).encode())
    return found


def _rows(kept: str) -> dict[str, list[list[str]]]:
    """What was kept, a row a line: its group and its words, with tabs between them.  `json` takes longer to import."""
    found: dict[str, list[list[str]]] = {group: [] for group in (*GROUPS, _OWN)}
    for line in kept.split("\n"):
        group, *words = line.split("\t")
        found[group].append(words)
    return found


def _read() -> dict[str, list[list[str]]]:
    from importlib.metadata import PackageNotFoundError, version

    found = _standard()
    try:
        return {**found, _OWN: [[version("stallkit")]]}
    except PackageNotFoundError:
        return {**found, _OWN: [[]]}


def _standard() -> dict[str, list[list[str]]]:
    from importlib.metadata import entry_points as standard

    every = standard()  # once for all groups: it reads a file of every distribution
    return {group: _sorted(every.select(group=group)) for group in GROUPS}


def _sorted(found: Iterable[Standard]) -> list[list[str]]:
    rows = []
    for one in found:
        name = one.dist.metadata["Name"] if one.dist else None
        version = one.dist.version if one.dist and name else None
        rows.append(EntryPoint(one.name, one.value, name or "", version or ""))
    return [list(row) for row in sorted(rows, key=lambda one: (one.distribution.lower(), one.name))]


def stamp() -> tuple[int, bytes]:
    """The time (ns) of the latest change on `sys.path` that tells of distributions, and a digest of them all."""
    seen = list(_changes())
    finders = [getattr(finder, "__module__", "") + type(finder).__name__ for finder in sys.meta_path]
    facts = repr((sys.version, finders, str(Path.cwd()) if "" in sys.path else "", seen))
    return max((at for _, at, _ in seen), default=0), sha256(facts.encode("utf-8", "surrogateescape")).digest()


def _changes() -> Iterator[tuple[str, int, int]]:
    """Path, time of change (ns) and size of whatever holds a distribution's metadata."""
    for folder in sys.path:
        try:
            with os.scandir(folder or ".") as names:
                inside = sorted(one.path for one in names if one.name.endswith(_METADATA))
            places = [one + name for one in inside for name in ("", "/entry_points.txt", "/METADATA")]
        except OSError:  # an archive, or nothing
            places = [folder]
        for place in places:
            with suppress(OSError):
                found = os.stat(place)  # noqa: PTH116  # two hundred of them: a Path takes three times as long
                yield place, found.st_mtime_ns, found.st_size
