"""The hook that a pack's package implements, found through the entry points ``stallkit.packs``.

It is pluggy's: whatever its ``HookimplMarker("stallkit")`` marks is called.  To import pluggy takes as long as to call
the plain hooks of all shipped packs, so those are marked and called without it.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any, Callable, Sequence, TypeVar

import pluggy

from stallkit.core.signature import Pack

__all__ = ["answers", "hookimpl"]

_PROJECT = "stallkit"
_MARK = f"{_PROJECT}_impl"  # where pluggy's marker leaves its options
_HOOK = "stallkit_packs"
_USUAL = dict.fromkeys(("wrapper", "hookwrapper", "optionalhook", "tryfirst", "trylast"), False) | {"specname": None}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def hookimpl(function: _Function) -> _Function:
    """Mark the hook of a pack; ``pluggy.HookimplMarker("stallkit")`` does the same, and takes options.

    >>> from stallkit import hookimpl, load_pack
    >>> @hookimpl
    ... def stallkit_packs():
    ...     return [load_pack("stallkit_shell_yn")]
    """
    setattr(function, _MARK, dict(_USUAL))
    return function


def stallkit_packs() -> Sequence[Pack]:
    """The packs that this distribution ships, usually ``[load_pack(__package__)]``.

    Called once, when an engine is made of the installed packs.  What it raises, and anything in its answer that is
    not a pack, is reported under the distribution's name; other packs are not affected.
    """
    raise NotImplementedError  # a specification: it is never called


def answers(plugin: Any) -> list[Any]:
    """What the hooks of one plug-in answer; an answer of None is none.  Raises TypeError where it has no hook."""
    hook = _plain_hook(plugin)
    if hook is None:
        return _by_pluggy(plugin)
    answer = hook()
    return [] if answer is None else [answer]


def _plain_hook(plugin: Any) -> Callable[[], Any] | None:
    """The one hook of a module, where it is a function without parameters, marked without options."""
    if type(plugin) is not ModuleType:
        return None
    marked = {name: one for name, one in vars(plugin).items() if _MARK in getattr(one, "__dict__", ())}
    hook = marked.get(_HOOK)
    plain = len(marked) == 1 and type(hook) is FunctionType and vars(hook)[_MARK] == _USUAL
    return hook if plain and hook is not None and not hook.__code__.co_argcount else None


def _by_pluggy(plugin: Any) -> list[Any]:
    manager = pluggy.PluginManager(_PROJECT)
    specification = ModuleType(_HOOK)
    setattr(specification, _HOOK, pluggy.HookspecMarker(_PROJECT)(stallkit_packs))
    manager.add_hookspecs(specification)
    manager.register(plugin)
    if not manager.hook.stallkit_packs.get_hookimpls():  # a misspelt hook is registered, but never called
        raise TypeError("it has no hook stallkit_packs marked with stallkit.hookimpl")
    found: list[Any] = manager.hook.stallkit_packs()
    return found
