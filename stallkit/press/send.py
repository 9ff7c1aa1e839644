"""Type text into a session once it is ready: hold it while a prompt is shown, or the program has ended.

Text for an agent's composer would otherwise answer a dialog, or run in the shell that is left after the agent.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Callable

from attrs import frozen

from stallkit.core.engine import Engine
from stallkit.core.signature import State
from stallkit.core.verdict import Verdict
from stallkit.errors import SessionGone, StoreError
from stallkit.press.answer import answer, as_line
from stallkit.press.check import observe
from stallkit.press.events import Event, EventLog, describe
from stallkit.press.gate import End, Forced, Outcome, press
from stallkit.transports.base import Transport

__all__ = ["Sent", "Sending", "send"]

LOOK_S = 0.5  # between looks while the text is held


class Sent(StrEnum):
    """What became of the text."""

    TYPED = "typed"
    BLOCKED = "blocked"  # it surely shows a prompt
    MAYBE = "maybe"  # it may show a prompt
    BUSY = "busy"  # it works, or waits for a usage limit
    ENDED = "ended"  # a shell is left, or no session
    REFUSED = "refused"  # it changed between two looks
    UNSEEN = "unseen"  # perhaps typed; the effect was not seen


@frozen
class Sending:
    """What became of the text, and why."""

    sent: Sent
    why: str
    verdict: Verdict | None = None
    outcome: Outcome | None = None
    unlogged: StoreError | None = None


def send(
    transport: Transport,
    text: str,
    engine: Engine,
    *,
    force: bool = False,
    wait_s: float = 0.0,
    log: EventLog | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Sending:
    """Type the text and press Enter, once the session is idle at its own composer; wait `wait_s` seconds at most.

    `force` types at once, whatever the session shows, and is logged as such.  The log has only the length of the text;
    the error of a log that cannot be written is in `unlogged`.  `clock` and `sleep` are in seconds.  Raises
    TransportError where looking failed, ValueError for a text of several lines or one that cannot be typed.

    >>> import sys
    >>> from stallkit import Engine
    >>> from stallkit.transports.pty import PtyTransport
    >>> session = PtyTransport.spawn([sys.executable, "-c", "input('Proceed? [y/N] ')"])
    >>> while "Proceed" not in session.capture().screen.text: pass
    >>> str(send(session, "run the tests", Engine.default()).sent)
    'blocked'
    >>> session.close()
    """
    if "\n" in text or "\r" in text:
        raise ValueError("a text is one line: a new line in it would be an Enter of its own")
    deadline = clock() + wait_s
    while True:
        try:
            verdict, seen = observe(transport, engine, clock=clock, sleep=sleep)
        except SessionGone as error:
            return _logged(log, transport, Sending(Sent.ENDED, str(error)), text, force)
        obstacle, why = _obstacle(verdict)
        if force or obstacle is None:
            break
        if clock() >= deadline:
            return _logged(log, transport, Sending(obstacle, why, verdict), text, force)
        sleep(LOOK_S)
    if force and verdict.state is not State.IDLE:
        outcome = press(transport, Forced(as_line(text)), seen, engine, clock, sleep)
    else:
        outcome = answer(transport, text, seen, engine, clock=clock, sleep=sleep)
    seen_to_end = outcome.end in (End.CLEARED, End.REPLACED, End.GONE)
    sent = Sent.REFUSED if not outcome.pressed else Sent.TYPED if seen_to_end else Sent.UNSEEN
    return _logged(log, transport, Sending(sent, outcome.why, verdict, outcome), text, force)


def _obstacle(verdict: Verdict) -> tuple[Sent | None, str]:
    """Why the text is held; None where the session is ready for it."""
    last = verdict.reasons[-1]
    match verdict.state:
        case State.IDLE:
            return None, ""
        case State.WAITING if verdict.certainty == "sure":
            return Sent.BLOCKED, f"it asks for {verdict.kind}: {last}"
        case State.WAITING | State.UNKNOWN:
            return Sent.MAYBE, f"it may ask for something: {last}"
        case State.ENDED | State.GONE:
            return Sent.ENDED, f"the program that the text is for has ended: {last}"
    return Sent.BUSY, f"it is {verdict.state}: {last}"


def _logged(log: EventLog | None, transport: Transport, done: Sending, text: str, force: bool) -> Sending:
    if log is None:
        return done
    facts = {**(describe(done.verdict) if done.verdict else {}), "sent": str(done.sent), "why": done.why}
    event = Event("send", transport.target, {**facts, "characters": len(text), "forced": force})
    try:
        log.write(event)
    except StoreError as error:
        return Sending(done.sent, done.why, done.verdict, done.outcome, error)
    return done
