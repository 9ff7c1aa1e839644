"""A container runtime's stream of events, held open: a child process, started again when it ends; no event is lost.

A container runtime keeps its events for a while (dockerd the last 256, podman all), so a stream that is started again
asks for those since shortly before the last event, and leaves out the ones that it has given already.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections import deque
from contextlib import aclosing, suppress
from typing import AsyncGenerator

from stallkit_sessions.containers.container_events import Broke, ContainerEvent, read_event
from stallkit_sessions.containers.runtime_call import DOCKER, environment, not_installed

__all__ = ["ContainerEventStream"]

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

        Raises TransportUnavailable where the runtime's command is not installed.
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
        return [*command, "--filter", "label=stallkit.session" if self.name == DOCKER else "type=container"]

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
