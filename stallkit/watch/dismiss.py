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
# Seconds in which nobody presses again at a screen that stays as it was: longer than programs take to react, so that
# two checks of one session at the same time press once.
REST_S = 10.0
Judged = Callable[[Snapshot, Snapshot], Verdict]


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

    `judged` tells what a snapshot shows, given the one before it.  Anything but a `Press` presses nothing, as does
    every doubt; a session or server that fails is an outcome, not an error.
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
    doubt = _doubt(decision, seen, now, judged(now, seen))
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
        return "it takes no keys now: it is in copy mode, or would type into other panes as well"
    if now.pressed_at is not None and now.taken_at is not None and now.taken_at - now.pressed_at < REST_S:
        return "a key was pressed at this very screen a moment ago"
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
    """Look until two looks in a row agree on what came of the press, or its time is over."""
    dismissal = decision.signature.dismissal
    assert dismissal is not None  # Policy.decide made sure
    deadline = clock() + dismissal.settle_s
    previous, came = before, None
    while True:
        try:
            after = look(transport)
        except SessionGone as error:
            return Outcome(End.GONE, str(error), decision.keys)
        except TransportError as error:
            return Outcome(End.UNKNOWN, f"pressed, then {error}", decision.keys)
        if after.alive is False:
            return Outcome(End.GONE, "its program ended", decision.keys)
        verdict = judged(after, previous)
        earlier, came = came, _came(decision, before, after, verdict)
        agreed = earlier is not None and earlier.end is came.end
        if agreed and came.end is not End.UNCHANGED and not _may_wait(verdict):
            return came
        if clock() >= deadline:
            return came
        previous = after
        sleep(POLL_S)


def _came(decision: Press, before: Snapshot, after: Snapshot, verdict: Verdict) -> Outcome:
    """What one look says came of a press."""
    keys, dismissal = decision.keys, decision.signature.dismissal
    assert dismissal is not None  # Policy.decide made sure
    waits = verdict.state is State.WAITING
    there = waits and verdict.match is not None and verdict.match.signature == decision.signature
    moved = after.screen.fingerprint != before.screen.fingerprint or after.foreground != before.foreground
    if not moved or (there and dismissal.expect is Expect.GONE):
        return Outcome(End.UNCHANGED, f"the prompt is still there after {dismissal.settle_s:g} s", keys)
    if waits and not there:
        return Outcome(End.REPLACED, "another prompt is there now", keys, verdict.match)
    return Outcome(End.CLEARED, "the prompt went away", keys)


def _may_wait(verdict: Verdict) -> bool:
    """Half drawn, perhaps: worth another look."""
    return verdict.state is State.WAITING and verdict.certainty is Certainty.MAYBE
