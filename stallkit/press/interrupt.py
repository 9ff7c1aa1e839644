"""Whether an agent that hangs may be interrupted, or ended: the reasons against it at one look.  Pure.

Its spinner turns, so the whole screen is never the same at two looks: what must hold is who reads, and that nothing
stands there which Escape would take away, neither a dialog nor a draft.
"""

from __future__ import annotations

from stallkit.detect.composer import written
from stallkit.detect.engine import Match
from stallkit.detect.signature import State
from stallkit.evidence.facts import KernelFacts
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.compose import by_its_agent, draft
from stallkit.press.who_asks import came_later, unproven

__all__ = ["doubt_of_interrupt", "doubt_of_work"]


def doubt_of_work(verdict: Verdict, now: Snapshot) -> str | None:
    """Why this may not be an agent that surely says it works, above a composer without a draft; or None."""
    match, kernel = verdict.match, now.kernel or KernelFacts()
    if now.sealed:
        return "it is sealed: no key goes in, and it is not ended for hanging (stallkit stuck rebuild)"
    if verdict.state is not State.WORKING or match is None or match.signature.state is not State.WORKING:
        return f"it does not say that it works: it is {verdict.state} ({verdict.reasons[-1]})"
    if not verdict.sure_by_screen:
        return f"it may be a picture of an agent at work: {'; '.join(verdict.reasons)}"
    if any(one.counts and one.state is State.WAITING for one in verdict.signals):
        return "it says itself that it waits"
    if kernel.relay is not None or kernel.through is not None:
        return f"it is shown through {kernel.through or kernel.relay}"
    if not match.pack.foreground or not by_its_agent(match, now):
        return f"the program in the foreground is not one that pack {match.pack.name} names"
    return _doubt_of_composer(match, now)


def doubt_of_interrupt(verdict: Verdict, now: Snapshot, before: Snapshot) -> str | None:
    """Why Escape may reach something else than that agent's turn, from two looks; or None."""
    doubt = doubt_of_work(verdict, now)
    if doubt is not None:
        return doubt
    if now.kernel is None or not now.kernel.readers:
        return "which process reads the terminal is unknown"
    if verdict.match is not None and (doubt := unproven(verdict.match.pack, now.kernel)):
        return doubt
    return came_later(now, before)


def _doubt_of_composer(match: Match, now: Snapshot) -> str | None:
    """Whether a draft may stand there, or something in the composer's place, where its agent has one."""
    composers = {one.composer for one in match.pack.signatures if one.composer is not None}
    if not composers:
        return None
    found = [one for composer in composers if (one := written(now.screen, composer)) is not None]
    if not found:
        return "the cursor is not in its composer: something else may stand in its place"
    return next((draft(one) for one in found if not one.empty), None)
