"""The protocol of a transport, and the schemes by which a target names one.

A third party adds a transport by an entry point in the group ``stallkit.transports``: its name is the scheme
(``acme`` for ``acme:ADDRESS``), its object a callable ``open(address, options) -> Transport``.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Callable, Protocol, runtime_checkable

from stallkit.core.given import wrong
from stallkit.core.values import frozen
from stallkit.entry_points import entry_points
from stallkit.errors import SessionGone, TransportUnavailable

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from stallkit.core.keys import Keys
    from stallkit.core.verdict import Snapshot

__all__ = [
    "ENTRY_POINTS",
    "Amid",
    "Below",
    "Closing",
    "OpenTransport",
    "Options",
    "Presence",
    "Transport",
    "closing_of",
    "look",
    "meant_target",
    "open_target",
    "schemes",
]

ENTRY_POINTS = "stallkit.transports"
DEADLINE_S = 2.0  # for every external call: a stopped tmux server hangs its clients forever


@runtime_checkable
class Transport(Protocol):
    """One session, looked at and typed into.  `stallkit.testing.check_transport` checks an implementation.

    >>> from stallkit import MemoryTransport
    >>> isinstance(MemoryTransport("$ "), Transport)
    True
    """

    target: str
    """The session's name, with its scheme."""

    def capture(self) -> Snapshot:
        """One look, in one round trip.

        A session whose program ended is a snapshot with ``alive=False`` as long as its screen can be seen.  Raises
        SessionGone only where there is no such session, and another TransportError where looking failed.
        """

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys, once, in the session that `seen` shows.

        Raises KeysRefused, and sends nothing, where the session is another one by now, accepts no keys or has moved
        its cursor; SessionGone and TransportError as `capture` does.  Only `stallkit.press.gate` calls it.
        """

    def close(self) -> None:
        """Release what was opened; a session that existed before keeps running."""


class Closing:
    """A transport as a context manager: it is closed at the end.  `contextlib.closing` does that for any other."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release what was opened."""
        raise NotImplementedError


@runtime_checkable
class OpenTransport(Transport, Protocol):
    """A transport that is a context manager as well: closed at the end."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> object: ...


class _Closed(Closing):
    """A third party's transport that is no context manager, as one; all else is its own."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.target = transport.target

    def capture(self) -> Snapshot:
        return self._transport.capture()

    def send(self, keys: Keys, seen: Snapshot) -> None:
        self._transport.send(keys, seen)

    def close(self) -> None:
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


@runtime_checkable
class Amid(Protocol):
    """A transport that can press a key in a session whose screen moves, as below a spinner that turns."""

    def capture_amid(self) -> Snapshot:
        """As `Transport.capture`, and who reads the terminal is asked although its screen moves."""

    def send_amid(self, keys: Keys, seen: Snapshot) -> None:
        """As `Transport.send`, but what differed between the latest look, `seen`, and the one before may differ again.

        Raises KeysRefused, and sends nothing, where more than a few rows did, or anything else changed.
        """


@runtime_checkable
class Below(Protocol):
    """A transport that can press a key at a dialog, whatever moves above it."""

    def send_below(self, keys: Keys, seen: Snapshot, first: int) -> None:
        """As `Transport.send`, but what stands above the row `first` may have changed since the latest look, `seen`."""


class Presence(StrEnum):
    """Whether a pane or container still exists."""

    THERE = "there"
    GONE = "gone"  # its server or runtime reports that it does not exist
    UNSEEN = "unseen"  # looking failed


@frozen
class Options:
    """A user's options for reaching a session; a transport ignores those of others.

    >>> Options(tmux_socket_name="mine").listen
    False
    """

    tmux_socket_name: str | None = None
    tmux_socket_path: str | None = None
    listen: bool = False  # to what its program reports of itself (`Snapshot.marks`), by one more process


def look(transport: Transport) -> Snapshot:
    """A capture for callers who act on it: SessionGone only where two looks in a row find no session."""
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
    opener = _builtin(scheme) or _third_party(scheme, target)
    if opener is None:
        raise ValueError(f"{target!r}: no transport for {scheme!r}; there are {', '.join(schemes())}")
    made = opener(address, options or Options())
    return closing_of(made)


def meant_target(given: object) -> str:
    """The target that may have been meant by something else than a text."""
    if isinstance(given, os.PathLike):
        return f"write 'file:{os.fsdecode(given)}'"
    return f"write {os.fsdecode(given)!r}" if isinstance(given, bytes) else "write such as 'tmux:NAME'"


def closing_of(transport: Transport) -> OpenTransport:
    """The transport as a context manager, which most are already."""
    return transport if isinstance(transport, OpenTransport) else _Closed(transport)


def schemes() -> list[str]:
    """The known schemes: the built-in ones, then those of installed distributions."""
    return ["tmux", "file", *sorted({found.name for found in entry_points(ENTRY_POINTS)})]


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
