"""Does a session that says it works do anything?  What one look at it finds, and what a single check can know.

A check has no history.  It knows for how long nothing has come or gone on the session's connections, for how long the
turn has taken by the screen's own count or the program's word, and which tools run now.  Where any of these is unknown,
or no connection is open, a check never says that a session is hung.
"""

from __future__ import annotations

from stallkit.detect.signature import State
from stallkit.evidence.agents import agents_of
from stallkit.evidence.signal import Guard
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Hung, Verdict
from stallkit.press.hang import HUNG_AFTER_S, Sighting, Watchdog, turn_counters
from stallkit.probes.process_tree import sample
from stallkit.probes.tcp_sockets import TcpSockets
from stallkit.signals.descent import at_work

__all__ = ["hung_now", "sighting"]


def sighting(verdict: Verdict, snapshot: Snapshot, sockets: TcpSockets | None = None) -> Sighting | None:
    """What one look at a session at work finds; None where the verdict is not that its program says it works.

    Takes a sample of its processes.  `sockets` are shared by all sessions that are looked at together.  Never raises.
    """
    if not verdict.says_it_works:
        return None
    counters = turn_counters(snapshot.screen)
    says = (one for one in verdict.signals if one.counts and one.state is State.WORKING and one.guard is Guard.PROCESS)
    said_s = min((one.since_s for one in says if one.since_s is not None), default=None)
    return Sighting(sample(_working(verdict, snapshot), sockets), counters.elapsed_s, counters.tokens, said_s)


def _working(verdict: Verdict, snapshot: Snapshot) -> tuple[int, ...]:
    """The processes that work: the agent's own, without the shell or launcher above it, whose tool it would seem."""
    there = at_work(snapshot)
    own = {one.pid for one in agents_of(verdict.detection.agents, snapshot.kernel)}
    return tuple(pid for pid in there if pid in own) or there


def hung_now(verdict: Verdict, snapshot: Snapshot, after_s: float = HUNG_AFTER_S) -> Hung | None:
    """Whether a session is hung, as far as one check can know it; None where it is not, or that is unknown."""
    dog = Watchdog.begin(0.0, sighting(verdict, snapshot))
    return None if dog.tools else dog.hung(after_s)  # what asked for a tool that has just begun is not known
