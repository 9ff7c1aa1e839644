"""The state of one watched session, and how a look, the outcome of an action or a signal changes it.

Pure: the driver (`stallkit_supervisor.supervisor`) passes what it saw and when, carries out the results, and passes the
outcome.  Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import unstructure
from stallkit.judging.verdict import Verdict
from stallkit.press.decisions import (
    Action,
    Choose,
    Decision,
    Escalate,
    Ignore,
    Interrupt,
    Press,
    Restart,
    Resume,
    Send,
    Stop,
    Wait,
)
from stallkit.press.gate import End, rests
from stallkit.press.rules import Scene
from stallkit_supervisor.hang_recovery import cure, cures, hang_after, on_cure, under_way
from stallkit_supervisor.notices import ANSWERED, TRIES, agent_of, over, still, tell
from stallkit_supervisor.schedule import beat
from stallkit_supervisor.session_state import (
    STALL_LIMIT,
    Do,
    Halt,
    Loop,
    Moment,
    Observed,
    Say,
    SessionState,
    Step,
    WatchConfig,
    observed,
    reset,
)
from stallkit_supervisor.topic import What, topic_of

__all__ = ["DOUBLINGS", "NO_COMMAND", "on_dry_run", "on_look", "on_outcome", "on_signal"]


def on_outcome(before: SessionState, decision: Action, end: End, why: str = "") -> SessionState:
    """The state after a decision was carried out; `end` is the outcome, and `why` it came to that.

    A refused action did not happen and does not count.  A prompt that went away may come back, and be answered again;
    one that is still there, or was not seen since, is not, though a look in between saw something else.
    """
    after = evolve(before, busy=False, doing=None)
    if end is not End.REFUSED and isinstance(decision, Send):
        after = evolve(after, sent=True)  # perhaps typed is typed
    if end is not End.REFUSED and after.telling is not None:
        gone = end in (End.CLEARED, End.REPLACED, End.GONE)
        after = evolve(after, telling=evolve(after.telling, answered=True, over=gone))
    if cures(decision):
        after = evolve(after, hang=on_cure(before.hang, decision, end, why))
    if end is End.REFUSED:
        if isinstance(decision, Restart):
            after = evolve(after, restarts=before.restarts.one_less(), adopts=not before.identity)
        else:
            after = evolve(after, counts=before.counts.one_less())
        there = not cures(decision) and before.at is not None and before.at.same(before.doing)
        return evolve(after, pressed=False, refused=before.refused + 1) if there else after
    if end in (End.CLEARED, End.REPLACED, End.GONE):
        free_at = (
            None if isinstance(decision, Resume) else before.free_at
        )  # if the limit still holds, it names a new time
        return evolve(reset(after), free_at=free_at)
    if cures(decision):
        return after
    if before.at == before.doing:
        return evolve(after, pressed=True)
    return evolve(after, pressed=True, at=before.doing, at_screen=None)


def on_dry_run(before: SessionState, after: SessionState) -> SessionState:
    """The state after a decision that was only reported, in a dry run: it does not count, and is reported once."""
    reported = after.reported | {ANSWERED}
    counts, restarts, adopts = before.counts, before.restarts, before.adopts and before.identity == after.identity
    return evolve(
        after, busy=False, doing=None, counts=counts, restarts=restarts, adopts=adopts, reported=reported, pressed=True
    )


def on_signal(before: SessionState, reset_total: bool = False) -> SessionState:
    """The state after a signal that an iteration begins."""
    heartbeat = evolve(before.heartbeat, unchanged=0) if before.heartbeat else None
    restarts = before.restarts.new_iteration(reset_total)
    return evolve(before, heartbeat=heartbeat, counts=before.counts.new_iteration(reset_total), restarts=restarts)


_PROMPTS = (What.WAITS, What.ASKS, What.FAILED)  # they are the same whatever moves beside them
NO_COMMAND = "no [restart] command is configured, so nothing is started again"
DOUBT_S = 2.0  # of rest, or of a doubtful look, before it is news
IDLE_S = 6.0  # the same for an agent at rest whose screen moves: between two looks it may have been typed at
DOUBLINGS = 10  # at most, of the pause before a restart


def on_look(
    before: SessionState,
    verdict: Verdict,
    snapshot: Snapshot,
    now: float,
    config: WatchConfig,
    free_in: float | None = None,
) -> tuple[SessionState, tuple[Step, ...]]:
    """The state after a look, and what to do, in order.

    `free_in` is the time until a used-up limit is free again, in seconds, if the screen shows it.  Telling is not
    patient; acting counts the beats at which the same prompt was there, whatever moves beside it, or the same silence.
    """
    before, loops = _loop(before, snapshot, now, config)
    moment = _moment(before, verdict, snapshot, now, config)
    first, topic, known = before, moment.topic, before.telling
    if known is not None and known.key:
        before = evolve(before, telling=known.recognised(topic))
    shown = topic.key if topic and topic.what in _PROMPTS else snapshot.screen.fingerprint
    heartbeat = beat(before.heartbeat, shown, now, config.schedule)
    if before.heartbeat is None and before.telling is not None and before.telling.topic == topic:
        heartbeat = evolve(heartbeat, since=before.telling.appeared)  # an earlier supervisor saw it begin
    agent = agent_of(verdict, snapshot) or before.agent
    hang = hang_after(before.hang, verdict, now)
    same = (heartbeat is before.heartbeat, agent == before.agent, hang == before.hang)
    after = before if all(same) else evolve(before, heartbeat=heartbeat, agent=agent, hang=hang)
    after, news = _news(after, moment)
    if _stalled(config) in after.reported and not heartbeat.suspected(now, config.schedule):
        after = evolve(after, reported=after.reported - {_stalled(config)})  # the next stall is a new one
    after = _quota(after, verdict, now, config, free_in)
    steps: tuple[Step, ...] = ()
    if not after.busy and after.halted is None:
        after, steps = _follow(after, _decided(after, moment), now, config)
    after, told = tell(after, moment, steps)
    escalates = any(isinstance(one, Say) and one.name == "escalation" for one in (*steps, *told))
    if escalates and after.said != after.seen:  # nobody is told of what the log has not said
        after, news = _said(after, moment)
    return after, (*loops, *news, *still(first, after, now), *steps, *told)


def _moment(before: SessionState, verdict: Verdict, snapshot: Snapshot, now: float, config: WatchConfig) -> Moment:
    topic = topic_of(verdict)
    if topic is not None:
        topic = topic.after(before.telling.topic if before.telling and not before.telling.key else None)
    decision = config.policy.decide(verdict, Scene.of(snapshot))
    if isinstance(decision, Restart) and not config.can_restart:
        decision = Escalate(f"{decision.why}; {NO_COMMAND}")
    return Moment(verdict, snapshot, topic, decision, now, config)


def _loop(
    before: SessionState, snapshot: Snapshot, now: float, config: WatchConfig
) -> tuple[SessionState, tuple[Step, ...]]:
    """Begin a new loop where another session has the name, unless we started it.

    The window goes on, and so does a halt: they also hold a session that is started again and again.
    """
    identity = snapshot.identity
    if not identity or identity == before.identity:  # a look at a session that is gone has none
        return before, ()
    told = over(before, now, config) if before.identity else ()
    after = (
        evolve(reset(before), heartbeat=None, telling=None, agent=None, unnamed=None, hang=None, sent=False)
        if before.identity
        else before
    )
    new = bool(before.identity) and not before.adopts
    if new:
        counts, restarts = before.counts.new_iteration(True), before.restarts.new_iteration(True)
        after = evolve(after, counts=counts, restarts=restarts)
    return evolve(after, identity=identity, adopts=False), (*told, Loop(identity, new))


def _news(state: SessionState, moment: Moment) -> tuple[SessionState, tuple[Step, ...]]:
    """The state after what a look showed, which is said once: rest, and what is doubtful, once it lasted `DOUBT_S`.

    A program may say a second before its dialog is drawn that it waits, an agent rests between two steps of its work,
    and a screen that is drawn in pieces is many.
    """
    verdict, snapshot = moment.verdict, moment.snapshot
    now, screen = observed(verdict, moment.topic), snapshot.screen.fingerprint
    seen_from = state.seen_from if now == state.seen else moment.now
    stands = now == state.seen and screen == state.seen_screen
    screen_from = state.screen_from if stands else moment.now
    idle = verdict.state is State.IDLE
    clear = verdict.certainty is Certainty.SURE and not idle
    lasts = clear or moment.now - (screen_from if idle else seen_from) >= DOUBT_S or moment.now - seen_from >= IDLE_S
    at, news = state.at or state.seen, now != state.said and lasts
    if _is(now, state.seen) and _is(now, state.at) and screen == state.at_screen == state.seen_screen:
        return _said(state, moment) if news else (state, ())
    known: dict[str, Any] = {"seen": now, "seen_from": seen_from, "at": at}
    known |= {"seen_screen": screen, "screen_from": screen_from}
    same = at is not None and at.same(now)
    if same or not _says_nothing(state, verdict, screen):
        known |= {"at": now, "at_screen": screen}
        known |= {} if same else {"reported": frozenset(), "pressed": False, "refused": 0}
    state = evolve(state, **known)
    return _said(state, moment) if news else (state, ())


def _is(now: Observed, before: Observed | None) -> bool:
    return now == before and now.line == before.line


def _said(state: SessionState, moment: Moment) -> tuple[SessionState, tuple[Step, ...]]:
    facts = {**unstructure(moment.verdict), "foreground": moment.snapshot.foreground}
    return evolve(state, said=state.seen), (Say("detection", facts),)


def _says_nothing(state: SessionState, verdict: Verdict, screen: str) -> bool:
    """Whether a look leaves open if the prompt before is still there: only one that surely went away may come back.

    A pattern that ran out of its budget hides a prompt for one look, a program that reads its keyboard in turns does.
    """
    unsaid = verdict.state is State.UNKNOWN or bool(verdict.detection.undecided)
    return unsaid or (state.pressed and screen == state.at_screen)


def _quota(
    state: SessionState, verdict: Verdict, now: float, config: WatchConfig, free_in: float | None
) -> SessionState:
    """A used-up limit is not a stall; its end is known, or not."""
    if verdict.state is State.UNKNOWN:
        return state
    if verdict.state is not State.QUOTA:
        return evolve(state, waits=False, free_at=None) if state.waits or state.free_at is not None else state
    heartbeat = evolve(state.heartbeat, since=now, beat_at=now, unchanged=0) if state.heartbeat else None
    state = evolve(state, heartbeat=heartbeat)
    if not config.waits_for_quota:
        return evolve(state, waits=False, free_at=None)
    tries_again = verdict.retrying is not None and state.free_at is not None and now >= state.free_at
    if state.waits and (free_in is None or (state.free_at is not None and not tries_again)):
        return state
    return evolve(state, waits=True, free_at=None if free_in is None else now + free_in)


def _decided(state: SessionState, moment: Moment) -> Decision:
    """What to do of the policy's decision, when it is time: sooner by evidence, unless the policy is patient."""
    verdict, decision, now, config = moment.verdict, moment.decision, moment.now, moment.config
    cured = cure(state.hang, verdict, moment.snapshot, config.policy, config.cure, now)
    if cured is not None:
        return cured
    suspected = state.heartbeat is not None and state.heartbeat.suspected(now, config.schedule)
    free = state.waits and state.free_at is not None and now >= state.free_at
    if isinstance(decision, Wait) and verdict.state is State.QUOTA and free:
        return _resumed(state, moment)
    if isinstance(decision, Wait | Stop):
        return decision
    if isinstance(decision, Escalate) and moment.topic is not None and moment.topic.what is not What.DONE:
        return Ignore()  # it is told of in its own time
    if verdict.state is State.GONE:
        return decision
    if suspected and isinstance(decision, Ignore) and verdict.state is State.WORKING and moment.topic is None:
        ruled = config.policy.rule_for(verdict, moment.scene)
        return decision if ruled else Escalate(_stalled(config))
    turn = verdict.ended_turn
    if isinstance(decision, Send) and state.sent and (turn is None or turn.at_once):
        return Escalate("it asks again, and has done nothing since it was told to go on")
    if isinstance(decision, Press | Choose) and rests(moment.snapshot, now):
        return Ignore()  # the gate would refuse it: a key was pressed at this very screen a moment ago
    if not suspected and (config.policy.patient or verdict.certainty is Certainty.MAYBE):
        return Ignore()
    return decision


