"""The protocol of a transport: how stallkit looks at a session and types into it."""

from __future__ import annotations

from enum import StrEnum
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from attrs import frozen

from stallkit.errors import SessionGone
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.keys import Keys

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
        SessionGone only if there is no such session, and another TransportError where looking failed.
        """

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Press keys, once, in the session that `seen` shows.

        Raises KeysRefused, and sends nothing, if the session is a different one now, accepts no keys or has moved
        its cursor; SessionGone and TransportError as `capture` does.  Only `stallkit.press.gate` calls it.
        """

    def close(self) -> None:
        """Release what was opened; a session that existed before keeps running."""


class Closing:
    """A transport as a context manager: it is closed at the end.  `contextlib.closing` does that for any other."""

    target: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target!r})"

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
class Moving(Protocol):
    """A transport that can press a key in a session whose screen moves, as below a spinner that turns."""

    def capture_moving(self) -> Snapshot:
        """As `Transport.capture`, and who reads the terminal is asked although its screen moves."""

    def send_moving(self, keys: Keys, seen: Snapshot) -> None:
        """As `Transport.send`, but what differed between the latest look, `seen`, and the one before may differ again.

        Raises KeysRefused, and sends nothing, if more than a few rows did, or anything else changed.
        """


@runtime_checkable
class Below(Protocol):
    """A transport that can press a key at a dialog, whatever moves above it."""

    def send_below(self, keys: Keys, seen: Snapshot, first: int) -> None:
        """As `Transport.send`, but what stands above the row `first` may have changed since the latest look, `seen`."""


@runtime_checkable
class Clicks(Protocol):
    """A transport that knows whether its session's program asked for the mouse."""

    def takes_clicks(self, seen: Snapshot) -> bool:
        """Whether it had asked at the latest look, `seen`; `Transport.send` refuses a click if it no longer does."""


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
    """A capture for callers who act on it: SessionGone only if two looks in a row find no session."""
    try:
        return transport.capture()
    except SessionGone:
        return transport.capture()


def closing_of(transport: Transport) -> OpenTransport:
    """The transport as a context manager, which most are already."""
    return transport if isinstance(transport, OpenTransport) else _Closed(transport)
