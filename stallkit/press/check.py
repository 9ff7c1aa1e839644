"""One check of one session, from the first look to the outcome."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import Callable, Iterator, Self

from attrs import evolve, field, frozen

from stallkit.detect.engine import Detection, Engine, Match
from stallkit.detect.signature import Certainty, Signature, State
from stallkit.errors import SessionGone, StoreError, bad_argument
from stallkit.evidence.snapshot import Snapshot
from stallkit.evidence.turn import TurnOutcome
from stallkit.json_form import SPREAD, Time, alike, json_form
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.press.events import Event, EventLog
from stallkit.press.gate import End, Outcome, press
from stallkit.press.hang import HUNG_AFTER_S, hung_now
from stallkit.press.policy import Choose, Decision, Policy, Press, Wait
from stallkit.press.policy_file import as_policy
from stallkit.press.resets import resets_at
from stallkit.short_repr import short_repr
from stallkit.signals.collect import AskedInside, asked_inside
from stallkit.terminal.screen import LITTLE, Screen, moved
from stallkit.transports.base import Moving, Options, Transport, look
from stallkit.transports.targets import meant_target, open_target

# Between the two looks that a one-line prompt needs: longer than a progress line rests, short for a person who waits.
GAP_S = 0.3
PROOF_S = 3.0  # for the two seconds of `evidence.blocked_read`, from the second look on
MORE_LOOKS = 2  # at a prompt that appeared between two looks, or whose program draws at this moment


class Status(StrEnum):
    """What a check found, in stable words for scripts.

    >>> from stallkit import MemoryTransport, check
    >>> check(MemoryTransport("Proceed? [y/N] ")).status
    <Status.MAYBE: 'maybe'>
    """

    NOT_STALLED = "not_stalled"
    DISMISSED = "dismissed"
    STALLED = "stalled"
    ASKS = "asks"  # an agent at its composer, whose last message asks the person something
    FAILED = "failed"  # an agent at its composer, whose turn ended in an error
    HUNG = "hung"  # it says that it works, and nothing has happened in it for too long
    MAYBE = "maybe"
    ENDED = "ended"
    UNKNOWN = "unknown"


@frozen
class CheckResult:
    """What a check found and did; `decision` is None without a policy, `outcome` without a press.

    >>> from stallkit import MemoryTransport, check
    >>> result = check(MemoryTransport("Proceed? [y/N] "), "careful")
    >>> str(result.status), result.match.signature.id, result.outcome
    ('maybe', 'yes_no', None)
    """

    target: str
    status: Status
    verdict: Verdict
    snapshot: Snapshot
    decision: Decision | None = None
    outcome: Outcome | None = None
    unlogged: StoreError | None = None  # what was seen, and then nothing is pressed, or the press could not be logged
    resets_at: datetime | None = None  # when a usage limit is free again, where the screen says it
    inside: tuple[AskedInside, ...] = ()  # who asks inside the session's work

    __repr__ = short_repr("target", "status", "match", "decision", "outcome")

    @property
    def match(self) -> Match | None:
        """The signature that matched, if one did."""
        return self.verdict.match


@json_form(CheckResult)
@frozen
class CheckJson:
    """What a check found and did."""

    target: str
    status: Status
    verdict: Verdict = field(metadata=SPREAD)
    resets_at: Time | None
    outcome: Outcome | None
    inside: tuple[AskedInside, ...]

    @classmethod
    def of(cls, result: CheckResult) -> Self:
        return alike(cls, result, resets_at=result.resets_at.isoformat() if result.resets_at else None)

    @property
    def value(self) -> CheckResult:
        seen = Snapshot(self.verdict.detection.screen, target=self.target)
        resets_at = datetime.fromisoformat(self.resets_at) if self.resets_at else None
        return alike(CheckResult, self, snapshot=seen, resets_at=resets_at)


def check(
    session: str | Transport,
    policy: Policy | str | None = None,
    *,
    engine: Engine | None = None,
    options: Options | None = None,
    log: EventLog | None = None,
) -> CheckResult:
    """Look at a session twice and say what it is doing; nothing is pressed without a `policy` that allows it.

    `session` is ``tmux:NAME``, ``file:PATH``, a third party's ``scheme:address``, or a transport, which stays open;
    `policy` is a `Policy` or the name of a profile: ``careful``, ``daemon``, ``observe``.  What it allows is pressed
    once and verified.  `engine` defaults to that of the installed packs, `options` say how to reach a target, and `log`
    records what was seen and pressed.  A check takes 0.3 s at least, and up to 3 s where a program blocks in a read
    of its terminal and nothing else says that it waits.  A session that does not exist has the status *ended*.

    If the log cannot be written, nothing is pressed, and the result says so (`unlogged`).  Raises TransportError if
    looking failed, PackError if no pack is installed, ValueError for an invalid target or an unknown profile.

    >>> import sys
    >>> from stallkit.transports.pty import PtyTransport
    >>> session = PtyTransport.spawn([sys.executable, "-c", "input('Proceed? [y/N] ')"])
    >>> while "Proceed" not in session.capture().screen.text: pass
    >>> result = check(session, "careful")
    >>> str(result.status), result.decision.why.partition(";")[0]
    ('stalled', 'any program may show this prompt')
    >>> session.close()
    """
    allowed = None if policy is None else as_policy(policy)
    engine = installed_engine() if engine is None else engine
    with opened(session, options) as transport:
        return check_session(transport, engine, allowed, log, prove=True)


async def check_async(
    session: str | Transport,
    policy: Policy | str | None = None,
    *,
    engine: Engine | None = None,
    options: Options | None = None,
    log: EventLog | None = None,
) -> CheckResult:
    """`check` under asyncio: it waits in a thread, so the event loop goes on.  Its arguments and errors are the same.

    If its task is cancelled, the thread still finishes its check, and may press what `policy` allows.

    >>> import asyncio
    >>> from stallkit import MemoryTransport
    >>> str(asyncio.run(check_async(MemoryTransport("Proceed? [y/N] "))).status)
    'maybe'
    """
    return await asyncio.to_thread(check, session, policy, engine=engine, options=options, log=log)


def may_press(
    asked: Verdict | CheckResult | str | Transport,
    policy: Policy | str = "careful",
    *,
    engine: Engine | None = None,
    options: Options | None = None,
) -> Decision:
    """Whether `policy` allows a key: a `Press` or a `Choose`, which are true, or the reason why not, which is false.

    Nothing is pressed.  `asked` is a verdict, the result of a check, or a session, which is looked at first: then
    `engine` and `options` are those of `check`.  An answer holds for that look alone, and the screen may have changed
    since; `dismiss` asks again, and presses.  A *maybe* is never pressed at.

    Raises ValueError for an unknown profile; for a session also what `dismiss` raises, and SessionGone for none.

    >>> from stallkit import MemoryTransport
    >>> verdict = check(MemoryTransport("Proceed? [y/N] ")).verdict
    >>> decision = may_press(verdict, "careful")
    >>> bool(decision), decision.why.partition(":")[0]
    (False, 'doubtful')
    """
    allowed = as_policy(policy)
    if isinstance(asked, CheckResult):
        asked = asked.verdict
    if isinstance(asked, Verdict):
        return allowed.decide(asked)
    with opened(asked, options) as transport:
        return allowed.decide(observe(transport, engine or installed_engine())[0])


def dismiss(
    session: str | Transport,
    signature: Signature | str | None = None,
    *,
    policy: Policy | str = "careful",
    engine: Engine | None = None,
    options: Options | None = None,
) -> Outcome:
    """Press, once and verified, what `policy` (``careful`` unless given) allows at the prompt that a session shows now.

    With a `signature`, or its name as in ``shell_tools:press_any_key``, only at that prompt.  The outcome is true where
    the prompt went away.  It is false, with the reason in `why`, where there is no prompt or another one, where its
    signature gives no keys, and where the policy leaves it to a person.  `session`, `policy`, `engine` and `options`
    are those of `check`.  The looks take 0.3 s at least, the verification as long as the signature allows.

    Raises TransportError if the first looks failed, PackError if no pack is installed, ValueError for an invalid
    target, an unknown profile, or the name of a signature that no pack has.

    >>> from stallkit.transports.pty import PtyTransport
    >>> session = PtyTransport.spawn(["bash", "-c", "read -n1 -p 'Press any key to continue '; exec sleep 99"])
    >>> while "Press" not in session.capture().screen.text: pass
    >>> dismiss(session, "shell_yn:yes_no").pressed
    False
    >>> dismiss(session).why.partition(";")[0]
    'any program may show this prompt'
    >>> from stallkit import Policy, Rule
    >>> allows = Policy("mine", rules=[Rule(do="press", signature="shell_tools:press_any_key", session="pty:bash")])
    >>> outcome = dismiss(session, policy=allows)
    >>> bool(outcome), str(outcome.keys), outcome.why
    (True, 'Space', 'the prompt went away')
    >>> session.close()
    """
    allowed = as_policy(policy)
    engine = installed_engine() if engine is None else engine
    wanted = _named(signature, engine) if isinstance(signature, str) else signature
    with opened(session, options) as transport:
        try:
            verdict, seen = observe(transport, engine)
        except SessionGone as error:
            return Outcome(End.GONE, str(error))
        if wanted is not None and (verdict.match is None or verdict.match.signature != wanted):
            shown = verdict.reasons[0] if verdict.match else "no signature matches"
            return Outcome(End.REFUSED, f"it does not show {wanted.id}: {shown}", after=seen)
        return press(transport, allowed.decide(verdict), seen, engine)


def _named(name: str, engine: Engine) -> Signature:
    """The signature of that name.  Raises ValueError if no pack has it."""
    for pack in engine.packs:
        for signature in pack.signatures:
            if f"{pack.name}:{signature.id}" == name:
                return signature
    raise ValueError(f"no pack has a signature {name!r}: write PACK:ID, as in shell_yn:yes_no")


@contextmanager
def opened(session: str | Transport, options: Options | None = None) -> Iterator[Transport]:
    """The transport of a target, closed at the end; a given transport stays open.  Raises as `open_target` does."""
    if not isinstance(session, str):
        if not hasattr(session, "capture"):
            raise bad_argument(
                "a session is a target such as 'tmux:NAME', or a transport", session, meant_target(session)
            )
        yield session
        return
    transport = open_target(session, options)
    try:
        yield transport
    finally:
        transport.close()


def check_session(
    transport: Transport,
    engine: Engine,
    policy: Policy | None = None,
    log: EventLog | None = None,
    sleep: Callable[[float], None] = time.sleep,
    watch_s: float = 0.0,
    hung_after_s: float = HUNG_AFTER_S,
    prove: bool = False,
) -> CheckResult:
    """`check` over an open transport with a given engine, watched for up to `watch_s` seconds.

    With `prove` it takes up to three seconds where that makes it sure that a program blocks in a read.  A session that
    says it works, and in which nothing is known to have happened for `hung_after_s` seconds, is *hung*.
    """
    try:
        verdict, seen = observe(transport, engine, watch_s, sleep, prove=prove)
    except SessionGone as error:
        return _gone(transport, error, log)
    inside = asked_inside(seen)
    asked = next((one for one in inside if one.asks_surely), None) if verdict.may_ask_inside else None
    if asked is not None:
        verdict = verdict.but_asked_inside(asked.asks)
    elif verdict.says_it_works:
        verdict = verdict.but_hung(hung_now(verdict, seen, hung_after_s))
    unlogged = _unlogged(log, verdict, seen)
    status, free_at = _status(verdict, None), _free_at(verdict)
    found = CheckResult(transport.target, status, verdict, seen, unlogged=unlogged, resets_at=free_at, inside=inside)
    return found if policy is None or unlogged else _answered(found, transport, engine, policy, log, sleep)


def _answered(
    found: CheckResult,
    transport: Transport,
    engine: Engine,
    policy: Policy,
    log: EventLog | None,
    sleep: Callable[[float], None],
) -> CheckResult:
    """The result after what the policy allows at it was pressed."""
    decision = policy.decide(found.verdict)
    if not isinstance(decision, Press | Choose):
        return evolve(found, decision=decision)
    left_s = policy.patience_s - _stands_s(found.snapshot)
    if left_s > 0:
        why = f"policy {policy.name} presses once the prompt has stood for {policy.patience_s:g} s"
        return evolve(found, decision=Wait(f"{why}: that is in {left_s:.0f} s"))
    outcome = press(transport, decision, found.snapshot, engine, sleep=sleep)
    result = evolve(found, status=_status(found.verdict, outcome), decision=decision, outcome=outcome)
    if log is not None:
        try:
            log.write(_dismissal(transport, decision, outcome))
        except StoreError as error:  # the caller must learn of the press even if the log fails
            return evolve(result, unlogged=error)
    return result


def _stands_s(seen: Snapshot) -> float:
    """For how long the screen has stood, as far as that is known; in seconds."""
    printed_s = time.time() - seen.printed_at if seen.printed_at is not None else 0.0
    return max(seen.quiet_s or 0.0, printed_s)


def _free_at(verdict: Verdict) -> datetime | None:
    """When the limit is free again at which the session is held up, as its screen says it."""
    if verdict.state is not State.QUOTA:
        return None
    return resets_at(verdict, datetime.now().astimezone())


def observe(
    transport: Transport,
    engine: Engine,
    watch_s: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    prove: bool = False,
) -> tuple[Verdict, Snapshot]:
    """The verdict and the look it is based on: after two looks, or more for up to `watch_s` seconds, until sure.

    With `prove` also while a blocked read is about to prove that it waits, for three seconds at most.  Nothing is
    pressed.  Raises what the transport raises; SessionGone only if two looks in a row find no session.
    """
    deadline, more = clock() + watch_s, MORE_LOOKS
    until = clock() + PROOF_S if prove else deadline
    seen = look(transport)
    if seen.alive is None:  # a saved screen: a second look would show the same
        return judged(engine, seen), seen
    while True:
        sleep(GAP_S)
        before, seen = seen, look(transport)
        verdict = judged(engine, seen, before)
        settled = verdict.certainty is Certainty.SURE and verdict.state is not State.WORKING
        if more and (_not_yet_read(verdict, seen) or (not settled and _just_came(verdict, before, seen))):
            more -= 1
        elif settled or clock() >= (deadline if verdict.proof_in_s is None else max(deadline, until)):
            break
    if not settled and isinstance(transport, Moving) and _asks_while_a_little_moves(verdict, before, seen):
        moving = evolve(transport.capture_moving(), quiet_s=0.0)  # what turns may look the same twice
        other = before if before.screen.fingerprint != moving.screen.fingerprint else seen
        return judged(engine, moving, other), moving
    return verdict, seen


def _asks_while_a_little_moves(verdict: Verdict, before: Snapshot, seen: Snapshot) -> bool:
    """Whether it is worth asking who reads the terminal although it moves: a dialog over a spinner, a clock bar."""
    rows = moved(before.screen, seen.screen) or frozenset()
    open_ = verdict.state is State.WAITING or (verdict.match is None and seen.screen.alternate is True)
    return 0 < len(rows) <= LITTLE and open_


def _just_came(verdict: Verdict, before: Snapshot, seen: Snapshot) -> bool:
    """Whether a prompt appeared between two looks: another look shows whether it stays."""
    asks = verdict.match is not None and verdict.match.signature.state is State.WAITING
    return asks and before.screen.fingerprint != seen.screen.fingerprint


def _not_yet_read(verdict: Verdict, seen: Snapshot) -> bool:
    """Whether a program's own dialog stands, and it is not known who reads: while a program draws, for a moment."""
    match, kernel = verdict.match, seen.kernel
    if match is None or not match.pack.own or verdict.state is not State.WAITING or kernel is None:
        return False
    return kernel.complete and kernel.listening is None and kernel.relay is None


