"""Targets such as ``tmux:NAME``, and the transport of each: built in, or of an installed distribution.

A third party adds a transport by an entry point in the group ``stallkit.transports``: its name is the scheme
(``acme`` for ``acme:ADDRESS``), its object a callable ``open(address, options) -> Transport``.  A saved screen,
``file:PATH`` or standard input, can be looked at, but accepts no keys.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable

from stallkit.distributions import entry_points
from stallkit.errors import KeysRefused, TransportError, TransportUnavailable, UnknownTarget, bad_argument
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.screenfile import ScreenFile, read_screen
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Closing, OpenTransport, Options, Transport, closing_of
from stallkit.transports.tmux.pane import TmuxTransport

ENTRY_POINTS = "stallkit.transports"


class SavedTransport(Closing):
    """The transport over one saved screen; every capture is the same."""

    def __init__(self, target: str, saved: ScreenFile) -> None:
        self.target = target
        self._saved = saved

    @classmethod
    def open(cls, address: str, options: Options) -> SavedTransport:
        """The screen in a file.  Raises TransportError if it cannot be read, PackFormatError for a broken front."""
        target = f"file:{address}"
        try:
            return cls(target, read_screen(Path(address)))
        except FileNotFoundError as error:
            raise UnknownTarget(target, "there is no such file", "name one that is there") from error
        except OSError as error:
            raise TransportError(target, error.strerror or str(error), "name a file that can be read") from error

    @classmethod
    def of_text(cls, text: str) -> SavedTransport:
        """The screen in a text, such as standard input: all of it is screen, without a front block."""
        return cls("-", ScreenFile(Screen.from_text(text), {}))

    def capture(self) -> Snapshot:
        """The saved screen, with the facts of its front block."""
        return self._saved.snapshot(self.target)

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Refused: a saved screen accepts no keys."""
        raise KeysRefused(self.target, "it is a saved screen, not a session")

    def close(self) -> None:
        """There is nothing to release."""


Opener = Callable[[str, Options], Transport]

_BUILT_IN: dict[str, Opener] = {"tmux": TmuxTransport.open, "file": SavedTransport.open}


def open_target(target: str, options: Options | None = None) -> OpenTransport:
    """The transport for a target such as ``tmux:NAME``, ``file:PATH`` or ``acme:ADDRESS``; a context manager.

    Raises ValueError for a target without a known scheme, TypeError for what is no text, TransportUnavailable if
    that scheme's transport fails to load; the transport's own errors are passed on.

    >>> try:
    ...     open_target("w1")
    ... except ValueError as error:
    ...     str(error).split(",")[0]
    "'w1' is not a target: write tmux:w1"
    """
    if not isinstance(target, str):
        raise bad_argument("a target is a text", target, meant_target(target))
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
