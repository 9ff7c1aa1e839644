"""Does a pack pass its own examples: `check_pack`, and `check_signature` for one of its signatures."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Sequence

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Pack
from stallkit.errors import PackError
from stallkit.packs.registry import installed
from stallkit.testing.example import Example, Judges, Place, entries, pack_of, places, screens_of

__all__ = ["check_pack", "check_signature", "incomplete", "judges"]


def check_pack(package: str | Path, among: Sequence[Pack] | None = None) -> int:
    """Check a pack by its own examples; returns how many there were, raises AssertionError naming every failure.

    `package` is the name of a package, or a folder that holds a ``signatures.toml``.  Every signature must have a hit
    and a miss.  A hit must match its own signature within the pack, and among all packs (`among`, by default the
    installed ones).  A miss must match neither its signature nor any other of the pack in the same state.  A known gap
    (``todo-``) that passes has to be renamed.
    """
    engines = judges(package, among)
    found = list(places(engines.pack, screens_of(package)))
    shown, failures = _read(found)
    failures += [
        f"{example.signature} {example.name}: {fault}" for example in shown if (fault := engines.fault(example))
    ]
    failures += incomplete(engines.pack, package, found)
    _raise(f"pack {engines.pack.name}", failures)
    return len(shown)


def check_signature(package: str | Path, id: str, among: Sequence[Pack] | None = None) -> int:
    """Check one signature of a pack; returns how many examples it has, raises AssertionError naming every failure.

    As `check_pack`, for the examples that depend on this signature: its own, and those of others that it matches.
    Raises ValueError for a signature that the pack does not have.
    """
    engines = judges(package, among)
    ids = [signature.id for signature in engines.pack.signatures]
    if id not in ids:
        raise ValueError(f"pack {engines.pack.name} has no signature {id!r}; it has {', '.join(ids)}")
    found = list(places(engines.pack, screens_of(package)))
    own, failures = _read([place for place in found if place.signature == id])
    others, _ = _read([place for place in found if place.signature != id])
    checked = [*own, *(example for example in others if engines.takes(example, id))]
    failures += [
        f"{example.signature} {example.name}: {fault}" for example in checked if (fault := engines.fault(example))
    ]
    failures += _lacking(id, own)
    _raise(f"signature {engines.pack.name}:{id}", failures)
    return len(own)


def judges(package: str | Path, among: Sequence[Pack] | None = None) -> Judges:
    """The engines that check a pack's examples, made once for all of them."""
    pack = pack_of(package)
    others = [other for other in (installed().packs if among is None else among) if other.name != pack.name]
    alone = Engine([pack])
    return Judges(pack, alone, Engine([pack, *others]) if others else alone)


def incomplete(pack: Pack, package: str | Path, shown: Sequence[Example | Place]) -> Iterator[str]:
    """The missing examples of a pack, and screens that belong to no signature."""
    ids = {signature.id for signature in pack.signatures}
    for id in sorted(ids):
        yield from _lacking(id, [one for one in shown if one.signature == id])
    screens = screens_of(package)
    if screens.is_dir():
        for folder in entries(screens):
            if folder.name not in ids:
                yield f"screens/{folder.name}: no signature has this id"


def _read(found: Sequence[Place]) -> tuple[list[Example], list[str]]:
    """The examples that can be read, and the faults of the others."""
    shown: list[Example] = []
    failures: list[str] = []
    for place in found:
        try:
            shown.append(place.read())
        except (AssertionError, PackError) as error:
            failures.append(str(error))
        except OSError as error:
            failures.append(f"{place.file}: it cannot be read: {error.strerror or error}")
    return shown, failures


def _lacking(id: str, own: Sequence[Example | Place]) -> Iterator[str]:
    for wanted, name in ((True, "hit"), (False, "miss")):
        if not any(one.wanted is wanted and not one.todo for one in own):
            yield f"{id}: it has no {name}"


def _raise(subject: str, failures: list[str]) -> None:
    if failures:
        number = f"{len(failures)} failures"
        raise AssertionError(f"{subject}: {number}\n  " + "\n  ".join(failures))
