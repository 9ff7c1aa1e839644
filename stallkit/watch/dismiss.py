"""The one place that presses keys: look again, press once, verify.

A press needs the same signature in the same place in two looks, the foreground process that its pack names, and a
session that takes keys; the transport checks once more at the moment of pressing.  Afterwards the screen has to show
what the signature expects.  Whatever happens, nothing is pressed twice.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Callable

from attrs import frozen

from stallkit.core.engine import Match
from stallkit.core.keys import Keys
from stallkit.core.signature import Certainty, Expect, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.errors import KeysRefused, SessionGone, TransportError
from stallkit.transports.base import Transport, look
from stallkit.watch.policy import Decision, Press

__all__ = ["End", "Outcome", "dismiss"]

POLL_S = 0.05  # between looks while a press takes effect: a person would not see the difference
Judged = Callable[[Snapshot], Verdict]


class End(StrEnum):
    """How a dismissal ended."""

    CLEARED = "cleared"  # the prompt went away
    REPLACED = "replaced"  # by another prompt
    UNCHANGED = "unchanged"  # it is still there
    GONE = "gone"  # the session is
    REFUSED = "refused"  # nothing was pressed
    UNKNOWN = "unknown"  # pressed, or perhaps: nobody could look what came of it


@frozen
class Outcome:
    """What came of a dismissal; true where the prompt that was answered is no longer there."""

    end: End
    why: str
    keys: Keys | None = None  # that were pressed, once; None: nothing was
    match: Match | None = None  # of the prompt that took the place

    def __bool__(self) -> bool:
        return self.end in (End.CLEARED, End.REPLACED)


def dismiss(
    transport: Transport,
    decision: Decision,
    seen: Snapshot,
    judged: Judged,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Press what was decided in the session that was seen, and tell what came of it.

    `judged` tells what a snapshot shows.  Anything but a `Press` presses nothing, as does every doubt; a session or
    server that fails is an outcome, not an error.
    """
    if not isinstance(decision, Press):
        return Outcome(End.REFUSED, getattr(decision, "why", "nothing is to be pressed"))
    if decision.signature.dismissal is None:
        return Outcome(End.REFUSED, "the signature gives no keys")
    try:
        now = look(transport)
    except SessionGone as error:
        return Outcome(End.GONE, str(error))
    except TransportError as error:
        return Outcome(End.REFUSED, str(error))
    doubt = _doubt(decision, seen, now, judged(now))
    if doubt:
        return Outcome(End.REFUSED, doubt)
    try:
        transport.send(decision.keys, now)
    except KeysRefused as error:
        return Outcome(End.REFUSED, error.why)
    except SessionGone as error:
        return Outcome(End.GONE, str(error))
    except TransportError as error:
        return Outcome(End.UNKNOWN, f"the keys may have been pressed: {error}", decision.keys)
    return _verify(transport, decision, now, judged, clock, sleep)


def _doubt(decision: Press, seen: Snapshot, now: Snapshot, verdict: Verdict) -> str | None:
    """What speaks against pressing at the second look; None where nothing does."""
    match = verdict.match
    if now.identity != seen.identity:
        return "it is another session now"
    if now.alive is False:
        return "its program ended"
    if now.accepts_keys is False:
        return "it takes no keys now: a person may be reading in copy mode"
    if now.screen.fingerprint != seen.screen.fingerprint:
        return "the screen changed between two looks"
    if now.foreground != seen.foreground:
        return f"{now.foreground} took the foreground from {seen.foreground}"
    if match is None or match.signature != decision.signature:
        return "the prompt is no longer there"
    if verdict.state is not State.WAITING or verdict.certainty is not Certainty.SURE:
        return "doubtful: " + "; ".join(verdict.reasons[1:])
    if match.pack.foreground and now.foreground not in match.pack.foreground:
        return (
            f"{now.foreground or 'an unknown program'} is in the foreground, not one that pack {match.pack.name} names"
        )
    return None


def _verify(
    transport: Transport,
    decision: Press,
    before: Snapshot,
    judged: Judged,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Outcome:
    """Look until what was expected is seen, or its time is over."""
    keys, dismissal = decision.keys, decision.signature.dismissal
    assert dismissal is not None  # Policy.decide made sure
    deadline = clock() + dismissal.settle_s
    while True:
        try:
            after = look(transport)
        except SessionGone as error:
            return Outcome(End.GONE, str(error), keys)
        except TransportError as error:
            return Outcome(End.UNKNOWN, f"pressed, then {error}", keys)
        if after.alive is False:
            return Outcome(End.GONE, "its program ended", keys)
        verdict = judged(after)
        waits = verdict.state is State.WAITING
        there = waits and verdict.match is not None and verdict.match.signature == decision.signature
        moved = after.screen.fingerprint != before.screen.fingerprint or after.foreground != before.foreground
        if moved and (dismissal.expect is Expect.CHANGED or not there):
            if waits and not there:
                return Outcome(End.REPLACED, "another prompt is there now", keys, verdict.match)
            return Outcome(End.CLEARED, "the prompt went away", keys)
        if clock() >= deadline:
            return Outcome(End.UNCHANGED, f"the prompt is still there after {dismissal.settle_s:g} s", keys)
        sleep(POLL_S)
