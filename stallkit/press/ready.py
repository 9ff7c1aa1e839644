"""Wait until a session that was started is ready for work, answering its start-up prompts by the same signatures."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Callable

from attrs import frozen

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, State
from stallkit.errors import SessionGone, TransportError
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.press.check import CheckResult, Status, check_session, opened
from stallkit.press.decisions import Wait
from stallkit.press.events import EventLog
from stallkit.press.policy import CAREFUL, Policy
from stallkit.press.policy_file import as_policy
from stallkit.transports.base import Options, Transport, look

__all__ = ["Readiness", "Ready", "wait_until_ready"]

LOOK_S = 0.5
UNKNOWN_S = 5.0  # that it is not known who reads, before a prompt is left to a person: a program is busy at its start
START_S = 60.0  # an agent starts in seconds; the first start, with its downloads, takes longer


class Ready(StrEnum):
    """How the wait ended."""

    READY = "ready"  # it is at its own composer
    BLOCKED = "blocked"  # it shows a prompt that the policy leaves to a person
    TIMEOUT = "timeout"  # neither in time
    VANISHED = "vanished"  # it ended during its start


@frozen
class Readiness:
    """How the wait ended, and what was dismissed during it; `last` is the last check, None where there was none."""

    ready: Ready
    why: str
    dismissed: tuple[str, ...] = ()  # signatures, in order
    last: CheckResult | None = None

    def __bool__(self) -> bool:
        return self.ready is Ready.READY


def wait_until_ready(
    session: str | Transport,
    *,
    policy: Policy | str = CAREFUL,
    timeout_s: float = START_S,
    engine: Engine | None = None,
    options: Options | None = None,
    until: Callable[[Verdict], bool] = lambda verdict: verdict.state is State.IDLE,
    log: EventLog | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    begun: bool = False,
) -> Readiness:
    """Press by policy ``careful`` what a session asks at its start, until it is ready; ``policy="observe"`` only waits.

    `until` decides from a verdict whether it is ready; by default at an agent's own composer.  `session` and `policy`
    are those of `check`; `timeout_s`, `clock` and `sleep` are in seconds.  A session that does not exist yet is waited
    for; it *vanished* where it existed before, or does not exist although it has `begun`.

    Raises TransportError where looking failed until the time was over, PackError where no pack is installed, ValueError
    for an invalid target or an unknown profile, StoreError where the log cannot be written.

    >>> import sys
    >>> from stallkit.transports.pty import PtyTransport
    >>> session = PtyTransport.spawn([sys.executable, "-c", "input('Name: ')"])
    >>> str(wait_until_ready(session, policy="observe", until=lambda verdict: verdict.state == "waiting").ready)
    'ready'
    >>> session.close()
    """
    allowed = as_policy(policy)
    engine = installed_engine() if engine is None else engine
    deadline = clock() + timeout_s
    dismissed: list[str] = []
    last: CheckResult | None = None
    since = clock()  # of what is decided now
    with opened(session, options) as transport:
        while True:
            error: TransportError | None = None
            try:
                if not begun:
                    look(transport)  # raises where it does not exist yet
                    begun = True
                result = check_session(transport, engine, allowed, log, sleep)
                if result.unlogged is not None and result.outcome is None:
                    raise result.unlogged
            except TransportError as failed:
                error = failed
            else:
                since = since if last and last.decision == result.decision else clock()
                stands = clock() >= min(since + UNKNOWN_S, deadline)
                done = _ended(result, last, until, dismissed, stands or _reads(result))
                if done is not None:
                    return done
                last = result
            if clock() >= deadline:
                if error is not None and not isinstance(error, SessionGone):
                    raise error
                seen = last.verdict.reasons[-1] if last else getattr(error, "why", "it was never seen")
                why = f"it was not ready within {timeout_s:g} s: {seen}"
                return Readiness(Ready.TIMEOUT, why, tuple(dismissed), last)
            sleep(LOOK_S)


def _ended(
    result: CheckResult,
    before: CheckResult | None,
    until: Callable[[Verdict], bool],
    dismissed: list[str],
    settled: bool,
) -> Readiness | None:
    """The readiness that this check ends the wait with; None where it goes on, as for a prompt that is not settled."""
    verdict = result.verdict
    if result.status is Status.DISMISSED and verdict.match is not None:
        dismissed.append(f"{verdict.match.pack.name}:{verdict.match.signature.id}")
        return None
    if until(verdict):
        return Readiness(Ready.READY, verdict.reasons[-1], tuple(dismissed), result)
    if result.snapshot.alive is False:  # its pane may remain
        return Readiness(Ready.VANISHED, verdict.reasons[-1], tuple(dismissed), before or result)
    if (
        verdict.state is State.WAITING
        and verdict.certainty is Certainty.SURE
        and result.outcome is None
        and not isinstance(result.decision, Wait)
        and settled
    ):
        why = f"it asks for {verdict.kind}: {getattr(result.decision, 'why', verdict.reasons[-1])}"
        return Readiness(Ready.BLOCKED, why, tuple(dismissed), result)
    return None


def _reads(result: CheckResult) -> bool:
    """Whether it is known who reads the terminal, or never will be: nobody can ask its kernel."""
    kernel = result.snapshot.kernel
    return kernel is None or bool(kernel.readers)
