"""What a session is doing: its sources claim (`evidence`), and the table decides (`table`).  Pure."""

from __future__ import annotations

from typing import Any, Iterator, Sequence

from stallkit.detect.engine import Detection, Engine
from stallkit.detect.signature import Certainty, State, Tier
from stallkit.evidence.agents import AfterExit, agents, asked
from stallkit.evidence.claim import (
    MATCHED,
    NOBODY,
    READS,
    SILENT,
    Claim,
    Claims,
    Classifier,
    Shown,
    Sign,
    Source,
    Weight,
    installed_classifier,
)
from stallkit.evidence.detected import motion_claim, screen_claim
from stallkit.evidence.kernel import foreground_claim, kernel_claim, left_claim, proof_in_s, read_claim
from stallkit.evidence.look import Look
from stallkit.evidence.signal import decisive
from stallkit.evidence.signals import progress_claim, shell_claim, signal_claim
from stallkit.evidence.snapshot import Member, Snapshot
from stallkit.evidence.turn import EndedTurn, ended_turn, of_failure, of_message, retrying
from stallkit.judging.table import Outcome, Row, contradicted, decide, refuted
from stallkit.judging.verdict import Verdict


def judge(
    detection: Detection,
    snapshot: Snapshot,
    history: Sequence[Snapshot] = (),
    agent_seen: Snapshot | None = None,
    classifier: Classifier | None = None,
    unnamed: Member | None = None,
) -> Verdict:
    """The verdict on one look; `history` is the looks before it, oldest first.

    `agent_seen` is the latest look at this session whose verdict was that an agent is there (`Verdict.shows_agent`),
    however long ago: by it an agent that ended is known from one that never was.  `classifier` tells by its form what
    no signature of its own program knows: the installed one, or another; `SILENT` tells nothing.  `unnamed` is the
    process of a program that no pack names and a person talks with, as an earlier look showed it: it may have ended.

    A prompt on one line is sure when two looks in a row agree on it and the cursor is in it; a whole dialog is sure at
    once.  A prompt that nothing reads, or over a process that asks nothing, is quoted or answered.

    >>> from stallkit import Engine, Screen, Snapshot
    >>> screen = Screen.from_text("Proceed? [y/N] ")
    >>> str(judge(Engine.default().detect(screen), Snapshot(screen=screen)).certainty)
    'maybe'
    """
    if snapshot.alive is False:
        status = "unknown" if snapshot.exit_status is None else snapshot.exit_status
        ended = (f"the process ended, exit status {status}",)
        return Verdict(State.GONE, Certainty.SURE, None, detection, ended, snapshot=snapshot)
    look = Look.of(detection, snapshot, history, agent_seen, unnamed)
    claims, outcome, row = _decided(look, classifier)
    kernel = claims.kernel
    settles = kernel if kernel is not None and kernel.sign in (Sign.STOPPED, Sign.SECRET) else None
    why = settles.why if settles else _reasons(claims, outcome, look.facts.unknown)
    more = {"claims": claims, "rule": row.name, "snapshot": snapshot, **({} if settles else _besides(look, outcome))}
    return Verdict(outcome.state, outcome.certainty, outcome.kind, detection, why, **more)


def judged(
    engine: Engine, now: Snapshot, before: Snapshot | None = None, agent_seen: Snapshot | None = None
) -> Verdict:
    """Detect and judge: the verdict on one look, given the one before it; `agent_seen` as for `judge`."""
    return judge(asked(engine, now), now, () if before is None else (before,), agent_seen)


def _decided(look: Look, classifier: Classifier | None) -> tuple[Claims, Outcome, Row]:
    """What each source claims, and what comes of it.

    A classifier has learnt on top of what screen, kernel and foreground show, so it gets what they come to.
    """
    seen = (screen_claim(look), motion_claim(look), foreground_claim(look), kernel_claim(look))
    shown, row = decide(Claims(*seen))
    classify = classifier or installed_classifier() or SILENT
    claims = Claims(
        *seen,
        read=read_claim(look),
        left=left_claim(look),
        shell=shell_claim(look),
        progress=progress_claim(look),
        signal=signal_claim(look),
        form=classify(look, Shown(shown.state, shown.certainty, shown.kind, look.detection)),
    )
    return (claims, shown, row) if claims == Claims(*seen) else (claims, *decide(claims))


def _besides(look: Look, outcome: Outcome) -> dict[str, Any]:
    """All that goes with an outcome in a verdict."""
    by_read, works = outcome.by is Source.READ, outcome.state in (State.WORKING, State.QUOTA)
    return {
        "signals": look.heard,
        "agents": agents(look.detection.agents, look.snapshot.kernel, look.agents_before),
        "by_signal": outcome.by is Source.SIGNAL and outcome.certainty is Certainty.SURE,
        "by_read": by_read,
        "inside": look.facts.unseen if by_read else None,
        "ended": _ended(look, outcome),
        "proof_in_s": _proof_in_s(look, outcome),
        "retrying": retrying(look.snapshot.screen, look.detection.words) if works else None,
        "ended_turn": _turn(look) if outcome.state is State.IDLE else None,
    }


def _ended(look: Look, outcome: Outcome) -> AfterExit | None:
    """What is left in a session that is ended, or that a limit ended."""
    if outcome.by is Source.LEFT:
        return look.left[2] if look.left else None
    if outcome.by in (Source.READ, Source.SIGNAL):
        return None
    match = look.detection.match
    if outcome.state is State.ENDED or (match is not None and match.signature.tier is Tier.ENDED):
        return AfterExit.AGENT if look.agent_seen is not None else AfterExit.SHELL
    return None


