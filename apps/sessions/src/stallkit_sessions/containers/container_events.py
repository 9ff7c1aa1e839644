"""The events of our containers in a runtime's stream: read from lines, and added up for each container.  Pure.

docker and podman name the same things differently (docs/sessions.md).  Lines about other things, or that
cannot be read, give None.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections import deque
from contextlib import aclosing, suppress
from datetime import datetime
from typing import Any, AsyncGenerator

from attrs import evolve, frozen

from stallkit.transports.base import Presence
from stallkit_sessions.containers.runtime_call import DOCKER, environment, not_installed

# --- a container runtime's stream of events, held open ---

_OVERLAP_S = 1.0  # asked for again, since runtimes and clocks are not exact
_FIRST_S, _LONGEST_S = 0.1, 5.0  # the wait before it is started again
_LINE = 1 << 20  # bytes of a line; longer ones are skipped
_HUNG_UP = re.compile(r"EOF|cannot connect|connection (?:refused|reset)|broken pipe|no such file", re.IGNORECASE)
_GIVEN = 1_024  # events that are remembered, so that none is given twice


class ContainerEventStream:
    """Events of all sessions' containers in one runtime, from `since` on (seconds of the runtime's wall clock)."""

    def __init__(self, name: str, own: tuple[tuple[str, str], ...], since: float) -> None:
        self.name = name
        self._own = own
        self._since = since
        self._given: deque[ContainerEvent] = deque(maxlen=_GIVEN)
        self._complaint = ""

    async def listen(self) -> AsyncGenerator[ContainerEvent | Broke, None]:
        """Each event once, and `Broke` each time that the stream breaks; until it is closed or cancelled.

        Raises TransportUnavailable if the runtime's command is not installed.
        """
        wait_s, whole = _FIRST_S, True
        while True:
            runtime_gone = True
            async with aclosing(self._once()) as lines:
                async for line in lines:
                    if isinstance(line, bool):
                        runtime_gone = line
                        continue
                    event = read_event(line)
                    if event is None:
                        self._complaint = line[:200]
                        continue
                    wait_s, whole = _FIRST_S, True
                    if event not in self._given:
                        self._given.append(event)
                        self._since = max(self._since, event.at)
                        yield event
            if whole:
                yield Broke(runtime_gone, self._complaint)
            whole = False
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_S)

    def _command(self) -> list[str]:
        command = [self.name, "events", "--format", "{{json .}}", "--since", f"{self._since - _OVERLAP_S:.6f}"]
        # podman 4.3 filters by a label only with its value: there `read_event` filters.
        return [*command, "--filter", f"label={LABEL}" if self.name == DOCKER else "type=container"]

    async def _once(self) -> AsyncGenerator[str | bool, None]:
        """The lines of one child process, and finally whether the runtime hung up."""
        command = self._command()
        try:
            process = await asyncio.create_subprocess_exec(
                *command, env=environment(self._own), stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, start_new_session=True
            )
        except OSError as error:
            raise not_installed(self.name, "events", error) from error
        assert process.stdout is not None
        try:
            rest, skips = b"", False
            while chunk := await process.stdout.read(65_536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if not skips:
                        yield line.decode("utf-8", "replace")
                    skips = False
                if len(rest) > _LINE:
                    rest, skips = b"", True
            ended = await process.wait()
            # podman has no daemon that could end, and an error of our call is not the runtime's end.
            yield self.name == DOCKER and (ended == 0 or (ended > 0 and bool(_HUNG_UP.search(self._complaint))))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


LABEL = "stallkit.session"
_LONGEST = 100_000  # characters of a line: labels can be of any length
_SIGNALS = range(1, 65)
_CODES = range(256)


@frozen
class ContainerFacts:
    """What a runtime reports of a container.  An unknown code is None, never 0."""

    place: Presence
    running: bool = False  # only where it exists
    removes_itself: bool = False  # --rm
    started: bool = True  # False where the runtime reports that it never ran
    seen_to_start: bool | None = None  # whether its `start` event was in the stream; None: nobody read that
    event_code: int | None = None  # of its `die` event, in a stream that began before the container
    event_signal: int | None = None  # of a `kill` that the runtime was asked for
    inspect_code: int | None = None  # of a container that exists and exited, from the runtime itself
    oom: bool = False
    engine_died: bool = False  # the daemon, or the container's monitor, ended while the container ran
    heard: bool = False  # the stream had its end
    doubtful: bool = False  # the runtime lost its program: the client's exit status (except 255) is made up


@frozen
class ContainerEvent:
    """Something that happened to a container: its name, its session, and when by the runtime's clock."""

    container: str
    session: str
    at: float  # seconds of the wall clock


@frozen
class Started(ContainerEvent):
    """Its program runs."""


@frozen
class Died(ContainerEvent):
    """Its program ended.  `code` is what the runtime wrote; None if it wrote none.

    podman 4 leaves out a 0, which then looks like *unknown*; 255 may be a runtime's *unknown* (`weigh`).
    """

    code: int | None = None


@frozen
class Killed(ContainerEvent):
    """The runtime was asked to send it a signal; podman does not report which."""

    signal: int | None = None


@frozen
class OutOfMemory(ContainerEvent):
    """The kernel killed one of its processes, not always the first: it exceeded its memory limit."""


@frozen
class Removed(ContainerEvent):
    """It no longer exists."""


@frozen
class Broke:
    """The stream ended: `runtime_gone` if the runtime hung up, False if our own child process was killed."""

    runtime_gone: bool
    why: str = ""


@frozen
class Account:
    """The events of one container in a stream that began before it."""

    started: bool = False
    died: bool = False
    code: int | None = None
    signal: int | None = None  # the last signal that the runtime was asked for
    oom: bool = False
    removed: bool = False
    runtime_gone: bool = False  # the runtime hung up while it ran

    def after(self, event: ContainerEvent | Broke) -> Account:
        """The account with one more event of this container, or with the stream's end."""
        match event:
            case Broke():
                return evolve(self, runtime_gone=self.runtime_gone or (event.runtime_gone and not self.died))
            case Started():
                return Account(started=True)  # also after a restart: what happened before no longer counts
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
    """One line of `docker events` or `podman events --format '{{json .}}'`; None if it is not about a session."""
    if len(line) > _LONGEST:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or event.get("Type") != "container":
        return None
    actor = event.get("Actor")
    attributes = actor.get("Attributes") if isinstance(actor, dict) else event.get("Attributes")
    if not isinstance(attributes, dict):
        return None
    session, container = attributes.get(LABEL), attributes.get("name", event.get("Name"))
    at = _moment(event)
    if not (isinstance(session, str) and session and isinstance(container, str) and container) or at is None:
        return None
    match event.get("Action") or event.get("status") or event.get("Status"):
        case "start":
            return Started(container, session, at)
        case "die" | "died":
            code = attributes.get("exitCode", attributes.get("containerExitCode", event.get("ContainerExitCode")))
            return Died(container, session, at, _number(code, _CODES))
        case "kill":
            return Killed(container, session, at, _number(attributes.get("signal"), _SIGNALS))
        case "oom":
            return OutOfMemory(container, session, at)
        case "destroy" | "remove":
            return Removed(container, session, at)
    return None


def _number(value: Any, among: range) -> int | None:
    if isinstance(value, str) and len(value) <= 3 and value.isascii() and value.isdigit():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value in among else None


def _moment(event: dict[str, Any]) -> float | None:
    nanos, seconds, text = event.get("timeNano"), event.get("time"), event.get("Time")
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