def _stalled(config: WatchConfig) -> str:
    return f"nothing changed for {config.schedule.stall_timeout_s:g} s, and the reason is unknown"


def _resumed(state: SessionState, moment: Moment) -> Resume | Escalate | Ignore:
    """The limit is free again: press keys if a rule of the policy says so."""
    why, verdict = "the limit should be free again", moment.verdict
    if verdict.retrying is not None:
        return Ignore()  # it goes on by itself
    if state.pressed or not moment.config.policy.resumes(verdict, moment.scene):
        return Escalate(why)
    if verdict.certainty is not Certainty.SURE:
        return Escalate(f"{why}; but it is doubtful that one is used up")
    return Resume(why)


def _follow(
    state: SessionState, decision: Decision, now: float, config: WatchConfig
) -> tuple[SessionState, tuple[Step, ...]]:
    match decision:
        case Press() | Choose() | Restart() | Resume() | Send() | Interrupt():
            return _recover(state, decision, now, config)
        case Stop(why):
            return evolve(state, halted=why), (Halt("policy", why),)
        case Escalate(why):
            return _once(state, "escalation", why)
    return state, ()


def _recover(
    state: SessionState, decision: Action, now: float, config: WatchConfig
) -> tuple[SessionState, tuple[Step, ...]]:
    if state.pressed and not cures(decision):
        return _once(state, "escalation", ANSWERED)
    if state.refused >= TRIES and not cures(decision):
        return _once(state, "escalation", f"it was refused {state.refused} times")
    if isinstance(decision, Restart):
        return _restart(state, decision, now, config)
    reached = config.limits.reached(state.counts, now)
    if reached is not None:
        return _halt(state, reached)
    if state.held is not None:
        return _hold(state)
    state = evolve(state, counts=state.counts.one_more(now, config.limits), busy=True, doing=state.at)
    if cures(decision):
        return evolve(state, hang=under_way(state.hang, decision, now)), (Do(decision),)
    return evolve(state, pressed=True), (Do(decision),)