def _gone(transport: Transport, error: SessionGone, log: EventLog | None) -> CheckResult:
    screen = Screen.from_text("")
    snapshot = Snapshot(screen=screen, alive=False, exit_status=error.exit_status, target=transport.target)
    verdict = Verdict(State.GONE, Certainty.SURE, None, Detection(screen), (str(error),), snapshot=snapshot)
    return CheckResult(transport.target, Status.ENDED, verdict, snapshot, unlogged=_unlogged(log, verdict, snapshot))


def _unlogged(log: EventLog | None, verdict: Verdict, seen: Snapshot) -> StoreError | None:
    """Record what a look showed; why that could not be done."""
    try:
        if log is not None:
            log.detection(verdict, seen)
    except StoreError as error:
        return error
    return None


def _status(verdict: Verdict, outcome: Outcome | None) -> Status:
    match outcome.end if outcome is not None else None:
        case End.CLEARED:
            return Status.DISMISSED
        case End.GONE:
            return Status.ENDED
    match verdict.state:
        case State.IDLE if verdict.ended_turn and verdict.ended_turn.how is not TurnOutcome.DONE:
            return Status(verdict.ended_turn.how)
        case State.WORKING if verdict.inside:
            return Status.STALLED
        case State.WORKING if verdict.hung:
            return Status.HUNG
        case State.WORKING | State.IDLE | State.QUOTA:
            return Status.NOT_STALLED
        case State.ENDED | State.GONE:
            return Status.ENDED
        case State.UNKNOWN:
            return Status.UNKNOWN
    return Status.STALLED if verdict.certainty is Certainty.SURE else Status.MAYBE


def _dismissal(transport: Transport, decision: Press | Choose, outcome: Outcome) -> Event:
    facts = {
        "signature": decision.signature.id,
        "keys": str(outcome.keys) if outcome.pressed else None,
        "outcome": str(outcome.end),
        "why": outcome.why,
    }
    return Event("dismissal", transport.target, facts)
