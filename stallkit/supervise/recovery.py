"""Carrying out what was decided about a watched session, in a thread: look again, write the intent, act, write the end.

The order is what makes a crash safe: an intent is on the disk before anything is done, and one without an end is never
done again.
"""

from __future__ import annotations

import shlex
import time
from contextlib import suppress
from functools import partial
from typing import Callable

from attrs import evolve, field, frozen

from stallkit.config import sessions_file
from stallkit.core.engine import Engine
from stallkit.core.keys import Keys
from stallkit.core.signature import State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.errors import SessionGone, StoreError, TransportError
from stallkit.press.answer import VERIFY_TIMEOUT_S, answer
from stallkit.press.check import judged, observe
from stallkit.press.gate import End, Outcome, Plan, dismiss, press
from stallkit.press.policy import Action, Policy, Press, Restart, Resume, Scene
from stallkit.supervise.restart import Restarter
from stallkit.supervise.state import Observed, observed
from stallkit.supervise.store import Store
from stallkit.transports.base import Transport

__all__ = ["RecoveryCommands", "Recoverer"]

LINES = 40  # of the last screen that are kept: a crash's trace, as a rule


@frozen
class RecoveryCommands:
    """What may be done besides the keys that signatures give."""

    restart: tuple[str, ...] = ()  # the command that starts the program again; empty: nothing is restarted
    resume: Keys | None = None  # what is pressed where a used-up limit is free again


@frozen
class Recoverer:
    """Acts on sessions, one at a time each; `clock` and `sleep` are what the gate waits by."""

    engine: Engine
    store: Store | None
    hands: RecoveryCommands = field(factory=RecoveryCommands)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def act(self, transport: Transport, name: str, decision: Action, policy: Policy, was: Observed) -> Outcome:
        """Do it once, if it still is what was seen, and tell what came of it.  Never raises for what may happen."""
        try:
            verdict, seen = observe(transport, self.engine, sleep=self.sleep, clock=self.clock)
        except SessionGone as error:
            return self._anew(transport, name, decision, error)
        except TransportError as error:
            return Outcome(End.REFUSED, str(error))
        if observed(verdict) != was:
            return Outcome(End.REFUSED, f"it is no longer what was seen: {verdict.reasons[-1]}", after=seen)
        again = policy.decide(verdict, Scene.of(seen))
        if isinstance(decision, Press) and again != decision:
            return Outcome(End.REFUSED, getattr(again, "why", "nothing is to be pressed now"), after=seen)
        keys = self._keys(decision)
        if keys is None and not (isinstance(decision, Restart) and self.hands.restart):
            return Outcome(End.REFUSED, "nothing is configured for it", after=seen)
        given = (seen.identity, seen.screen.fingerprint, str(was), str(keys) if keys else None)
        return self._recorded(name, decision, given, lambda: self._do(transport, name, decision, seen))

    def _recorded(
        self, name: str, decision: Action, given: tuple[str, str, str, str | None], do: Callable[[], Outcome]
    ) -> Outcome:
        """Do it between its intent and its end in the store; not at all where the intent cannot be written."""
        if self.store is None:
            return do()
        try:
            intent = self.store.intend(name, type(decision).__name__.lower(), *given)
        except StoreError as error:
            return Outcome(End.REFUSED, f"what cannot be recorded is not done: {error}")
        outcome = do()
        try:
            self.store.conclude(intent, outcome.end, outcome.why)
        except StoreError as error:
            return evolve(outcome, why=f"{outcome.why}; {error}")
        return outcome

    @property
    def _restarter(self) -> Restarter:
        register = self.store.path.with_name(sessions_file().name) if self.store else None
        return Restarter(self.hands.restart, register)

    def _keys(self, decision: Action) -> Keys | None:
        if isinstance(decision, Press):
            return decision.keys
        return self.hands.resume if isinstance(decision, Resume) else None

    def _do(self, transport: Transport, name: str, decision: Action, seen: Snapshot) -> Outcome:
        by = partial(judged, self.engine)
        match decision:
            case Press():
                return dismiss(transport, decision, seen, by, self.clock, self.sleep)
            case Resume():
                assert self.hands.resume is not None  # act() made sure
                plan = Plan(self.hands.resume, _still_quota, lambda verdict: False, VERIFY_TIMEOUT_S, gone=False)
                return press(transport, plan, seen, by, self.clock, self.sleep)
        self._keep_last(name, seen)
        if seen.alive is False:
            return self._restarter.in_place(transport, name, seen)
        command = shlex.join(self.hands.restart)  # for the shell that stands there
        return answer(transport, command, seen, by, clock=self.clock, sleep=self.sleep)

    def _anew(self, transport: Transport, name: str, decision: Action, error: SessionGone) -> Outcome:
        """A session that is gone: all that can be done is to start it again."""
        if not isinstance(decision, Restart) or not self.hands.restart:
            return Outcome(End.REFUSED, str(error))
        nothing = ("", "", "", None)  # is there to be told from the next
        return self._recorded(name, decision, nothing, lambda: self._restarter.anew(transport, name))

    def _keep_last(self, name: str, seen: Snapshot) -> None:
        """What would be lost by a restart: the last screen, and the exit status or None where nobody knows it."""
        if self.store is not None:
            lines = [line for line in seen.screen.text.splitlines() if line.strip()]
            with suppress(StoreError):
                facts = {"exit_status": seen.exit_status, "alive": seen.alive, "screen": lines[-LINES:]}
                self.store.incident(name, "before_restart", facts)


def _still_quota(now: Snapshot, verdict: Verdict) -> str | None:
    return None if verdict.state is State.QUOTA else f"it is {verdict.state} now: no limit holds it up"
