"""What a runtime's stream of events says of our containers, as values: how a line is read, and what adds up.  Pure.

docker and podman name the same things differently (docs/container-runtimes.md).  What is no line about a container of
ours, or cannot be read, is nothing.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from attrs import evolve, frozen

from stallkit.transports.base import Presence

__all__ = [
    "Account",
    "Broke",
    "ContainerFacts",
    "Died",
    "ContainerEvent",
    "Killed",
    "OutOfMemory",
    "Removed",
    "Started",
    "read_event",
]

_LABEL = "stallkit.session"
_LONGEST = 100_000  # characters of a line: labels can be of any length
_SIGNALS = range(1, 65)
_CODES = range(256)


@frozen
class ContainerFacts:
    """What a runtime says of a container.  A code is None where nobody said one: it is never taken for 0."""

    place: Presence
    running: bool = False  # only where it is there
    removes_itself: bool = False  # --rm
    started: bool = True  # False where the runtime says that it never ran
    event_code: int | None = None  # of its `die`, heard in a stream that was begun before the container
    event_signal: int | None = None  # a `kill` that the runtime was asked for
    inspect_code: int | None = None  # of a container that is there and exited; the runtime itself vouches for it
    oom: bool = False
    engine_died: bool = False  # the daemon, or the container's monitor, ended while the container ran
    heard: bool = False  # whoever listened has heard its end
    doubtful: bool = False  # the runtime lost sight of its program: what its client says (but 255) is made up


@frozen
class ContainerEvent:
    """Something that happened to a container: its name, the session it belongs to, when by the runtime's clock."""

    container: str
    session: str
    at: float  # seconds of the wall clock


@frozen
class Started(ContainerEvent):
    """Its program runs."""


@frozen
class Died(ContainerEvent):
    """Its program ended.  `code` is what the runtime wrote; None where it wrote none.

    podman 4 leaves out a 0, so that nobody can tell it from *unknown*; 255 may be a runtime's *unknown* (`weigh`).
    """

    code: int | None = None


@frozen
class Killed(ContainerEvent):
    """The runtime was asked to send it a signal; podman does not say which."""

    signal: int | None = None


@frozen
class OutOfMemory(ContainerEvent):
    """The kernel ended one of its processes, not always the first: it used more memory than it may have."""


@frozen
class Removed(ContainerEvent):
    """It is no longer there."""


@frozen
class Broke:
    """Nobody tells us any more: `runtime_gone` where the runtime hung up, False where our own child was ended."""

    runtime_gone: bool
    why: str = ""


@frozen
class Account:
    """What was heard of one container in a stream that was begun before it."""

    started: bool = False
    died: bool = False
    code: int | None = None
    signal: int | None = None  # the last that the runtime was asked for
    oom: bool = False
    removed: bool = False
    runtime_gone: bool = False  # the runtime hung up while it ran

    def after(self, event: ContainerEvent | Broke) -> Account:
        """With one more event of this container's, or the stream's end."""
        match event:
            case Broke():
                return evolve(self, runtime_gone=self.runtime_gone or (event.runtime_gone and not self.died))
            case Started():
                return Account(started=True)  # also one that was started anew: what was before counts no more
            case Died():
                return evolve(self, died=True, code=event.code)
            case Killed() if not self.died:
                return evolve(self, signal=event.signal)
            case OutOfMemory():
                return evolve(self, oom=True)
            case Removed():
                return evolve(self, removed=True)
        return self


def read_event(line: str) -> ContainerEvent | None:
    """One line of `docker events` or `podman events --format '{{json .}}'`; None for what is not about a session."""
    if len(line) > _LONGEST:
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("Type") != "container":
        return None
    actor = said.get("Actor")
    attributes = actor.get("Attributes") if isinstance(actor, dict) else said.get("Attributes")
    if not isinstance(attributes, dict):
        return None
    session, container = attributes.get(_LABEL), attributes.get("name", said.get("Name"))
    at = _moment(said)
    if not (isinstance(session, str) and session and isinstance(container, str) and container) or at is None:
        return None
    match said.get("Action") or said.get("status") or said.get("Status"):
        case "start":
            return Started(container, session, at)
        case "die" | "died":
            code = attributes.get("exitCode", attributes.get("containerExitCode", said.get("ContainerExitCode")))
            return Died(container, session, at, _number(code, _CODES))
        case "kill":
            return Killed(container, session, at, _number(attributes.get("signal"), _SIGNALS))
        case "oom":
            return OutOfMemory(container, session, at)
        case "destroy" | "remove":
            return Removed(container, session, at)
    return None


def _number(said: Any, among: range) -> int | None:
    if isinstance(said, str) and len(said) <= 3 and said.isascii() and said.isdigit():
        said = int(said)
    return said if isinstance(said, int) and not isinstance(said, bool) and said in among else None


def _moment(said: dict[str, Any]) -> float | None:
    nanos, seconds, text = said.get("timeNano"), said.get("time"), said.get("Time")
    if isinstance(nanos, int) and 0 < nanos < 2**63:
        return nanos // 1_000 / 1e6  # a float does not hold that many nanoseconds
    if isinstance(seconds, int) and 0 < seconds < 2**40:
        return float(seconds)
    if isinstance(text, str):
        try:
            return datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return None
