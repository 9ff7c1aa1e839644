"""The hook that a pack's package implements, found through the entry points ``stallkit.packs``; pluggy calls it."""

from __future__ import annotations

import sys
from typing import Any, Callable, Sequence, TypeVar

import pluggy

from stallkit.detect.signature import Pack

__all__ = ["answers", "hookimpl"]

_PROJECT = "stallkit"
_Function = TypeVar("_Function", bound=Callable[..., Any])


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


def answers(plugin: Any) -> list[Any]:
    """What the hooks of one plug-in answer; an answer of None is none.  Raises TypeError where it has no hook."""
    manager = pluggy.PluginManager(_PROJECT)
    manager.add_hookspecs(sys.modules[__name__])
    manager.register(plugin)
    if not manager.hook.stallkit_packs.get_hookimpls():  # a misspelt hook is registered, but never called
        raise TypeError("it has no hook stallkit_packs marked with stallkit.hookimpl")
    found: list[Any] = manager.hook.stallkit_packs()
    return found