def _restart(
    state: SessionState, decision: Restart, now: float, config: WatchConfig
) -> tuple[SessionState, tuple[Step, ...]]:
    """A restart has limits of its own, and waits longer each time, for a program that ends at once."""
    if now < state.restart_from:
        return state, ()
    reached = config.restarts.reached(state.restarts, now)
    if reached is not None:
        return _halt(state, f"restarts: {reached}")
    if state.held is not None:
        return _hold(state)
    pause = config.back_off_s * 2 ** min(state.restarts.iteration, DOUBLINGS)
    restarts = state.restarts.one_more(now, config.restarts)
    changed = evolve(state, restarts=restarts, restart_from=now + pause, busy=True, doing=state.at)
    if decision.resumes:
        changed = evolve(changed, adopts=True, hang=under_way(state.hang, decision, now))
    if state.seen is not None and state.seen.state is State.GONE:
        changed = evolve(changed, adopts=True)  # another session, in the same loop
    return changed, (Do(decision),)


def _halt(state: SessionState, why: str) -> tuple[SessionState, tuple[Step, ...]]:
    return evolve(state, halted=why), (Say("limit", {"why": why}), Halt(STALL_LIMIT, why))


def _hold(state: SessionState) -> tuple[SessionState, tuple[Step, ...]]:
    return _once(state, "escalation", f"nothing is pressed or started while {state.held} is there")


def _once(state: SessionState, name: str, why: str) -> tuple[SessionState, tuple[Step, ...]]:
    if why in state.reported:
        return state, ()
    return evolve(state, reported=state.reported | {why}), (Say(name, {"why": why}),)
