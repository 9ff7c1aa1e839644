"""A machine's answer to a prompt: the keys that its signature gives, through the gate of `press`.

It needs the same signature in the same place in two looks, a verdict that is sure, and the foreground process that the
pack names.
"""

from __future__ import annotations

import time
from typing import Callable

from stallkit.core.signature import Certainty, Expect, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.transports.base import Transport
from stallkit.watch.decision import Decision, Press
from stallkit.watch.press import End, Judged, Outcome, Plan, press

__all__ = ["dismiss"]


def dismiss(
    transport: Transport,
    decision: Decision,
    seen: Snapshot,
    judged: Judged,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Press what was decided in the session that was seen, and tell what came of it.

    `judged` tells what a snapshot shows, given the one before it.  Anything but a `Press` presses nothing, as does
    every doubt; a session or server that fails is an outcome, not an error.
    """
    if not isinstance(decision, Press):
        return Outcome(End.REFUSED, getattr(decision, "why", "nothing is to be pressed"))
    signature, dismissal = decision.signature, decision.signature.dismissal
    if dismissal is None:
        return Outcome(End.REFUSED, "the signature gives no keys")
    plan = Plan(
        keys=dismissal.keys,
        doubt=lambda now, verdict: _doubt(decision, now, verdict),
        there=lambda verdict: verdict.match is not None and verdict.match.signature == signature,
        settle_s=dismissal.settle_s,
        gone=dismissal.expect is Expect.GONE,
    )
    return press(transport, plan, seen, judged, clock, sleep)


def _doubt(decision: Press, now: Snapshot, verdict: Verdict) -> str | None:
    """What speaks against pressing at the second look; None where nothing does."""
    match = verdict.match
    if match is None or match.signature != decision.signature:
        return "the prompt is no longer there"
    if verdict.state is not State.WAITING or verdict.certainty is not Certainty.SURE:
        return "doubtful: " + "; ".join(verdict.reasons[1:])
    if match.pack.foreground and now.foreground not in match.pack.foreground:
        names = f"not one that pack {match.pack.name} names"
        return f"{now.foreground or 'an unknown program'} is in the foreground, {names}"
    return None
