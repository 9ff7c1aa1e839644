"""The installed packs: find, call their hook, sort, load, validate, report.

A pack's package implements the hook `stallkit_packs`, found by an entry point of ``stallkit.packs``; pluggy calls it.
Each entry point is loaded on its own, so that a broken one affects no other pack, and each failure is reported.  Order
never depends on the disk: entry points are sorted by distribution and name.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Any, Callable, Sequence, TypeVar

import pluggy
from attrs import evolve, frozen

from stallkit.detect import engine
from stallkit.detect.signature import API, UNVERSIONED, Pack
from stallkit.entry_points import EntryPoint, entry_points
from stallkit.errors import PackError, PackLoadError
from stallkit.packs.load import checked_before

__all__ = [
    "ENTRY_POINTS",
    "Engine",
    "EngineOnce",
    "Installed",
    "answers",
    "find",
    "hookimpl",
    "installed",
    "installed_engine",
]

_PROJECT = "stallkit"
_Function = TypeVar("_Function", bound=Callable[..., Any])


ENTRY_POINTS = "stallkit.packs"


def hookimpl(function: _Function) -> _Function:
    """Mark the hook of a pack; ``pluggy.HookimplMarker("stallkit")`` does the same, and takes options.

    >>> from stallkit import hookimpl, load_pack
    >>> @hookimpl
    ... def stallkit_packs():
    ...     return [load_pack("stallkit_shell_yn")]
    """
    return pluggy.HookimplMarker(_PROJECT)(function)


@pluggy.HookspecMarker(_PROJECT)
def stallkit_packs() -> Sequence[Pack]:
    """The packs that this distribution ships, usually ``[load_pack(__package__)]``.

    Called once, when an engine is made of the installed packs.  What it raises, and anything in its answer that is
    not a pack, is reported under the distribution's name; other packs are not affected.
    """
    raise NotImplementedError  # a specification: it is never called


@frozen
class Installed:
    """The packs that loaded, in order, and the errors of those that did not."""

    packs: tuple[Pack, ...]
    problems: tuple[PackError, ...]


class Engine(engine.Engine):
    """Packs, compiled once: `detect` finds the first signature that matches a screen.

    ``Engine.default()`` takes every installed pack, ``Engine(packs)`` the given ones; `problems` has an error for each
    installed pack that could not be used.  Raises DuplicateSignature for two packs of one name, SignatureError for a
    pattern that `regex` does not accept.

    >>> Engine.default().detect("Proceed? [y/N] ").match.signature.id
    'yes_no'
    """

    problems: tuple[PackError, ...] = ()

    @classmethod
    def default(cls) -> Engine:
        """An engine of every installed pack, in order; a broken one is left out and named in `problems`."""
        found = installed()
        made = cls(found.packs, checked=True)
        made.problems = found.problems
        return made


class EngineOnce:
    """An engine that is loaded at the first call and shared by all later ones, in every thread.

    A load without any pack raises, and the next call loads again.
    """

    def __init__(self, load: Callable[[], Engine]) -> None:
        self._load = load
        self._lock = Lock()
        self._engine: Engine | None = None

    def __call__(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = _usable(self._load())
            return self._engine


_installed = EngineOnce(Engine.default)


def installed_engine() -> Engine:
    """The engine of the installed packs, one for the whole process; a fresh one is `Engine.default()`.

    Raises PackError, saying how to install a pack, where there is none.
    """
    return _installed()


def _usable(engine: Engine) -> Engine:
    if not engine.packs:
        why = "no pack is installed, so no prompt can be detected"
        if engine.problems:
            why = f"no installed pack could be used ({engine.problems[0]})"
        raise PackError("nothing to look for", "in this environment", why, "pip install 'stallkit[packs]'")
    return engine


def find() -> list[EntryPoint]:
    """Every entry point of the group, sorted by distribution and name; nothing is imported."""
    return sorted(entry_points(ENTRY_POINTS), key=lambda found: (_distribution(found), found.name))


def installed() -> Installed:
    """Every installed pack that loads, and an error for each that does not.  Never raises for a pack's fault."""
    packs: dict[str, Pack] = {}
    problems: list[PackError] = []
    for entry in find():
        try:
            loaded = _load(entry)
            own: dict[str, Pack] = {}
            for pack in loaded:
                if pack.name in packs or pack.name in own:
                    other = (packs | own)[pack.name].distribution
                    raise PackLoadError(entry.name, _distribution(entry), f"{other} has a pack {pack.name} already")
                own[pack.name] = pack
        except PackError as error:
            problems.append(error)
        else:
            packs |= own
    order = sorted(packs.values(), key=lambda pack: (not pack.foreground, pack.priority, pack.distribution, pack.name))
    return Installed(tuple(order), tuple(problems))


def _load(found: EntryPoint) -> list[Pack]:
    """The packs behind one entry point; any failure of it becomes a PackError that names it."""
    try:
        packs = [_stamped(pack, found) for pack in _call_hook(found.load())]
        for pack in packs:
            if pack.api > API:
                raise TypeError(f"pack {pack.name} needs a stallkit with pack API {pack.api}, this one has {API}")
            if not checked_before(pack):
                engine.Engine([pack])  # its patterns compile
    except (Exception, SystemExit) as error:  # foreign code: whatever it raises is its own failure
        why = str(error) if isinstance(error, PackError) else f"{type(error).__name__}: {error}"
        raise PackLoadError(found.name, _distribution(found), why) from error
    return packs


def _stamped(pack: Pack, found: EntryPoint) -> Pack:
    version = found.version if found.version and pack.version == UNVERSIONED else pack.version
    return evolve(pack, distribution=_distribution(found), version=version)


def _call_hook(module: Any) -> list[Pack]:
    packs = [pack for answer in answers(module) for pack in answer]
    if not packs or not all(isinstance(pack, Pack) for pack in packs):
        raise TypeError("its hook stallkit_packs did not return a list of packs")
    return packs


def answers(plugin: Any) -> list[Any]:
    """What the hooks of one plug-in answer; an answer of None is none.  Raises TypeError where it has no hook."""
    manager = pluggy.PluginManager(_PROJECT)
    manager.add_hookspecs(sys.modules[__name__])
    manager.register(plugin)
    if not manager.hook.stallkit_packs.get_hookimpls():  # a misspelt hook is registered, but never called
        raise TypeError("it has no hook stallkit_packs marked with stallkit.hookimpl")
    found: list[Any] = manager.hook.stallkit_packs()
    return found


def _distribution(found: EntryPoint) -> str:
    name = found.distribution or "unknown"  # an install that was interrupted has no metadata
    return name.lower().replace("_", "-").replace(".", "-")
