"""What a session is doing: its sources claim (`evidence`), and the table decides (`table`).  Pure."""

from __future__ import annotations

from typing import Sequence

from attrs import evolve

from stallkit.detect.engine import Detection, Engine
from stallkit.detect.signature import Certainty, State, Tier
from stallkit.evidence.agents import Ended, agents, asked
from stallkit.evidence.claim import Claims, Sign, Source
from stallkit.evidence.classifiers import SILENT, Classifier, Shown, installed_classifier
from stallkit.evidence.detected import screen_claim
from stallkit.evidence.ended_turn import EndedTurn, ended_turn, of_failure, of_message
from stallkit.evidence.facts import Member
from stallkit.evidence.foreground import foreground_claim
from stallkit.evidence.kernel import kernel_claim
from stallkit.evidence.left import left_claim
from stallkit.evidence.look import Look
from stallkit.evidence.motion import motion_claim
from stallkit.evidence.read import proof_in_s, read_claim
from stallkit.evidence.retrying import retrying
from stallkit.evidence.shell_marks import progress_claim, shell_claim
from stallkit.evidence.signal import decisive
from stallkit.evidence.signals import heard, signal_claim
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.reasons import reasons
from stallkit.judging.table import Outcome, decide
from stallkit.judging.verdict import Verdict

__all__ = ["judge", "judged"]


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
        return Verdict(State.GONE, Certainty.SURE, None, detection, (f"the process ended, exit status {status}",))
    look = Look.of(detection, snapshot, history, agent_seen, unnamed)
    claims = _claims_of(look, classifier)
    outcome, row = decide(claims)
    return evolve(_verdict(look, claims, outcome), claims=claims, rule=row.name)


def judged(
    engine: Engine, now: Snapshot, before: Snapshot | None = None, agent_seen: Snapshot | None = None
) -> Verdict:
    """Detect and judge: the verdict on one look, given the one before it; `agent_seen` as for `judge`."""
    return judge(asked(engine, now), now, () if before is None else (before,), agent_seen)


def _claims_of(look: Look, classifier: Classifier | None = None) -> Claims:
    """What each source claims.

    A classifier has learnt on top of what screen, kernel and foreground show, so it is told what they come to.
    """
    seen = Claims(screen_claim(look), motion_claim(look), foreground_claim(look), kernel_claim(look))
    shown, _ = decide(seen)
    classify = classifier or installed_classifier() or SILENT
    so_far = Shown(shown.state, shown.certainty, shown.kind, look.detection)
    return evolve(
        seen,
        read=read_claim(look),
        left=left_claim(look),
        shell=shell_claim(look),
        progress=progress_claim(look),
        signal=signal_claim(look),
        form=classify(look, so_far),
    )


def _verdict(look: Look, claims: Claims, outcome: Outcome) -> Verdict:
    """The outcome with all that goes with it."""
    why = reasons(claims, outcome, look.facts.unknown)
    verdict = Verdict(outcome.state, outcome.certainty, outcome.kind, look.detection, why)
    if claims.kernel is not None and claims.kernel.sign in (Sign.STOPPED, Sign.SECRET):
        return verdict
    verdict = evolve(
        verdict,
        signals=heard(look),
        agents=agents(look.detection.agents, look.snapshot.kernel, look.agents_before),
        by_signal=outcome.by is Source.SIGNAL and outcome.certainty is Certainty.SURE,
        by_read=outcome.by is Source.READ,
        inside=look.facts.unseen if outcome.by is Source.READ else None,
        ended=_ended(look, outcome),
        proof_in_s=_proof_in_s(look, outcome),
    )
    if outcome.state in (State.WORKING, State.QUOTA):
        return evolve(verdict, retrying=retrying(look.snapshot.screen, look.detection.words))
    return evolve(verdict, ended_turn=_turn(verdict)) if outcome.state is State.IDLE else verdict


def _ended(look: Look, outcome: Outcome) -> Ended | None:
    """What is left in a session that is ended, or that a limit ended."""
    if outcome.by is Source.LEFT:
        return look.left[2] if look.left else None
    if outcome.by in (Source.READ, Source.SIGNAL):
        return None
    match = look.detection.match
    if outcome.state is State.ENDED or (match is not None and match.signature.tier is Tier.ENDED):
        return Ended.AGENT if look.agent_seen is not None else Ended.SHELL
    return None


def _proof_in_s(look: Look, outcome: Outcome) -> float | None:
    """How long a read has still to block until it proves that it waits, where that is not sure yet."""
    surely = outcome.state is State.WAITING and outcome.certainty is Certainty.SURE
    at_rest = outcome.state in (State.IDLE, State.QUOTA)
    settled = surely or at_rest or outcome.by in (Source.READ, Source.LEFT)
    return None if settled else proof_in_s(look) or None


def _turn(verdict: Verdict) -> EndedTurn:
    """How its turn ended: as it says itself, or else by its last message."""
    says = decisive(verdict.signals)
    if says is not None and says.error is None and says.fields.get("message"):
        return of_message(says.fields["message"])
    match = verdict.match
    composer = match.signature.composer if match else None
    top = match.spans[0].line if match and match.spans and composer is None else None
    shown = ended_turn(verdict.detection.screen, composer, top, verdict.detection.words)
    return shown if says is None or says.error is None else of_failure(says.words, says.error, shown)
