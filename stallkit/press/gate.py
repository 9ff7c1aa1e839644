"""The one gate in front of every key: look again, press once, verify.

A machine's dismissal and a person's answer both go through it.  Nothing is pressed where the session changed since it
was seen; the transport checks once more at the moment of pressing; afterwards the screen has to show what came of it.
Whatever happens, nothing is pressed twice.  A dismissal needs the same signature in the same place in two looks, a
verdict that is sure, and the foreground process that the pack names.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Callable

from attrs import field, frozen

from stallkit.core.engine import Match
from stallkit.core.keys import Keys
from stallkit.core.signature import Certainty, Expect, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.errors import KeysRefused, SessionGone, TransportError
from stallkit.press.policy import Decision, Press
from stallkit.transports.base import Transport, look

__all__ = ["End", "Judged", "Outcome", "Plan", "dismiss", "press"]

POLL_S = 0.05  # between looks while a press takes effect: a person would not see the difference
# Seconds in which nobody presses again at a screen that stays as it was: longer than programs take to react, so that
# two checks of one session at the same time press once.
REST_S = 10.0
Judged = Callable[[Snapshot, Snapshot], Verdict]
"""What a snapshot shows, given the one before it."""


class End(StrEnum):
    """How a press ended."""

    CLEARED = "cleared"  # the prompt went away
    REPLACED = "replaced"  # by another prompt
    UNCHANGED = "unchanged"  # it is still there
    GONE = "gone"  # the session is
    REFUSED = "refused"  # nothing was pressed
    UNKNOWN = "unknown"  # pressed, or perhaps: nobody could look what came of it


@frozen
class Outcome:
    """What came of a press; true where the prompt that was answered is no longer there.

    A key may have been pressed all the same: `pressed` says that.
    """

    end: End
    why: str
    keys: Keys | None = None  # that were pressed, once; None: nothing was
    match: Match | None = None  # of the prompt that took the place
    after: Snapshot | None = field(default=None, repr=False, eq=False)  # the look that says so

    def __bool__(self) -> bool:
        return self.end in (End.CLEARED, End.REPLACED)

    @property
    def pressed(self) -> bool:
        """Whether a key went out, or may have."""
        return self.keys is not None


@frozen
class Plan:
    """What is to be pressed, what speaks against it at the second look, and how its effect is told."""

    keys: Keys
    doubt: Callable[[Snapshot, Verdict], str | None]
    there: Callable[[Verdict], bool]  # the prompt that is answered is what this verdict is about
    verify_timeout_s: float  # how long the effect may take
    gone: bool  # it has to go away; else any change will do


def press(
    transport: Transport,
    plan: Plan,
    seen: Snapshot,
    judged: Judged,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Carry the plan out in the session that was seen, and tell what came of it.

    Every doubt refuses; a session or server that fails is an outcome, not an error.
    """
    try:
        now = look(transport)
    except SessionGone as error:
        return Outcome(End.GONE, str(error))
    except TransportError as error:
        return Outcome(End.REFUSED, str(error))
    doubt = _changed(seen, now) or plan.doubt(now, judged(now, seen))
    if doubt:
        return Outcome(End.REFUSED, doubt, after=now)
    try:
        transport.send(plan.keys, now)
    except KeysRefused as error:
        return Outcome(End.REFUSED, error.why, after=now)
    except SessionGone as error:
        return Outcome(End.GONE, str(error))
    except TransportError as error:
        return Outcome(End.UNKNOWN, f"the keys may have been pressed: {error}", plan.keys)
    return _verify(transport, plan, now, judged, clock, sleep)


def _changed(seen: Snapshot, now: Snapshot) -> str | None:
    """What is another at the second look, or forbids any key; None where nothing is."""
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
    return None


def _verify(
    transport: Transport,
    plan: Plan,
    before: Snapshot,
    judged: Judged,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Outcome:
    """Look until two looks in a row agree on what came of the press, or its time is over."""
    deadline = clock() + plan.verify_timeout_s
    previous, came = before, None
    while True:
        try:
            after = look(transport)
        except SessionGone as error:
            return Outcome(End.GONE, str(error), plan.keys)
        except TransportError as error:
            return Outcome(End.UNKNOWN, f"pressed, then {error}", plan.keys)
        if after.alive is False:
            return Outcome(End.GONE, "its program ended", plan.keys, after=after)
        verdict = judged(after, previous)
        earlier, came = came, _came(plan, before, after, verdict)
        agreed = earlier is not None and earlier.end is came.end
        if agreed and came.end is not End.UNCHANGED and not _may_wait(verdict):
            return came
        if clock() >= deadline:
            return came
        previous = after
        sleep(POLL_S)


def _came(plan: Plan, before: Snapshot, after: Snapshot, verdict: Verdict) -> Outcome:
    """What one look says came of a press."""
    waits, there = verdict.state is State.WAITING, plan.there(verdict)
    moved = after.screen.fingerprint != before.screen.fingerprint or after.foreground != before.foreground
    if not moved or (waits and there and plan.gone):
        why = f"the prompt is still there after {plan.verify_timeout_s:g} s"
        return Outcome(End.UNCHANGED, why, plan.keys, after=after)
    if waits and not there:
        return Outcome(End.REPLACED, "another prompt is there now", plan.keys, verdict.match, after)
    return Outcome(End.CLEARED, "the prompt went away", plan.keys, after=after)


def _may_wait(verdict: Verdict) -> bool:
    """Half drawn, perhaps: worth another look."""
    return verdict.state is State.WAITING and verdict.certainty is Certainty.MAYBE


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
        verify_timeout_s=dismissal.verify_timeout_s,
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
