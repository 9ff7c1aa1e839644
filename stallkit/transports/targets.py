"""Targets such as ``tmux:NAME``, and the transport of each: built in, or of an installed distribution.

A third party adds a transport by an entry point in the group ``stallkit.transports``: its name is the scheme
(``acme`` for ``acme:ADDRESS``), its object a callable ``open(address, options) -> Transport``.
"""

from __future__ import annotations

import os
from typing import Callable

from stallkit.core.given import wrong
from stallkit.entry_points import entry_points
from stallkit.errors import TransportUnavailable
from stallkit.transports.base import OpenTransport, Options, Transport, closing_of
from stallkit.transports.saved import SavedTransport
from stallkit.transports.tmux.pane import TmuxTransport

__all__ = ["ENTRY_POINTS", "meant_target", "open_target", "schemes"]

ENTRY_POINTS = "stallkit.transports"

Opener = Callable[[str, Options], Transport]

_BUILT_IN: dict[str, Opener] = {"tmux": TmuxTransport.open, "file": SavedTransport.open}


def open_target(target: str, options: Options | None = None) -> OpenTransport:
    """The transport for a target such as ``tmux:NAME``, ``file:PATH`` or ``acme:ADDRESS``; a context manager.

    Raises ValueError for a target without a known scheme, TypeError for what is no text, TransportUnavailable where
    that scheme's transport fails to load; the transport's own errors are passed on.

    >>> try:
    ...     open_target("w1")
    ... except ValueError as error:
    ...     str(error).split(",")[0]
    "'w1' is not a target: write tmux:w1"
    """
    if not isinstance(target, str):
        raise wrong("a target is a text", target, meant_target(target))
    scheme, colon, address = target.partition(":")
    if not colon or not address:
        example = (
            f"tmux:{target}, for a tmux session of that name, or" if target and not colon else "such as tmux:NAME,"
        )
        raise ValueError(
            f"{target!r} is not a target: write {example} SCHEME:ADDRESS, with one of {', '.join(schemes())}"
        )
    opener = _BUILT_IN.get(scheme) or _third_party(scheme, target)
    if opener is None:
        raise ValueError(f"{target!r}: no transport for {scheme!r}; there are {', '.join(schemes())}")
    made = opener(address, options or Options())
    return closing_of(made)


def meant_target(given: object) -> str:
    """The target that may have been meant by something else than a text."""
    if isinstance(given, os.PathLike):
        return f"write 'file:{os.fsdecode(given)}'"
    return f"write {os.fsdecode(given)!r}" if isinstance(given, bytes) else "write such as 'tmux:NAME'"


def schemes() -> list[str]:
    """The known schemes: the built-in ones, then those of installed distributions."""
    return [*_BUILT_IN, *sorted({found.name for found in entry_points(ENTRY_POINTS)})]


def _third_party(scheme: str, target: str) -> Opener | None:
    found = [one for one in entry_points(ENTRY_POINTS) if one.name == scheme]
    if not found:
        return None
    origin = found[0].distribution or found[0].value
    try:
        opener: Opener = found[0].load()
    except (Exception, SystemExit) as error:  # foreign code: whatever it raises is its own failure
        why = f"its transport does not load, {type(error).__name__}: {error}"
        raise TransportUnavailable(target, origin, why, f"fix or uninstall {origin}") from error
    if not callable(opener):
        raise TransportUnavailable(target, origin, "its entry point is not callable", f"fix or uninstall {origin}")
    return opener
