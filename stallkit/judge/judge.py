"""What a session is doing: its sources claim, and the table decides."""

from __future__ import annotations

from typing import Sequence

from attrs import evolve

from stallkit.core.agents import agents
from stallkit.core.classifier import Classifier
from stallkit.core.ended_turn import EndedTurn, ended_turn, of_failure, of_message
from stallkit.core.engine import Detection
from stallkit.core.ranking import decisive
from stallkit.core.retrying import retrying
from stallkit.core.signature import Certainty, State, Tier
from stallkit.core.verdict import Ended, Snapshot, Verdict
from stallkit.evidence.claim import Claims, Sign, Source
from stallkit.evidence.foreground import foreground_claim
from stallkit.evidence.form import form_claim
from stallkit.evidence.kernel import kernel_claim
from stallkit.evidence.left import left_as, left_claim
from stallkit.evidence.look import Look
from stallkit.evidence.marks import progress_claim, shell_claim
from stallkit.evidence.motion import motion_claim
from stallkit.evidence.read import proof_in_s, read_claim
from stallkit.evidence.screen import screen_claim
from stallkit.evidence.signals import heard, signal_claim
from stallkit.judge.reasons import reasons
from stallkit.judge.table import Outcome, Row, decide

__all__ = ["claims_of", "judge"]


def judge(
    detection: Detection,
    snapshot: Snapshot,
    history: Sequence[Snapshot] = (),
    agent_seen: Snapshot | None = None,
    classifier: Classifier | None = None,
) -> Verdict:
    """The verdict on one look; `history` is the looks before it, oldest first."""
    if snapshot.alive is False:
        status = "unknown" if snapshot.exit_status is None else snapshot.exit_status
        return Verdict(State.GONE, Certainty.SURE, None, detection, (f"the process ended, exit status {status}",))
    look = Look.of(detection, snapshot, history, agent_seen)
    claims = claims_of(look, classifier)
    outcome, row = decide(claims)
    return _verdict(look, claims, outcome, row)


def claims_of(look: Look, classifier: Classifier | None = None) -> Claims:
    """What each source claims."""
    seen = Claims(screen_claim(look), motion_claim(look), foreground_claim(look), kernel_claim(look), rests=look.facts.rests is True)
    shown, _ = decide(seen)
    so_far = Verdict(shown.state, shown.certainty, shown.kind, look.detection, ())
    return evolve(
        seen,
        read=read_claim(look),
        left=left_claim(look),
        shell=shell_claim(look),
        progress=progress_claim(look),
        signal=signal_claim(look),
        form=form_claim(look, so_far, classifier),
        shell_is_back=look.facts.edits_commands and look.agent_seen is not None,
        **menus(look),
    )


def menus(look: Look):
    from stallkit.core.ranking import _OF_TURNS, _REPORTED
    from stallkit.core.signal import Guard
    says = decisive(heard(look))
    m = look.detection.match
    return dict(
        signal_opens=says is not None and says.state is State.IDLE and (says.guard is Guard.NAMED or says.source in _OF_TURNS),
        screen_menu=m is not None and m.signature.tier is Tier.DIALOG and m.signature.dismissal is None and m.signature.kind not in _REPORTED,
    )


def _verdict(look: Look, claims: Claims, outcome: Outcome, row: Row) -> Verdict:
    verdict = Verdict(outcome.state, outcome.certainty, outcome.kind, look.detection, reasons(claims, outcome, look.facts.unknown))
    known = look.detection.agents
    seen = look.agent_seen
    before = seen.kernel if seen is not None and seen.identity == look.snapshot.identity else None
    sure = outcome.certainty is Certainty.SURE
    if row.name in ("stopped job", "secret"):
        return verdict
    verdict = evolve(
        verdict,
        signals=heard(look),
        agents=agents(known, look.snapshot.kernel, before),
        by_signal=sure and outcome.by is Source.SIGNAL,
        by_read=outcome.by is Source.READ,
        inside=look.facts.unseen if outcome.by is Source.READ else None,
        ended=_ended(look, claims, outcome),
        proof_in_s=_proof_in_s(look, outcome),
    )
    if outcome.state in (State.WORKING, State.QUOTA):
        return evolve(verdict, retrying=retrying(look.snapshot.screen))
    return evolve(verdict, ended_turn=_turn(verdict)) if outcome.state is State.IDLE else verdict


def _ended(look: Look, claims: Claims, outcome: Outcome) -> Ended | None:
    match = look.detection.match
    if claims.left is not None and outcome.by is Source.LEFT:
        return left_as(look)
    if outcome.by in (Source.READ, Source.SIGNAL):
        return None
    if outcome.state is State.ENDED or (match is not None and match.signature.tier is Tier.ENDED):
        return Ended.AGENT if look.agent_seen is not None else Ended.SHELL
    return None


def _proof_in_s(look: Look, outcome: Outcome) -> float | None:
    if outcome.by in (Source.READ, Source.LEFT) or (outcome.certainty is Certainty.SURE and outcome.state is State.WAITING):
        return None
    if outcome.state not in (State.WAITING, State.WORKING, State.UNKNOWN, State.ENDED):
        return None
    return proof_in_s(look) or None


def _turn(verdict: Verdict) -> EndedTurn:
    says = decisive(verdict.signals)
    if says is not None and says.error is None and says.fields.get("message"):
        return of_message(says.fields["message"])
    match = verdict.match
    composer = match.signature.composer if match else None
    top = match.spans[0].line if match and match.spans and composer is None else None
    shown = ended_turn(verdict.detection.screen, composer, top)
    return shown if says is None or says.error is None else of_failure(says.words, says.error, shown)
