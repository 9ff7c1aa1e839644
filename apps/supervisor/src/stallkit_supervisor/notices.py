"""What a person is told of a session, in words: that it waits, asks, failed, ended, and that this is over.  Pure."""

from __future__ import annotations

from typing import Any, Sequence

from attrs import evolve

from stallkit.detect.chat_log import talks
from stallkit.detect.families import WRAPPERS
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.ended_turn import TurnOutcome, ended_turn
from stallkit.evidence.signal import Guard, decisive
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.compose import doubt
from stallkit.press.decisions import Choose, Decision, Escalate, Ignore, Press, Restart, Send, Stop, Wait
from stallkit.press.rules import Act
from stallkit_supervisor.session_state import Moment, Say, SessionState, Step, WatchConfig
from stallkit_supervisor.telling import Cleared, Tell, on_topic
from stallkit_supervisor.topic import ClearedBy, Topic, What, cleared_by, ending

__all__ = ["ANSWERED", "TRIES", "agent_of", "ended_by", "over", "still", "tell"]

ANSWERED = "it was answered once, or perhaps, and is still there: it is not answered again"
TRIES = 10  # refusals at one prompt: the cause may pass, as a bullet that blinks above it; a person is told meanwhile
_NOTICES = frozenset({"escalation", "limit"})


def agent_of(verdict: Verdict, snapshot: Snapshot) -> str | None:
    """The agent that runs there, by the name of its pack or its own; None where none is seen."""
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
    chats = sure or ((verdict.state is State.IDLE or asks) and talks(verdict.detection.screen))
    kernel = snapshot.kernel
    first = next(iter(kernel.readers or kernel.members), None) if kernel else None
    return ((first.script if first else None) or snapshot.foreground) if chats else state.unnamed


def tell(state: SessionState, moment: Moment, steps: Sequence[Step]) -> tuple[SessionState, tuple[Step, ...]]:
    """Tell a person of it, or that it is over; `steps` are those that the look leads to already.

    A rule that leaves it as it is, and a shell where no agent ran, are quiet.
    """
    verdict, decision, config = moment.verdict, moment.decision, moment.config
    unnamed = _unnamed(state, verdict, moment.snapshot)
    rule = config.policy.rule_for(verdict, moment.scene) if isinstance(decision, Ignore | Wait) else None
    left = rule is not None and rule.do is not Act.RESUME
    nobody = state.agent is None and unnamed is None
    shell = verdict.state is State.ENDED and nobody and verdict.ended in (None, AfterExit.SHELL)
    quiet = left or shell
    known, says = on_topic(
        state.telling,
        None if quiet else _seen_to_wait(unnamed, moment),
        moment.now,
        config.notify,
        works=quiet or verdict.certainty is Certainty.SURE,
        busy=state.busy or _tries(state, decision, config),
        said=any(isinstance(step, Say) and step.name in _NOTICES for step in steps),
    )
    ended = [one for one in says if isinstance(one, Tell) and one.topic.what is What.DONE]
    worked = verdict.state is State.WORKING or (state.worked and not ended)
    told = [one for one in says if state.worked or one not in ended]
    gone = verdict.state is State.GONE
    after = tuple(_told(one, state, moment) if isinstance(one, Tell) else _over(one, state, gone) for one in told)
    if any(one.topic.what is What.ENDED for one in says if isinstance(one, Cleared)):
        unnamed = None
    same = known is state.telling and worked == state.worked and unnamed == state.unnamed
    return state if same else evolve(state, telling=known, worked=worked, unnamed=unnamed), after


def _seen_to_wait(unnamed: str | None, moment: Moment) -> Topic | None:
    """The topic, as sure where an agent that no pack names is seen to read: by its screen it never is."""
    topic, seen = moment.topic, moment.snapshot
    reads = seen.kernel is not None and seen.kernel.listening is True and seen.quiet_s != 0
    return evolve(topic, sure=True) if topic is not None and unnamed is not None and reads else topic


def _tries(state: SessionState, decision: Decision, config: WatchConfig) -> bool:
    """Whether the policy is about to do something about it by itself."""
    able = not (config.policy.patient or state.pressed or state.halted or state.held)
    return able and isinstance(decision, Press | Choose | Restart | Send) and state.refused < TRIES


def over(state: SessionState, now: float, config: WatchConfig) -> tuple[Say, ...]:
    """That what was told of a session is over: another one has its name, or it is gone."""
    _, says = on_topic(state.telling, None, now, config.notify, works=True)
    return tuple(_over(one, state, gone=True) for one in says if isinstance(one, Cleared))


