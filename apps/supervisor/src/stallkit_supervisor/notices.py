"""What a person hears of a session, in words: that it waits, asks, failed, ended, and that this is over.  Pure."""

from __future__ import annotations

from typing import Any, Sequence

from attrs import evolve

from stallkit.detect.composer import talks
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.signal import Guard, decisive
from stallkit.evidence.snapshot import Snapshot
from stallkit.evidence.turn import TurnOutcome, ended_turn
from stallkit.judging.verdict import Verdict
from stallkit.press.policy import Choose, Decision, Escalate, Ignore, Press, Restart, Send, Stop, Wait
from stallkit.press.rules import Act
from stallkit.press.strokes import doubt
from stallkit.word_tables import WRAPPERS
from stallkit_supervisor.notification import (
    Cleared,
    ClearedBy,
    Need,
    NoticeSubject,
    Tell,
    cleared_by,
    ending,
    on_subject,
)
from stallkit_supervisor.session_state import Emit, NoticeState, SessionState, Step, Tick, WatchConfig

ANSWERED = "it was answered once, or perhaps, and is still there: it is not answered again"
TRIES = 10  # refusals at one prompt: the cause may pass, as a bullet that blinks above it; a person is told meanwhile
_NOTICES = frozenset({"escalation", "limit"})


def agent_of(verdict: Verdict, snapshot: Snapshot) -> str | None:
    """The agent that runs there, by the name of its pack or its own; None if none is seen."""
    if verdict.agents:
        return sorted(verdict.agents)[0]
    says = decisive(verdict.signals)
    if says is not None and says.guard is Guard.PROCESS and says.app:
        return says.app
    match = verdict.match
    own = match is not None and match.pack.own - WRAPPERS and snapshot.foreground in match.pack.foreground
    return match.pack.name if match and own and verdict.agents is None else None


def _unnamed(state: SessionState, verdict: Verdict, snapshot: Snapshot) -> str | None:
    """The agent that no pack names: by its composer, or by what it asks; the one before it, where a look shows none."""
    if agent_of(verdict, snapshot) is not None:
        return None
    asks = verdict.kind in (Kind.PERMISSION, Kind.QUESTION)
    sure = verdict.state is State.IDLE and verdict.certainty is Certainty.SURE
    match = verdict.match if verdict.state is State.IDLE else None
    form = match is not None and match.pack.general  # a composer, or the prompt of a chat
    chats = sure or form or ((verdict.state is State.IDLE or asks) and talks(verdict.detection.screen))
    kernel = snapshot.kernel
    first = next(iter(kernel.readers or kernel.members), None) if kernel else None
    return ((first.script if first else None) or snapshot.foreground) if chats else state.notice.unnamed


def tell(state: SessionState, tick: Tick, steps: Sequence[Step]) -> tuple[SessionState, tuple[Step, ...]]:
    """Tell a person of it, or that it is over; `steps` are those that the look leads to already.

    A rule that leaves it as it is, and a shell where no agent ran, are quiet.
    """
    verdict, decision, config = tick.verdict, tick.decision, tick.config
    unnamed = _unnamed(state, verdict, tick.snapshot)
    rule = config.policy.rule_for(verdict, tick.scene) if isinstance(decision, Ignore | Wait) else None
    left = rule is not None and rule.do is not Act.RESUME
    nobody = state.notice.agent is None and unnamed is None
    shell = verdict.state is State.ENDED and nobody and verdict.ended in (None, AfterExit.SHELL)
    quiet = left or shell
    known, says = on_subject(
        state.notice.notification,
        None if quiet else _seen_to_wait(unnamed, tick),
        tick.now,
        config.notify,
        works=quiet or verdict.certainty is Certainty.SURE,
        busy=state.recovery.busy or _tries(state, decision, config),
        said=any(isinstance(step, Emit) and step.name in _NOTICES for step in steps),
    )
    ended = [one for one in says if isinstance(one, Tell) and one.subject.need is Need.DONE]
    worked = verdict.state is State.WORKING or (state.notice.worked and not ended)
    told = [one for one in says if state.notice.worked or one not in ended]
    gone = verdict.state is State.GONE
    after = tuple(_told(one, state, tick) if isinstance(one, Tell) else _over(one, state, gone) for one in told)
    if any(one.subject.need is Need.ENDED for one in says if isinstance(one, Cleared)):
        unnamed = None
    return evolve(state, notice=NoticeState(known, state.notice.agent, unnamed, worked)), after


def _seen_to_wait(unnamed: str | None, tick: Tick) -> NoticeSubject | None:
    """The subject, as sure where an agent that no pack names is seen to read: by its screen it never is."""
    subject, seen = tick.subject, tick.snapshot
    reads = seen.kernel is not None and seen.kernel.listening is True and seen.quiet_s != 0
    return evolve(subject, sure=True) if subject is not None and unnamed is not None and reads else subject


def _tries(state: SessionState, decision: Decision, config: WatchConfig) -> bool:
    """Whether the policy is about to do something about it on its own."""
    able = not (config.policy.patient or state.prompt.pressed or state.halt.halted or state.halt.held)
    return able and isinstance(decision, Press | Choose | Restart | Send) and state.prompt.refused < TRIES


def over(state: SessionState, now: float, config: WatchConfig) -> tuple[Emit, ...]:
    """That what a person heard of a session is over: another one has its name, or it is gone."""
    _, says = on_subject(state.notice.notification, None, now, config.notify, works=True)
    return tuple(_over(one, state, gone=True) for one in says if isinstance(one, Cleared))