def _proof_in_s(look: Look, outcome: Outcome) -> float | None:
    """How long a read has still to block until it proves that it waits, if that is not sure yet."""
    surely = outcome.state is State.WAITING and outcome.certainty is Certainty.SURE
    at_rest = outcome.state in (State.IDLE, State.QUOTA)
    settled = surely or at_rest or outcome.by in (Source.READ, Source.LEFT)
    return None if settled else proof_in_s(look) or None


def _turn(look: Look) -> EndedTurn:
    """How its turn ended: as it says itself, or else by its last message."""
    says, match, words = decisive(look.heard), look.detection.match, look.detection.words
    if says is not None and says.error is None and says.fields.get("message"):
        return of_message(says.fields["message"])
    composer = match.signature.composer if match else None
    top = match.spans[0].line if match and match.spans and composer is None else None
    shown = ended_turn(look.detection.screen, composer, top, words)
    return shown if says is None or says.error is None else of_failure(says.words, says.error, shown)


# Why a verdict is what it is, for a person: what was heard, in the order in which it was weighed.


def _reasons(of: Claims, outcome: Outcome, unknown: str | None) -> tuple[str, ...]:
    """What speaks for the outcome and against it; `unknown` is what is not known that would make it sure."""
    return tuple(dict.fromkeys([*_shown(of, unknown), *_form_and_left(of, outcome), *_said(of, outcome)]))


def _shown(of: Claims, unknown: str | None) -> Iterator[str]:
    """Screen and kernel."""
    screen, kernel = of.screen, of.kernel
    if screen is None or screen.sign not in MATCHED:
        yield from _unmatched(of)
        surely = of.kernel is not None and of.kernel.sign in NOBODY and not (of.foreground and of.foreground.kind)
        if surely and unknown is not None:
            yield unknown
    elif refuted(of):
        yield from _refuted(of, screen)
    else:
        yield from screen.why
        sign, waits = kernel.sign if kernel else None, screen.state is State.WAITING
        if kernel is not None and sign in READS and screen.state is State.WORKING:
            yield f"but {kernel.why[0]}"
        elif kernel is not None and sign in NOBODY:
            yield kernel.why[-1] if waits else kernel.why[0]
        elif kernel is not None and waits and sign is not Sign.HIDDEN:
            among = ", while other rows move" if sign is Sign.READS_MOVING and screen.sign is Sign.PROMPT else ""
            yield f"{kernel.why[0]}{among}"
        doubtful = screen.weight is Weight.GUESS or screen.weight is Weight.OWN_WORD or (sign in NOBODY and waits)
        settled = (waits and sign is Sign.HIDDEN) or (sign in READS and screen.state is State.WORKING)
        if unknown is not None and not doubtful and not settled:
            yield unknown
        yield from screen.hidden


def _refuted(of: Claims, screen: Claim) -> Iterator[str]:
    """A prompt that is quoted or answered."""
    kernel, front = of.kernel, of.foreground
    if front is not None and front.sign is Sign.ASKS_NOTHING:
        yield from (screen.why[0], front.why[1])
        if kernel is not None and kernel.sign in NOBODY:
            yield kernel.why[0]
        elif kernel is not None and kernel.sign in READS:
            yield f"but {kernel.why[0]}"
        return
    yield from screen.why
    nobody = kernel is not None and kernel.sign is Sign.NOBODY_READS
    yield f"quoted or answered: {kernel.why[0]}" if kernel and nobody else "the screen is changing"


def _unmatched(of: Claims) -> Iterator[str]:
    """A screen without a signature."""
    screen, kernel, front = of.screen, of.kernel, of.foreground
    sign, pager = kernel.sign if kernel else None, front is not None and front.sign is Sign.PAGER
    drawn = screen is not None and (screen.sign is Sign.UNDECIDED or front is None)
    if kernel is not None and sign in (Sign.READS, Sign.LINE_EDITOR) and not drawn and not pager:
        yield from kernel.why
        return
    told = screen is not None and (screen.sign is Sign.UNDECIDED or (screen.sign is Sign.EMPTY and not front))
    if not told or (of.motion and screen and screen.sign is Sign.EMPTY):
        yield "no signature matches"
    shown = screen if screen and screen.sign is Sign.UNDECIDED else of.motion or front or screen
    if shown is not None:
        yield shown.why[0] if shown.source is not Source.SCREEN else shown.why[-1]
    if kernel is not None and sign in NOBODY:
        yield f"quoted or answered: {kernel.why[0]}" if pager and sign is Sign.NOBODY_READS else kernel.why[0]
    elif kernel is not None and sign in READS:
        yield (
            kernel.why[-1 if sign is Sign.COMPUTES else 0]
            if sign is not Sign.READS_ONCE or pager
            else f"but {kernel.why[0]}"
        )


def _form_and_left(of: Claims, outcome: Outcome) -> Iterator[str]:
    """The form, what is left, a read that blocks."""
    for claim in (of.form, of.left):
        if claim is not None:
            yield from claim.why
    if of.read is not None and outcome.by is Source.READ:
        yield from of.read.why


def _said(of: Claims, outcome: Outcome) -> Iterator[str]:
    """What the shell, a progress bar and the program say."""
    if of.signal is not None:
        against = contradicted(of) and outcome.certainty is Certainty.MAYBE
        if of.signal.weight is Weight.GUESS:
            against = of.signal.state is not outcome.state
        yield f"but {of.signal.why[0]}" if against else of.signal.why[0]
        return
    for claim in (of.shell, of.progress):
        if claim is not None and (claim.source is outcome.by):
            yield from claim.why
    if (
        of.shell is not None
        and of.shell.sign is Sign.RUNNING
        and outcome.state is State.ENDED
        and outcome.certainty is Certainty.MAYBE
    ):
        yield from of.shell.why
