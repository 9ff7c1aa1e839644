"""The protocol of a transport, and the schemes by which a target names one.

A third party adds a transport by an entry point in the group ``stallkit.transports``: its name is the scheme
(``acme`` for ``acme:ADDRESS``), its object a callable ``open(address, options) -> Transport``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Callable, Protocol, runtime_checkable

from attrs import frozen

from stallkit.core.keys import Keys
from stallkit.core.verdict import Snapshot
from stallkit.errors import SessionGone, TransportUnavailable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["ENTRY_POINTS", "Options", "Presence", "Transport", "look", "open_target", "schemes"]

ENTRY_POINTS = "stallkit.transports"
DEADLINE_S = 2.0  # for every call to the outside: a stopped tmux server hangs its clients for ever


@runtime_checkable
class Transport(Protocol):
    """One session, looked at and typed into.  `stallkit.testing.check_transport` holds an implementation to this."""

    target: str
    """How the session is called, with its scheme."""

    def capture(self) -> Snapshot:
        """One look, in one round trip.

        A session whose program ended is a snapshot with ``alive=False`` as long as its screen can be seen.  Raises
        SessionGone where there is no such session, and any other TransportError where nobody could look: the two are
        never confused.
        """

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys in the very session that `seen` shows, once.

        Raises KeysRefused, and sends nothing, where the session is another one by now, takes no keys or has moved its
        cursor; SessionGone and TransportError as `capture` does.  Only `stallkit.press.gate` calls it.
        """

    def close(self) -> None:
        """Let go of what was opened; a session that was there before lives on."""


class Presence(StrEnum):
    """Whether a thing is still where it was."""

    THERE = "there"
    GONE = "gone"  # whoever would know says that there is none
    UNSEEN = "unseen"  # nobody could look


@frozen
class Options:
    """What a user may say about how to reach a session; a transport ignores what does not concern it."""

    tmux_socket_name: str | None = None
    tmux_socket_path: str | None = None
    listen: bool = False  # to what its program says of itself (`Snapshot.marks`), which takes a process beside it


def look(transport: Transport) -> Snapshot:
    """A capture for callers who act on it: a session is called gone only when two looks in a row say so."""
    try:
        return transport.capture()
    except SessionGone:
        return transport.capture()


Opener = Callable[[str, Options], Transport]


def _builtin(scheme: str) -> Opener | None:
    if scheme == "tmux":
        from stallkit.transports.tmux.pane import TmuxTransport

        return TmuxTransport.open
    if scheme == "file":
        from stallkit.transports.saved import SavedTransport

        return SavedTransport.open
    return None


def open_target(target: str, options: Options | None = None) -> Transport:
    """The transport for a target such as ``tmux:NAME``, ``file:PATH`` or ``acme:ADDRESS``.

    Raises ValueError for a target without a known scheme, TransportUnavailable where that scheme's transport fails to
    load; what the transport itself raises comes through.
    """
    scheme, colon, address = target.partition(":")
    if not colon or not address:
        raise ValueError(f"{target!r} is no target: write SCHEME:ADDRESS, with one of {', '.join(schemes())}")
    opener = _builtin(scheme) or _third_party(scheme, target)
    if opener is None:
        raise ValueError(f"{target!r}: no transport for {scheme!r}; there are {', '.join(schemes())}")
    return opener(address, options or Options())


def schemes() -> list[str]:
    """The schemes that are known: the built-in ones, then those of installed distributions."""
    from importlib.metadata import entry_points  # here: it takes 35 ms

    return ["tmux", "file", *sorted({found.name for found in entry_points(group=ENTRY_POINTS)})]


def _third_party(scheme: str, target: str) -> Opener | None:
    from importlib.metadata import entry_points

    found: list[EntryPoint] = sorted(
        entry_points(group=ENTRY_POINTS, name=scheme), key=lambda entry: entry.dist.name if entry.dist else ""
    )
    if not found:
        return None
    origin = found[0].dist.name if found[0].dist else found[0].value
    try:
        opener: Opener = found[0].load()
    except (Exception, SystemExit) as error:  # somebody else's code: what it raises is its own failure
        why = f"its transport does not load, {type(error).__name__}: {error}"
        raise TransportUnavailable(target, origin, why, f"mend or uninstall {origin}") from error
    if not callable(opener):
        raise TransportUnavailable(target, origin, "its entry point is not callable", f"mend or uninstall {origin}")
    return opener
