"""One look with what sources need to know of it: the detection, the looks before, and what follows from the facts."""

from __future__ import annotations

from functools import cached_property
from typing import Sequence

from attrs import frozen

from stallkit.detect.engine import Detection
from stallkit.evidence.agents import Ended, agents, led, left_of, left_to
from stallkit.evidence.facts import KernelFacts, Member
from stallkit.evidence.kernel_summary import Kernel
from stallkit.evidence.snapshot import Snapshot

__all__ = ["Look"]


@frozen
class Look:
    """What every source is given."""

    detection: Detection
    snapshot: Snapshot  # with who asks as its foreground process
    history: Sequence[Snapshot]  # the looks before it, oldest first
    agent_seen: Snapshot | None  # the latest that showed an agent
    unnamed: Member | None  # a program that a person talks with and no pack names, as it was last seen to read
    facts: Kernel

    @classmethod
    def of(
        cls,
        detection: Detection,
        snapshot: Snapshot,
        history: Sequence[Snapshot],
        agent_seen: Snapshot | None,
        unnamed: Member | None,
    ) -> Look:
        """The look, with who asks found out."""
        if agent_seen is None and history and agents(detection.agents, history[-1].kernel):
            agent_seen = history[-1]
        snapshot = led(snapshot, agents(detection.agents, snapshot.kernel))
        return cls(detection, snapshot, history, agent_seen, unnamed, Kernel.of(snapshot, history, detection.match))

    @cached_property
    def left(self) -> tuple[str, bool, Ended] | None:
        """Why an agent is known to have ended, whether that is sure, and what is left; None if it may be there."""
        found = left_of(self.detection, self.snapshot, self.agent_seen)
        if found is None and self.unnamed is not None and (why := left_to(self.unnamed, self.snapshot)) is not None:
            return why, True, Ended.WRAPPED
        return found

    @property
    def agents_before(self) -> KernelFacts | None:
        """The kernel's facts of the latest look that showed an agent, if that was the same session."""
        seen = self.agent_seen
        return seen.kernel if seen is not None and seen.identity == self.snapshot.identity else None
