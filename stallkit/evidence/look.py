"""One look with what sources need to know of it: the detection, the looks before, and what follows from the facts."""

from __future__ import annotations

from typing import Sequence

from attrs import frozen

from stallkit.core.agents import agents, led
from stallkit.core.engine import Detection
from stallkit.core.evidence import Kernel
from stallkit.core.facts import KernelFacts
from stallkit.core.verdict import Snapshot

__all__ = ["Look"]


@frozen
class Look:
    """What every source is given."""

    detection: Detection
    snapshot: Snapshot  # with who asks as its foreground process
    history: Sequence[Snapshot]  # the looks before it, oldest first
    agent_seen: Snapshot | None  # the latest that showed an agent
    facts: Kernel

    @classmethod
    def of(
        cls, detection: Detection, snapshot: Snapshot, history: Sequence[Snapshot], agent_seen: Snapshot | None
    ) -> Look:
        """The look, with who asks found out."""
        if agent_seen is None and history and agents(detection.agents, history[-1].kernel):
            agent_seen = history[-1]
        snapshot = led(snapshot, agents(detection.agents, snapshot.kernel))
        return cls(detection, snapshot, history, agent_seen, Kernel.of(snapshot, history, detection.match))

    @property
    def agents_before(self) -> KernelFacts | None:
        """The kernel's facts of the latest look that showed an agent, if that was the same session."""
        seen = self.agent_seen
        return seen.kernel if seen is not None and seen.identity == self.snapshot.identity else None
