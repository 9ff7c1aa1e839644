"""Is a pack right about its own examples: `check_pack`, and `check_signature` for one of its signatures."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Sequence

from stallkit.core.engine import Engine
from stallkit.core.signature import Pack
from stallkit.errors import PackError
from stallkit.packs.registry import installed
from stallkit.testing.example import Example, Judges, Place, entries, pack_of, places, screens_of

__all__ = ["check_pack", "check_signature", "incomplete", "judges"]


def check_pack(package: str | Path, among: Sequence[Pack] | None = None) -> int:
    """Hold a pack to its own examples; gives how many there were, raises AssertionError naming every failure.

    `package` is the name of a package, or a folder that holds a ``signatures.toml``.  Every signature has a hit and a
    miss.  A hit is won by its own signature within the pack, and among all packs (`among`, by default the installed
    ones).  A miss is not taken for its signature, nor for any other of the pack in the same state.  A known gap
    (``todo-``) that is met has to be renamed.
    """
    held = judges(package, among)
    found = list(places(held.pack, screens_of(package)))
    shown, failures = _read(found)
    failures += [f"{one.signature} {one.name}: {fault}" for one in shown if (fault := held.fault(one))]
    failures += incomplete(held.pack, package, found)
    _raise(f"pack {held.pack.name}", failures)
    return len(shown)


def check_signature(package: str | Path, id: str, among: Sequence[Pack] | None = None) -> int:
    """Hold one signature of a pack to its examples; gives how many it has, raises AssertionError naming every failure.

    As `check_pack`, for what this signature is to blame for: its own examples, and those of others that it takes.
    Raises ValueError for a signature that the pack does not have.
    """
    held = judges(package, among)
    signature = next((one for one in held.pack.signatures if one.id == id), None)
    if signature is None:
        known = ", ".join(one.id for one in held.pack.signatures)
        raise ValueError(f"pack {held.pack.name} has no signature {id!r}; it has {known}")
    found = list(places(held.pack, screens_of(package)))
    own, failures = _read([one for one in found if one.signature == id])
    others, _ = _read([one for one in found if one.signature != id])
    concerned = [*own, *(one for one in others if held.takes(one, id))]
    failures += [f"{one.signature} {one.name}: {fault}" for one in concerned if (fault := held.fault(one))]
    failures += _lacking(id, own)
    _raise(f"signature {held.pack.name}:{id}", failures)
    return len(own)


def judges(package: str | Path, among: Sequence[Pack] | None = None) -> Judges:
    """The engines that hold a pack to its examples, made once for all of them."""
    pack = pack_of(package)
    others = [other for other in (installed().packs if among is None else among) if other.name != pack.name]
    alone = Engine([pack])
    return Judges(pack, alone, Engine([pack, *others]) if others else alone)


def incomplete(pack: Pack, package: str | Path, shown: Sequence[Example | Place]) -> Iterator[str]:
    """What is missing among a pack's examples, and screens that belong to no signature."""
    ids = {signature.id for signature in pack.signatures}
    for id in sorted(ids):
        yield from _lacking(id, [one for one in shown if one.signature == id])
    screens = screens_of(package)
    if screens.is_dir():
        for folder in entries(screens):
            if folder.name not in ids:
                yield f"screens/{folder.name}: no signature has this id"


def _read(found: Sequence[Place]) -> tuple[list[Example], list[str]]:
    """The examples that can be read, and what is wrong with the others."""
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
