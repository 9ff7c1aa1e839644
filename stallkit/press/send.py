"""Type text into a session once it is ready, and wait until one that was started is.

Text is held while a prompt is shown, or if the program has ended: it would answer a dialog, or run in the shell that is
left after the agent.  Start-up prompts are answered by the same signatures as all others.
"""

from __future__ import annotations

import time
import unicodedata
from enum import StrEnum
from typing import Callable, Iterator

from attrs import frozen

from stallkit.detect.composer import Composer, written
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, State
from stallkit.errors import SessionGone, StoreError, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import unstructure
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.press.check import CheckResult, Status, check_session, observe, opened
from stallkit.press.events import Event, EventLog
from stallkit.press.gate import POLL_S, SEALED, End, Forced, Outcome, press
from stallkit.press.policy import CAREFUL, Policy, Wait
from stallkit.press.policy_file import as_policy
from stallkit.press.strokes import ENTER, Compose, doubt
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Options, Transport, look

# --- text ---

LOOK_S = 0.5  # between looks while the text is held
_PASTE = "\x1b[200~{}\x1b[201~"  # between the marks a line break is no Enter
_LINES = 4  # rows of a screen for each line of a text, at least: composers take a third of it, and scroll
SURE_S = 2.0  # for an idle agent to be sure: one that redraws, or polls its keyboard, is doubtful in some looks


class Sent(StrEnum):
    """What became of the text."""

    TYPED = "typed"
    BLOCKED = "blocked"  # it surely shows a prompt
    MAYBE = "maybe"  # it may show a prompt, or the composer may not be its own, or not empty
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
    session: str | Transport,
    text: str,
    engine: Engine | None = None,
    *,
    options: Options | None = None,
    force: bool = False,
    wait_s: float = 0.0,
    log: EventLog | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Sending:
    """Type the text into the agent's own empty composer, and press Enter once; wait for it `wait_s` seconds at most.

    Enter is pressed only if exactly the text stands in the composer.  `force` types at once, whatever the session
    shows, and is logged as such.  The log has only the length of the text; the error of a log that cannot be written is
    in `unlogged`.  `session`, `engine` and `options` are those of `check`; `clock` and `sleep` are in seconds.  Several
    lines are pasted, a line at a time, where the agent's pack says that its composer takes them; nothing else gets
    them.  Raises TransportError if looking failed, ValueError for a text without any character, with control
    characters besides line breaks, or one that cannot be typed.

    >>> import sys
    >>> from stallkit.transports.pty import PtyTransport
    >>> session = PtyTransport.spawn([sys.executable, "-c", "input('Proceed? [y/N] ')"])
    >>> while "Proceed" not in session.capture().screen.text: pass
    >>> str(send(session, "run the tests").sent)
    'blocked'
    >>> session.close()
    """
    _check(text, force)
    engine = installed_engine() if engine is None else engine
    with opened(session, options) as transport:
        return _sent(transport, text, engine, force, wait_s, log, clock, sleep)


