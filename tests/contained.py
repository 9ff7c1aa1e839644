"""What tests of container engines share: containers in a room, their ends, and what is told of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from machine_room import IMAGE, Room
from stallkit_sessions.containers.container_events import (
    Account,
    Broke,
    ContainerEvent,
    ContainerEventStream,
    ContainerFacts,
)
from stallkit_sessions.containers.runtime_call import kept
from stallkit_sessions.containers.runtimes import ContainerRuntime
from stallkit_sessions.model import Session
from terminals import wait_for

LABEL = "stallkit.session=abc"
TRAPS = "trap 'exit 9' USR1; trap 'exit 0' USR2; echo ready; while :; do sleep 0.05; done"


def engine(room: Room) -> ContainerRuntime:
    return ContainerRuntime(room.name, kept({**os.environ, **room.environment}))


def session_of(room: Room, name: str, *command: str, **more: Any) -> Session:
    return Session(
        name="work",
        id="abc",
        command=command,
        directory=more.pop("directory", "/"),
        started_at=0.0,
        boot="",
        engine=room.name,
        image=IMAGE,
        container=name,
        engine_environment=kept({**os.environ, **room.environment}),
        **more,
    )


def run(room: Room, name: str, script: str, *options: str) -> None:
    """A container in the background."""
    room.run("run", "-d", "--name", name, "--label", LABEL, *options, IMAGE, "sh", "-c", script)


def traps(room: Room, name: str, *options: str) -> int:
    """One that waits for a signal; its program's number."""
    run(room, name, TRAPS, *options)
    wait_for(lambda: "ready" in room.call("logs", name).stdout, "the traps")
    return room.pid(name)


def ended(room: Room, name: str) -> ContainerFacts:
    looks = [engine(room).facts(name)]
    wait_for(lambda: not looks[-1].running or looks.append(engine(room).facts(name)), f"the end of {name}")
    assert not any(look.engine_died for look in looks), "it ended in order, whenever one looked"
    return looks[-1]


class Told:
    """A stream of events, listened to while something is done; and what it says of one container."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.heard: list[ContainerEvent | Broke] = []

    def during(
        self, act: Callable[[], object], until: Callable[[list[ContainerEvent | Broke]], object]
    ) -> list[ContainerEvent | Broke]:
        async def listened() -> None:
            stream = ContainerEventStream(self.room.name, engine(self.room).environment, self.now()).listen()
            async with contextlib.aclosing(stream), asyncio.timeout(90):
                while not until(self.heard):
                    self.heard.append(await anext(stream))

        # Beside us, not the act: a daemon that is started ends with the thread that started it.
        with ThreadPoolExecutor(1) as beside:
            listening = beside.submit(asyncio.run, listened())
            act()
            listening.result()
        return self.heard

    def now(self) -> float:
        """Of the events of this test alone."""
        return time.time() + 0.9  # a stream begins a little before what it is asked for

    def account(self, name: str) -> Account:
        told = Account()
        for event in self.heard:
            if isinstance(event, Broke) or event.container == name:
                told = told.after(event)
        return told


def heard(kind: type[ContainerEvent], *names: str) -> Callable[[list[ContainerEvent | Broke]], object]:
    """Whether all of these containers were heard of; a stream also tells of those of the test before."""
    return lambda events: set(names) <= {one.container for one in events if isinstance(one, kind)}
