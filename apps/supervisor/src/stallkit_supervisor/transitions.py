"""How a look, the outcome of an action or a signal changes the state of a session, and what follows.  Pure.

The driver, `stallkit_supervisor.supervisor`, passes what it saw and when, carries out the steps, and passes their
outcomes.  Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from attrs import evolve

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.snapshot import Snapshot
from stallkit.jsonio import unstructure
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End, rests
from stallkit.press.policy import (
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
from stallkit.press.rules import Scene
from stallkit_supervisor.notices import ANSWERED, TRIES, agent_of, over, still, tell
from stallkit_supervisor.notification import Need, subject_of
from stallkit_supervisor.prompt_state import observed
from stallkit_supervisor.recovery_state import cure, is_cure
from stallkit_supervisor.session_state import (
    STALL_LIMIT,
    Emit,
    Halt,
    Loop,
    Perform,
    SessionState,
    Step,
    Tick,
    WatchConfig,
    beat,
)

_PROMPTS = (Need.WAITS, Need.ASKS, Need.FAILED)  # they are the same whatever moves beside them
NO_COMMAND = "no [restart] command is set, so nothing is restarted"


# --- what was done, and what a person says ---


def on_outcome(before: SessionState, decision: Action, end: End, why: str = "") -> SessionState:
    """The state after a decision was carried out; `end` is the outcome, and `why` it came to that."""
    gone = end in (End.CLEARED, End.REPLACED, End.GONE)
    after = evolve(before, recovery=before.recovery.concluded(decision, end, why))
    if gone or not is_cure(decision):
        after = evolve(after, prompt=before.prompt.concluded(before.recovery.doing, end))
    if end is End.REFUSED:
        return evolve(after, adopts=not before.identity) if isinstance(decision, Restart) else after
    if before.notice.notification is not None:
        answered = evolve(before.notice.notification, answered=True, over=gone)
        after = evolve(after, notice=evolve(before.notice, notification=answered))
    if gone and isinstance(decision, Resume):  # if the limit still holds, it names a new time
        after = evolve(after, quota=evolve(before.quota, free_at=None))
    return after


def on_dry_run(before: SessionState, after: SessionState) -> SessionState:
    """The state after a decision that was only reported, in a dry run: it does not count, and is reported once."""
    counts, restarts = before.recovery.counts, before.recovery.restarts
    recovery = evolve(after.recovery, busy=False, doing=None, counts=counts, restarts=restarts)
    prompt = evolve(after.prompt, reported=after.prompt.reported | {ANSWERED}, pressed=True)
    adopts = before.adopts and before.identity == after.identity
    return evolve(after, adopts=adopts, recovery=recovery, prompt=prompt)


def on_signal(before: SessionState, reset_total: bool = False) -> SessionState:
    """The state after a signal that an iteration begins."""
    heartbeat = evolve(before.heartbeat, unchanged=0) if before.heartbeat else None
    return evolve(before, heartbeat=heartbeat, recovery=before.recovery.new_iteration(reset_total))


# --- a look ---


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
    begun, loops = _loop(before, snapshot, now, config)
    tick = _tick(begun, verdict, snapshot, now, config)
    after = _seen(begun, tick, free_in)
    after, logged = _logged(after, tick) if after.prompt.is_news(verdict, now) else (after, ())
    after, steps = _follow(after, tick)
    after, told = tell(after, tick, steps)
    escalates = any(isinstance(one, Emit) and one.name == "escalation" for one in (*steps, *told))
    if escalates and after.prompt.logged != after.prompt.seen:  # nobody is told of what the log has not said
        after, logged = _logged(after, tick)
    return after, (*loops, *logged, *still(begun, after, now), *steps, *told)


def _loop(
    before: SessionState, snapshot: Snapshot, now: float, config: WatchConfig
) -> tuple[SessionState, tuple[Step, ...]]:
    """Begin a new loop if another session has the name, unless we started it.

    The window goes on, and so does a halt: they also hold a session that is started again and again.
    """
    identity = snapshot.identity
    if not identity or identity == before.identity:  # a look at a session that is gone has none
        return before, ()
    if not before.identity:
        return evolve(before, identity=identity, adopts=False), (Loop(identity, new=False),)
    new, told = not before.adopts, over(before, now, config)
    recovery = evolve(before.recovery.new_iteration(True) if new else before.recovery, hang=None, sent=False)
    kept = SessionState(identity, adopts=False, recovery=recovery, quota=before.quota, halt=before.halt)
    return kept, (*told, Loop(identity, new))


def _tick(before: SessionState, verdict: Verdict, snapshot: Snapshot, now: float, config: WatchConfig) -> Tick:
    subject, known = subject_of(verdict), before.notice.notification
    if subject is not None and known is not None and not known.key:
        subject = subject.after(known.subject)
    decision = config.policy.decide(verdict, Scene.of(snapshot))
    if isinstance(decision, Restart) and not config.can_restart:
        decision = Escalate(f"{decision.why}; {NO_COMMAND}")
    return Tick(verdict, snapshot, subject, decision, now, config)


def _seen(before: SessionState, tick: Tick, free_in: float | None) -> SessionState:
    """The state after what the look showed, before anything follows."""
    verdict, subject, now, schedule = tick.verdict, tick.subject, tick.now, tick.config.schedule
    screen = tick.snapshot.screen.fingerprint
    heartbeat = beat(before.heartbeat, subject.key if subject and subject.need in _PROMPTS else screen, now, schedule)
    known = before.notice.notification
    if known is not None and known.key:
        known = known.recognised(subject)
    if before.heartbeat is None and known is not None and known.subject == subject:
        heartbeat = evolve(heartbeat, since=known.appeared)  # an earlier supervisor saw it begin
    prompt = before.prompt.after(observed(verdict, subject), screen, verdict, now)
    stalled = _stalled(tick.config)
    if stalled in prompt.reported and not heartbeat.suspected(now, schedule):
        prompt = evolve(prompt, reported=prompt.reported - {stalled})  # the next stall is a new one
    if verdict.state is State.QUOTA:  # a used-up limit is no stall
        heartbeat = evolve(heartbeat, since=now, beat_at=now, unchanged=0)
    return evolve(
        before,
        heartbeat=heartbeat,
        prompt=prompt,
        recovery=before.recovery.after(verdict, now),
        quota=before.quota.after(tick, free_in),
        notice=evolve(before.notice, notification=known, agent=agent_of(verdict, tick.snapshot) or before.notice.agent),
    )


def _logged(state: SessionState, tick: Tick) -> tuple[SessionState, tuple[Step, ...]]:
    facts = {**unstructure(tick.verdict), "foreground": tick.snapshot.foreground}
    return evolve(state, prompt=evolve(state.prompt, logged=state.prompt.seen)), (Emit("detection", facts),)


# --- what follows ---


def _follow(state: SessionState, tick: Tick) -> tuple[SessionState, tuple[Step, ...]]:
    if state.recovery.busy or state.halt.halted is not None:
        return state, ()
    decision = _due(state, tick)
    match decision:
        case Press() | Choose() | Restart() | Resume() | Send() | Interrupt():
            return _recover(state, decision, tick.now, tick.config)
        case Stop(why):
            return _halted(state, why), (Halt("policy", why),)
        case Escalate(why):
            return _once(state, why)
    return state, ()


def _due(state: SessionState, tick: Tick) -> Decision:
    """What to do of the policy's decision, when it is time: sooner by evidence, unless the policy is patient."""
    verdict, decision, now, config = tick.verdict, tick.decision, tick.now, tick.config
    cured = cure(state.recovery.hang, verdict, tick.snapshot, config.policy, config.cure, now)
    if cured is not None:
        return cured
    suspected = state.heartbeat is not None and state.heartbeat.suspected(now, config.schedule)
    free = state.quota.waits and state.quota.is_free(now)
    if isinstance(decision, Wait) and verdict.state is State.QUOTA and free:
        return _resumed(state, tick)
    if isinstance(decision, Wait | Stop):
        return decision
    if isinstance(decision, Escalate) and tick.subject is not None and tick.subject.need is not Need.DONE:
        return Ignore()  # it is told of in its own time
    if verdict.state is State.GONE:
        return decision
    if suspected and isinstance(decision, Ignore) and verdict.state is State.WORKING and tick.subject is None:
        ruled = config.policy.rule_for(verdict, tick.scene)
        return decision if ruled else Escalate(_stalled(config))
    turn = verdict.ended_turn
    if isinstance(decision, Send) and state.recovery.sent and (turn is None or turn.at_once):
        return Escalate("it asks again, and has done nothing since it was told to go on")
    if isinstance(decision, Press | Choose) and rests(tick.snapshot, now):
        return Ignore()  # the gate would refuse it: a key was pressed at this very screen a moment ago
    if not suspected and (config.policy.patient or verdict.certainty is Certainty.MAYBE):
        return Ignore()
    return decision