def _sent(
    transport: Transport,
    text: str,
    engine: Engine,
    force: bool,
    wait_s: float,
    log: EventLog | None,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Sending:
    begun = clock()
    while True:
        try:
            verdict, seen = observe(transport, engine, clock=clock, sleep=sleep)
        except SessionGone as error:
            return _logged(log, transport, Sending(Sent.ENDED, str(error)), text, force)
        if force:
            done = _forced(transport, text, verdict, seen, engine, clock, sleep)
            break
        obstacle, why = _obstacle(verdict, seen, text)
        if obstacle is None:
            done = _composed(transport, text, verdict, seen, engine, clock, sleep)
        else:
            done = Sending(obstacle, why, verdict)
        patience_s = max(wait_s, SURE_S if verdict.state is State.IDLE else 0)
        final = obstacle is Sent.REFUSED if obstacle else done.sent is not Sent.REFUSED
        if final or clock() >= begun + patience_s:
            break
        sleep(LOOK_S)
    return _logged(log, transport, done, text, force)


def _check(text: str, force: bool) -> None:
    first, *more = text.split("\n")
    if "\r" in text or (force and more):
        raise ValueError("a text is one line: a new line in it would be an Enter of its own")
    if not force and any(unicodedata.category(char) == "Cc" and char != "\n" for char in text):
        raise ValueError("a text has no control characters: they are keys, which an agent obeys")
    if not force and (not text.strip() or (more and len(first.strip()) < 2)):
        raise ValueError("there is nothing to type, or less than two characters in the first of several lines")


def _composed(
    transport: Transport,
    text: str,
    verdict: Verdict,
    seen: Snapshot,
    engine: Engine,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Sending:
    """Type the text, and press Enter where it then stands in the composer, alone."""
    composer = verdict.match.signature.composer if verdict.match else None
    empty = written(seen.screen, composer) if composer else None
    assert composer is not None and empty is not None  # `_obstacle` has found it
    typed: Outcome | None = None
    for keys, before, after in _steps(composer, text):
        request, until = Compose(keys, composer, before, after, empty.rows[0]), clock() + SURE_S
        done = press(transport, request, seen, engine, clock, sleep)
        while typed is not None and not done.pressed and done.after is not None and clock() < until:  # it redraws
            sleep(POLL_S)
            done = press(transport, request, done.after, engine, clock, sleep)
        if typed is not None and not done.pressed:
            return Sending(
                Sent.UNSEEN, f"typed, in part or whole, but Enter was not pressed: {done.why}", verdict, typed
            )
        if not after or not done or done.after is None:
            break
        typed, seen = done, done.after
    if after and done.pressed:
        return Sending(Sent.UNSEEN, done.why, verdict, done)
    return _told(done, verdict)


def _steps(composer: Composer, text: str) -> Iterator[tuple[Keys, str, str]]:
    """What is pressed, what must stand in the composer before, and what after it.

    The first character comes alone: an agent that does not read yet, or that takes it for a command, gets no more.  Of
    several lines the first shows whether a paste is taken as one, before a line break is pasted.
    """
    stands, *more = composer.typed(text).split("\n")
    first = len(text) - len(text.lstrip()) + 1
    head, rest = stands[:first], stands[first:]
    yield Keys.typed(head), "", head
    if rest:
        yield Keys.typed(_PASTE.format(rest) if more else rest), head, stands
    for line in more:
        before, stands = stands, f"{stands}\n{line}"
        yield Keys.typed(_PASTE.format(f"\r{line}")), before, stands
    yield ENTER, text, ""


def _forced(
    transport: Transport,
    text: str,
    verdict: Verdict,
    seen: Snapshot,
    engine: Engine,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Sending:
    """Type the text and press Enter, whatever is shown."""
    typed = Keys.typed(text)
    if verdict.state is not State.IDLE:
        typed = Keys((*typed.sequence, *ENTER.sequence))
    done = press(transport, Forced(typed), seen, engine, clock, sleep)
    if verdict.state is State.IDLE and done.pressed and done.after is not None:  # an Enter at once may be its text
        done = press(transport, Forced(ENTER), done.after, engine, clock, sleep)
    return _told(done, verdict)


def _told(outcome: Outcome, verdict: Verdict) -> Sending:
    seen_to_end = outcome.end in (End.CLEARED, End.REPLACED, End.GONE)
    sent = Sent.REFUSED if not outcome.pressed else Sent.TYPED if seen_to_end else Sent.UNSEEN
    return Sending(sent, outcome.why, verdict, outcome)


def _obstacle(verdict: Verdict, seen: Snapshot, text: str) -> tuple[Sent | None, str]:
    """Why the text is held, or refused; None if the session is ready for it."""
    if seen.sealed:
        return Sent.REFUSED, SEALED
    last = verdict.reasons[-1]
    match verdict.state:
        case State.IDLE:
            return _at_composer(verdict, seen, text)
        case State.WAITING if verdict.certainty == "sure":
            return Sent.BLOCKED, f"it asks for {verdict.kind}: {last}"
        case State.WAITING | State.UNKNOWN:
            return Sent.MAYBE, f"it may ask for something: {last}"
        case State.ENDED | State.GONE:
            return Sent.ENDED, f"the program that the text is for has ended: {last}"
    return Sent.BUSY, f"it is {verdict.state}: {last}"


def _at_composer(verdict: Verdict, seen: Snapshot, text: str) -> tuple[Sent | None, str]:
    why = doubt(verdict, seen)
    if why is not None:
        return Sent.MAYBE, why
    composer = verdict.match.signature.composer if verdict.match else None
    if "\n" in text and (composer is None or not composer.lines):
        return Sent.REFUSED, "it is not known that the agent's composer takes several lines: send one"
    if "\n" in text and seen.screen.size is not None and text.count("\n") >= seen.screen.size.rows // _LINES:
        return Sent.REFUSED, "it has more lines than the composer shows at once: put it into a file, and name that"
    first = text.lstrip()[0]
    if composer is not None and first in composer.modes:
        return Sent.REFUSED, f"the agent does not take {first!r} at the beginning as text: type it by hand, or force it"
    return None, ""


def _logged(log: EventLog | None, transport: Transport, done: Sending, text: str, force: bool) -> Sending:
    if log is None:
        return done
    facts = {**(unstructure(done.verdict) if done.verdict else {}), "sent": str(done.sent), "why": done.why}
    event = Event("send", transport.target, {**facts, "characters": len(text), "forced": force})
    try:
        log.write(event)
    except StoreError as error:
        return Sending(done.sent, done.why, done.verdict, done.outcome, error)
    return done


# --- the start of an agent ---

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
    """How the wait ended, and what was dismissed during it; `last` is the last check, None if there was none."""

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

    Raises TransportError if looking failed until the time was over, PackError if no pack is installed, ValueError
    for an invalid target or an unknown profile, StoreError if the log cannot be written.

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
    """The readiness that this check ends the wait with; None if it goes on, as for a prompt that is not settled."""
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