def _over(one: Cleared, state: SessionState, gone: bool) -> Say:
    what, waited_s = one.topic, round(one.waited_s, 1)
    ours = one.over or (not gone and (one.answered or state.busy))
    by = ClearedBy.STALLKIT if ours else cleared_by(what.what, gone)
    facts = {"what": str(what.what), "waited_s": waited_s, "blocked_s": waited_s, "told": one.told}
    facts |= {"kind": what.kind, "agent": state.agent or state.unnamed, "signature": what.by or None}
    return ended_by(Say("cleared", facts), by)


def still(before: SessionState, after: SessionState, now: float) -> tuple[Say, ...]:
    """That what an earlier supervisor told of is still there, at the first look that shows it."""
    known, told = before.telling, after.telling
    if known is None or told is None or not known.key or told.key or told.appeared != known.appeared:
        return ()
    facts = {"what": str(told.topic.what), "waited_s": round(now - told.appeared, 1), "told": known.told}
    return (Say("still", {**facts, "agent": after.agent, "message": told.topic.message or None}),)


def ended_by(cleared: Say, by: str) -> Say:
    """That it is over, and how it came to that."""
    what, waited_s = cleared.facts["what"], cleared.facts["waited_s"]
    why = f"it {_NO_MORE[What(what)]}, after {waited_s:.0f} s: {ending(by)}"
    return Say(cleared.name, {**cleared.facts, "by": str(by), "why": why})


_NO_MORE = {
    What.WAITS: "waits no more",
    What.ASKS: "asks no more",
    What.FAILED: "goes on",
    What.DONE: "goes on",
    What.ENDED: "runs again",
    What.LIMIT: "is held up by its limit no more",
    What.HUNG: "hangs no more",
    What.RETRYING: "retries no more",
    What.UNKNOWN: "is known again",
}


def _told(one: Tell, state: SessionState, moment: Moment) -> Say:
    facts: dict[str, Any] = {"what": str(one.topic.what), "waited_s": round(one.waited_s, 1), "times": one.times}
    facts |= {"agent": state.agent or state.unnamed, "message": one.topic.message or None}
    if one.topic.what is What.LIMIT:
        facts["free_in_s"] = round(left_s) if (left_s := _free_in(state, moment.now)) else None
    if one.topic.what is What.DONE:
        return Say("done", facts)
    why = (_failure_above(moment.verdict), _reason(one.topic, state, moment))
    return Say("escalation", {**facts, "why": "; ".join(filter(None, why))})


def _failure_above(verdict: Verdict) -> str | None:
    """The failure that stands above a prompt: what it asks is what to do about that."""
    match = verdict.match
    if verdict.state is not State.WAITING or match is None or match.signature.dialogs or not match.spans:
        return None
    turn = ended_turn(verdict.detection.screen, top=match.spans[0].line, words=verdict.detection.words)
    return turn.message if turn.how is TurnOutcome.FAILED else None


def _free_in(state: SessionState, now: float) -> float | None:
    """Seconds until the limit is free again; None where that is unknown, or should be over."""
    return state.free_at - now if state.free_at is not None and state.free_at > now else None


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
    What.ASKS: "its turn ended with a question",
    What.FAILED: "its turn ended with an error",
    What.LIMIT: "a usage limit holds it up",
    What.HUNG: "it says that it works, and nothing happens",
    What.RETRYING: "it tries again by itself",
}


def _reason(topic: Topic, state: SessionState, moment: Moment) -> str:
    """Why a person is told, and when the policy does something about it."""
    decision, now, config = moment.decision, moment.now, moment.config
    if state.halted is not None:
        return f"it is left alone: {state.halted}"
    if isinstance(decision, Press | Choose | Restart | Send) and state.pressed and not state.busy:
        return ANSWERED
    if isinstance(decision, Send) and (why := doubt(moment.verdict, moment.snapshot)):
        return f"policy {config.policy.name} {_act(decision)} only where that is safe: {why}"
    if isinstance(decision, Press | Choose | Restart | Send):
        act = _act(decision)
        left = state.heartbeat.until_suspected(now, config.schedule) if state.heartbeat else 0.0
        when = f"in {left:.0f} s, if it is still there" if config.policy.patient and left else "now"
        return f"policy {config.policy.name} {act} {when}"
    if isinstance(decision, Escalate | Stop):
        return decision.why
    if topic.what is What.FAILED and topic.by:
        tries = moment.verdict.retrying is not None
        return f"{'it tries again what will fail again' if tries else _BY_ITSELF[What.FAILED]}: {topic.by}"
    if topic.what is What.LIMIT and (left_s := _free_in(state, now)):
        for_s = f"{left_s:.0f} s" if left_s < 100 else f"{left_s / 60:.0f} minutes"
        return f"{_BY_ITSELF[What.LIMIT]}, for {for_s} more"
    if topic.by == "askpass":
        return f"inside its work {topic.message}"
    return _BY_ITSELF.get(topic.what, f"it {topic.what}")