def _stalled(config: WatchConfig) -> str:
    return f"nothing changed for {config.schedule.stall_timeout_s:g} s, and the reason is unknown"


def _resumed(state: SessionState, tick: Tick) -> Resume | Escalate | Ignore:
    """The limit is free again: press keys if a rule of the policy says so."""
    why, verdict = "the limit should be free again", tick.verdict
    if verdict.retrying is not None:
        return Ignore()  # it goes on by itself
    if state.prompt.pressed or not tick.config.policy.resumes(verdict, tick.scene):
        return Escalate(why)
    if verdict.certainty is not Certainty.SURE:
        return Escalate(f"{why}; but it is doubtful that one is used up")
    return Resume(why)


def _recover(
    state: SessionState, decision: Action, now: float, config: WatchConfig
) -> tuple[SessionState, tuple[Step, ...]]:
    """Begin to do that, if nothing forbids it: what was done at this prompt, a pause, a limit, a file."""
    prompt, recovery, cures = state.prompt, state.recovery, is_cure(decision)
    if prompt.pressed and not cures:
        return _once(state, ANSWERED)
    if prompt.refused >= TRIES and not cures:
        return _once(state, f"it was refused {prompt.refused} times")
    if isinstance(decision, Restart) and now < recovery.restart_from:
        return state, ()
    limits = config.limits_of(decision)
    if reached := recovery.reached(decision, limits, now):
        return _halted(state, reached), (Emit("limit", {"why": reached}), Halt(STALL_LIMIT, reached))
    if state.halt.held is not None:
        return _once(state, f"nothing is pressed or started while {state.halt.held} is there")
    state = evolve(state, recovery=recovery.begun(decision, prompt.at, limits, config.back_off_s, now))
    if isinstance(decision, Restart):
        gone = prompt.seen is not None and prompt.seen.state is State.GONE  # another session, in the same loop
        return evolve(state, adopts=state.adopts or decision.resumes or gone), (Perform(decision),)
    return evolve(state, prompt=evolve(prompt, pressed=prompt.pressed or not cures)), (Perform(decision),)


def _halted(state: SessionState, why: str) -> SessionState:
    return evolve(state, halt=evolve(state.halt, halted=why))


def _once(state: SessionState, why: str) -> tuple[SessionState, tuple[Step, ...]]:
    """Escalate, for each reason once at each prompt."""
    prompt = state.prompt
    if why in prompt.reported:
        return state, ()
    return evolve(state, prompt=evolve(prompt, reported=prompt.reported | {why})), (Emit("escalation", {"why": why}),)
