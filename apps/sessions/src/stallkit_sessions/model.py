"""A session and its end as values."""

from __future__ import annotations

import signal
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from stallkit.json_form import NEWER
from stallkit.short_repr import short_repr
from stallkit.transports.base import Options

STOPPED, CRASHED, DROP = "session_stopped", "session_crashed", "session_drop"
FINAL = frozenset({STOPPED, CRASHED, DROP})  # the events that end a session: each has exactly one


class Cause(StrEnum):
    """Why a session ended; UNKNOWN where that was not seen."""

    EXITED = "exited"  # its program ended by itself
    SIGNALLED = "signalled"  # another's signal ended its program
    OUT_OF_MEMORY = "out of memory"  # of its container
    NOT_STARTED = "not started"  # its program could not be run at all
    STOPPED = "stopped"  # by order
    REPLACED = "replaced"  # another took its name: start --replace
    SESSION_KILLED = "session killed"  # tmux closed it while its server ran on
    SERVER_ENDED = "tmux server ended"  # in order: kill-server, or SIGTERM
    SERVER_CRASHED = "tmux server crashed"  # it was killed, or failed
    SERVER_GONE = "tmux server gone"  # unseen how
    CONTAINER_REMOVED = "container removed"  # not by stallkit
    CLIENT_ENDED = "client ended"  # the container runs on, without this terminal
    ENGINE_DIED = "engine died"  # the daemon under the container, or its monitor
    MACHINE_RESTARTED = "machine restarted"
    UNKNOWN = "unknown"


class Source(StrEnum):
    """The source of an exit status."""

    PANE = "pane_dead_status"  # tmux, of the process in its pane
    EVENT = "engine event"  # the runtime's stream of events, begun before the container
    INSPECT = "inspect"  # the runtime, of a container that still exists
    CLIENT = "client"  # docker run, or podman run: a wait that began with the container


@frozen
class Status:
    """How a program ended: an exit code or a signal, never both; and the source."""

    source: Source
    code: int | None = None
    signal: int | None = None


def signal_name(number: int) -> str:
    """A signal by its name; those without one are called "signal 36"."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@frozen
class Sandboxed:
    """Of a session that a manifest describes (docs/sandboxes.md)."""

    manifest: str  # the file that starts it again
    version: int  # of the manifest
    sealed: bool  # no key goes in, whoever presses it


@frozen
class Session:
    """One start of a session; a name may have had many."""

    name: str
    id: str  # random; of this start alone
    command: tuple[str, ...]
    directory: str
    started_at: float  # seconds of the wall clock
    boot: str  # which start of the machine this was
    engine: str | None = None  # docker, podman or bwrap
    image: str | None = None
    container: str | None = None  # its name, with a random part
    engine_options: tuple[str, ...] = ()  # words for the runtime's `run`, as they were given
    engine_environment: tuple[tuple[str, str], ...] = ()  # selects the runtime: `runtime_call.kept`
    ports: tuple[int, ...] = ()
    relayed: bool = field(default=False, metadata=NEWER)  # its program runs behind a `stallkit wrap`
    size: tuple[int, int] | None = field(default=None, metadata=NEWER)  # columns and rows of its terminal, at its start
    tmux_socket_name: str | None = None
    tmux_socket_path: str | None = None
    identity: str = ""  # "SERVER-PID SERVER-START %PANE PANE-PID", by transports.tmux.format; "" until it is bound
    pane_started: int | None = None  # clock ticks since boot, of the process in the pane: a pid alone may be reused
    hooks: bool = field(default=False, metadata=NEWER)  # an agent that says more of itself: `signals.collect`
    askpass: bool = field(default=False, metadata=NEWER)  # git, ssh and sudo in it ask by stallkit's askpass program
    env: tuple[str, ...] = field(default=(), metadata=NEWER)  # names of its variables, whose values are kept nowhere
    env_files: tuple[str, ...] = field(default=(), metadata=NEWER)  # of variables, which another start reads again
    sandbox: Sandboxed | None = field(default=None, metadata=NEWER)

    __repr__ = short_repr("name", "id")

    @property
    def options(self) -> Options:
        """How its tmux server is reached."""
        return Options(self.tmux_socket_name, self.tmux_socket_path)

    @property
    def sealed(self) -> bool:
        """Whether no key goes in, whoever presses it."""
        return self.sandbox is not None and self.sandbox.sealed


@frozen
class ExitRecord:
    """How a session ended, written before anything of it was removed.  None is *unknown*, in every field.

    >>> from stallkit_sessions.model import Cause, Session
    >>> one = Session("w1", "1a", ("make",), "/", 0.0, "boot")
    >>> ExitRecord(one, Cause.EXITED, "it ended", 9.0).cause
    <Cause.EXITED: 'exited'>
    """

    session: Session
    cause: Cause
    why: str  # one sentence, for a person
    ended_at: float  # seconds of the wall clock, when it was noticed
    duration_s: float | None = None
    status: Status | None = None
    screen: tuple[str, ...] | None = None  # the last that was seen, redacted
    screen_at: float | None = None  # wall clock: it may be from before the end
    verdicts: tuple[dict[str, Any], ...] = ()  # its last verdicts, oldest first
    worktree: dict[str, Any] | None = None  # branch, dirty, unpushed
    container: dict[str, Any] | None = None
    ports: tuple[dict[str, Any], ...] = ()  # each with the process that listens there now, if known
    earlier: int = 0  # deaths of the same name and cause before this one, in a row
    incident: str | None = None  # shared by sessions that died of the same cause at once
    reasons: tuple[str, ...] = ()  # one for each source

    __repr__ = short_repr("session", "cause", "why")


class Order(StrEnum):
    """An order to end a session, written down before it is carried out."""

    STOP = "stop"
    REPLACE = "replace"