def _over(one: Cleared, state: SessionState, gone: bool) -> Emit:
    subject, waited_s = one.subject, round(one.waited_s, 1)
    ours = one.over or (not gone and (one.answered or state.recovery.busy))
    by = ClearedBy.STALLKIT if ours else cleared_by(subject.need, gone)
    facts = {"what": str(subject.need), "waited_s": waited_s, "blocked_s": waited_s, "told": one.told}
    facts |= {"kind": subject.kind, "agent": state.notice.who, "signature": subject.by or None}
    return ended_by(Emit("cleared", facts), by)


def still(before: SessionState, after: SessionState, now: float) -> tuple[Emit, ...]:
    """That what an earlier supervisor told of is still there, at the first look that shows it."""
    known, told = before.notice.notification, after.notice.notification
    if known is None or told is None or not known.key or told.key or told.appeared != known.appeared:
        return ()
    facts = {"what": str(told.subject.need), "waited_s": round(now - told.appeared, 1), "told": known.told}
    return (Emit("still", {**facts, "agent": after.notice.agent, "message": told.subject.message or None}),)


def ended_by(cleared: Emit, by: str) -> Emit:
    """That it is over, and how it came to that."""
    what, waited_s = cleared.facts["what"], cleared.facts["waited_s"]
    why = f"it {_NO_MORE[Need(what)]}, after {waited_s:.0f} s: {ending(by)}"
    return Emit(cleared.name, {**cleared.facts, "by": str(by), "why": why})


_NO_MORE = {
    Need.WAITS: "waits no more",
    Need.ASKS: "asks no more",
    Need.FAILED: "goes on",
    Need.DONE: "goes on",
    Need.ENDED: "runs again",
    Need.LIMIT: "is held up by its limit no more",
    Need.HUNG: "hangs no more",
    Need.RETRYING: "retries no more",
    Need.UNKNOWN: "is known again",
}


def _told(one: Tell, state: SessionState, tick: Tick) -> Emit:
    facts: dict[str, Any] = {"what": str(one.subject.need), "waited_s": round(one.waited_s, 1), "times": one.times}
    facts |= {"agent": state.notice.who, "message": one.subject.message or None}
    if one.subject.need is Need.LIMIT:
        facts["free_in_s"] = round(left_s) if (left_s := state.quota.left_s(tick.now)) else None
    if one.subject.need is Need.DONE:
        return Emit("done", facts)
    why = (_failure_above(tick.verdict), _reason(one.subject, state, tick))
    return Emit("escalation", {**facts, "why": "; ".join(filter(None, why))})


def _failure_above(verdict: Verdict) -> str | None:
    """The failure that stands above a prompt: what it asks is what to do about that."""
    match = verdict.match
    if verdict.state is not State.WAITING or match is None or match.signature.dialogs or not match.spans:
        return None
    turn = ended_turn(verdict.detection.screen, top=match.spans[0].line, words=verdict.detection.words)
    return turn.message if turn.how is TurnOutcome.FAILED else None


def _act(decision: Press | Choose | Restart | Send) -> str:
    match decision:
        case Press():
            return f"presses {decision.keys}"
        case Choose(_, option):
            return f"chooses {option!r}"
        case Send(text):
            return f"sends {text!r}"
    return "starts it again"


_BY_ITSELF = {
    Need.ASKS: "its turn ended with a question",
    Need.FAILED: "its turn ended with an error",
    Need.LIMIT: "a usage limit holds it up",
    Need.HUNG: "it says that it works, and nothing happens",
    Need.RETRYING: "it tries again by itself",
}


def _reason(subject: NoticeSubject, state: SessionState, tick: Tick) -> str:
    """Why a person hears of it, and when the policy does something about it."""
    decision, now, config = tick.decision, tick.now, tick.config
    if state.halt.halted is not None:
        return f"it is left alone: {state.halt.halted}"
    if isinstance(decision, Press | Choose | Restart | Send) and state.prompt.pressed and not state.recovery.busy:
        return ANSWERED
    if isinstance(decision, Send) and (why := doubt(tick.verdict, tick.snapshot)):
        return f"policy {config.policy.name} {_act(decision)} only where that is safe: {why}"
    if isinstance(decision, Press | Choose | Restart | Send):
        act = _act(decision)
        left = state.heartbeat.until_suspected(now, config.schedule) if state.heartbeat else 0.0
        when = f"in {left:.0f} s, if it is still there" if config.policy.patient and left else "now"
        return f"policy {config.policy.name} {act} {when}"
    if isinstance(decision, Escalate | Stop):
        return decision.why
    if subject.need is Need.FAILED and subject.by:
        tries = tick.verdict.retrying is not None
        return f"{'it tries again what will fail again' if tries else _BY_ITSELF[Need.FAILED]}: {subject.by}"
    if subject.need is Need.LIMIT and (left_s := state.quota.left_s(now)):
        for_s = f"{left_s:.0f} s" if left_s < 100 else f"{left_s / 60:.0f} minutes"
        return f"{_BY_ITSELF[Need.LIMIT]}, for {for_s} more"
    if subject.by == "askpass":
        return f"inside its work {subject.message}"
    return _BY_ITSELF.get(subject.need, f"it {subject.need}")
