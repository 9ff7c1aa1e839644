"""What is true: the moments that an agent was driven into, each with when it came and went.  Pure values.

Times are seconds since 1970, as the event log's.
"""

from __future__ import annotations

import json
from typing import Any, Iterable, Mapping

from attrs import asdict, evolve, field, frozen


@frozen
class Moment:
    """One state that an agent was driven into; `what` a person is to be told, None where nothing is to be told."""

    actor: str  # the session's name
    agent: str
    scene: str
    what: str | None
    appeared: float
    ended: float = 0.0  # nothing is known of it afterwards
    answered: float | None = None  # when the agent took the person's answer: its dialog left the pane
    allows: tuple[str, ...] = field(default=(), converter=tuple)  # keys and texts that stallkit may give here
    taken: tuple[str, ...] = field(default=(), converter=tuple)  # what came to the agent that the person did not give
    lost: bool = False  # what must never be removed was
    reached: bool = True  # the agent could be driven into it

    @property
    def name(self) -> str:
        return f"{self.actor}, {self.scene}"


@frozen
class Round:
    """One run of the cast under one policy."""

    policy: str
    number: int
    hung_after_s: float
    moments: tuple[Moment, ...] = field(default=(), converter=tuple)
    events: tuple[Mapping[str, Any], ...] = field(default=(), converter=tuple)  # of the supervisor's log


def written(round_: Round) -> str:
    """A round as lines of JSON: itself, its moments, its events."""
    head = {"policy": round_.policy, "number": round_.number, "hung_after_s": round_.hung_after_s}
    lines = [{"round": head}, *({"moment": asdict(one)} for one in round_.moments)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [*lines, *round_.events])


def read(lines: Iterable[str]) -> Round:
    """The inverse of `written`."""
    values = [json.loads(line) for line in lines]
    head = next(value["round"] for value in values if "round" in value)
    moments = [Moment(**value["moment"]) for value in values if "moment" in value]
    events = [value for value in values if "event" in value]
    return evolve(Round(**head), moments=moments, events=events)
