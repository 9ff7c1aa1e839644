"""What tests of the supervisor share: sessions that ask, and its events until a condition holds of them."""

from __future__ import annotations

import asyncio
import json
from typing import Callable

from stallkit_supervisor.session_state import Schedule
from stallkit_supervisor.supervisor import Supervisor
from terminals import Server

from stallkit import dump
from stallkit.press.events import Event
from stallkit.press.policy import Policy
from stallkit.press.rules import Rule

EAGER = Schedule(interval_s=0.2, eager_s=0.2)
PATIENCE_S = 30.0
ASKS = "read -n1 -s -r -p 'Press any key to continue...'; printf '\\nwent on\\n\\n'; "
# A person's consent to that pause in these sessions.
KEY = Policy("key", rules=[Rule(do="press", signature="shell_tools:press_any_key", session=["tmux:*", "memory:*"])])
# Not at once: it has to be seen to go.  Each turn a row lower, so that it is another screen.
AGAIN = f"turn=; for _ in 1 2 3 4 5 6 7 8 9; do clear; turn+=\\\\n; printf $turn; {ASKS} sleep 1; done; exec sleep 100"


async def watch(supervisor: Supervisor, until: Callable[[list[Event]], bool]) -> list[Event]:
    """Its events until a condition holds of them."""
    seen: list[Event] = []

    async def read() -> None:
        async for event in supervisor:
            seen.append(event)
            if until(seen):
                supervisor.stop()

    async with supervisor:
        try:
            await asyncio.wait_for(read(), PATIENCE_S)
        except TimeoutError:
            raise AssertionError(f"it did not come to that: {[json.dumps(dump(one)) for one in seen]}") from None
    return seen


def run(supervisor: Supervisor, until: Callable[[list[Event]], bool]) -> list[Event]:
    return asyncio.run(watch(supervisor, until))


def named(events: list[Event], name: str) -> list[Event]:
    """Those of that name, without what was refused: on a busy machine a look may find a screen half drawn."""
    return [event for event in events if event.name == name and event.facts.get("outcome") != "refused"]


def has(*names: str) -> Callable[[list[Event]], bool]:
    return lambda events: all(named(events, name) for name in names)


def shell(server: Server, name: str, script: str, shows: str = "") -> None:
    server.start(name, "bash", "-c", script, shows=shows).close()
