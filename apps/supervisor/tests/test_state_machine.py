"""The state of a session under any sequence of looks, ends, signals, crashes and clock steps.

Hypothesis looks for a sequence in which a limit is passed or a prompt is answered twice.  A few seconds here;
``STALLKIT_SOAK_STEPS=50000`` makes it that many steps.
"""

from __future__ import annotations

import os
from typing import ClassVar

from attrs import evolve
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from looks import Tally
from stallkit_supervisor.prompt_state import Observed, PromptState, observed
from stallkit_supervisor.recovery_state import Limits, RecoveryState
from stallkit_supervisor.session_state import Halt, Perform, Schedule, SessionState, WatchConfig
from stallkit_supervisor.transitions import on_look, on_outcome, on_signal
from watched_state import ANYBODYS, OWN, RESUME, snapshot, verdict

from stallkit.detect.signature import NEVER_ANSWERED, Certainty, Severity, State
from stallkit.judging.verdict import Verdict
from stallkit.press.gate import End
from stallkit.press.policy import CAREFUL, OBSERVE, Policy, Press, Restart, Resume
from stallkit.press.policy_file import DAEMON
from stallkit.press.rules import Rule

STEPS, LENGTH = int(os.environ.get("STALLKIT_SOAK_STEPS", "5000")), 60

HERE = Rule(do="press", signature=["acme:a*", "shell_yn:*"], session="tmux:one")
BACK = Rule(do="restart", state=["ended", "gone"])
POLICIES = [
    CAREFUL,
    DAEMON,
    OBSERVE,
    Policy("eager", dialogs=True, rules=[HERE, BACK]),
    evolve(DAEMON, name="agents", agents=["claude"]),
    evolve(DAEMON, name="impatient", patience_s=0.0),
    Policy("rules", rules=[HERE, RESUME, BACK]),
    Policy("hard", dialogs=True, rules=[Rule(do="stop", severity="high"), Rule(do="wait", state="unknown")]),
]
prompts = st.builds(
    verdict,
    certainty=st.sampled_from(["sure", "sure", "sure", "maybe"]),
    id=st.sampled_from(["asks", "asks", "another", "yes_no"]),
    pack=st.sampled_from([OWN, OWN, ANYBODYS]),
    line=st.sampled_from(["Proceed? [y/N]", "Proceed? [y/N]", "Really?"]),
    severity=st.sampled_from(["low", "low", "low", "medium", "high"]),
    kind=st.sampled_from(["confirm", "confirm", "confirm", "secret", "login"]),
)
others = st.builds(
    verdict,
    st.sampled_from(["working", "idle", "ended", "ended", "quota", "quota", "unknown", "gone"]),
    st.sampled_from(["sure", "sure", "maybe"]),
    id=st.sampled_from(["one", None]),
    undecided=st.sampled_from([False, False, False, True]),
)
pauses = st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.0, 5.0, 20.0, 60.0, 60.0, 60.0, 61.5, 600.0, 3600.0, 1e6])
ends = st.sampled_from([*End, End.CLEARED, End.CLEARED, End.UNCHANGED])
most = st.sampled_from([3, 10, 5, 40, 2, 1])
limits = st.builds(Limits, most, most, most, st.sampled_from([10.0, 600.0, 1e5]))


class Watching(RuleBasedStateMachine):
    taken: ClassVar[int] = 0  # steps, over all runs
    acts: ClassVar[dict[str, int]] = {}  # of each kind

    @initialize(policy=st.sampled_from(POLICIES), limits=limits, restarts=limits)
    def begin(self, policy: Policy, limits: Limits, restarts: Limits) -> None:
        self.config = WatchConfig(policy, Schedule(interval_s=20.0), limits, restarts, back_off_s=5.0)
        self.state, self.now = SessionState(), 1000.0
        self.presses, self.restarts = Tally(limits), Tally(restarts)
        self.doing: Press | Restart | Resume | None = None
        self.doing_at: Observed | None = None
        self.answered: Observed | None = None  # what a key was pressed at, or perhaps, and may still be there
        self.screen: str | None = None  # on which it was seen last
        self.identity, self.looks = "", list[tuple[float, str]]()
        self.not_before, self.halts = 0.0, 0
        self.ours = True  # whoever has the name next: the first one, or one that was started again

    @rule(
        seen=prompts | others,
        text=st.sampled_from(["a", "a", "a", "b", "c"]),
        pause=pauses,
        identity=st.sampled_from(["%1"] * 9 + ["%2"]),
        foreground=st.sampled_from(["claude", "claude", "python", None]),
        free_in=st.none() | st.sampled_from([-5.0, 0.0, 1.0, 3600.0]),
    )
    def look(
        self, seen: Verdict, text: str, pause: float, identity: str, foreground: str | None, free_in: float | None
    ) -> None:
        type(self).taken += 1
        self.now += pause
        if identity != self.identity:
            if self.identity:
                self.answered, self.looks = None, []
                if not self.ours:
                    self.presses.begin(reset_total=True)
                    self.restarts.begin(reset_total=True)
            self.identity, self.ours = identity, False
        asked = f"{seen.match.signature.id}: {seen.match.line}" if seen.match else str(seen.kind)
        self._rested(asked if seen.state is State.WAITING else text, seen.state is State.QUOTA)
        self._still_there(seen, text)
        before = self.state
        look = snapshot(text, foreground, identity)
        self.state, steps = on_look(before, seen, look, self.now, self.config, free_in)
        does = [step.decision for step in steps if isinstance(step, Perform)]
        assert before.halt.held is None or not does, "a key while somebody's .auto-stop is there"
        halts = [step for step in steps if isinstance(step, Halt)]
        assert len(does) + len(halts) <= 1
        if before.recovery.busy or before.halt.halted is not None:
            assert not does and not halts, "something was done though something was being done, or nothing may be"
        self.halts += len(halts)
        assert self.halts == (self.state.halt.halted is not None)
        for decision in does:
            assert isinstance(decision, Press | Restart | Resume)
            self._did(decision, seen, foreground)
            self.screen = text

    @rule(
        line=st.sampled_from(["Proceed? [y/N]", "Really?", "Sure?"]),
        text=st.sampled_from("abc"),
        pause=pauses,
        end=st.none() | ends,
    )
    def asks(self, line: str, text: str, pause: float, end: End | None) -> None:
        """What most policies press at."""
        self._until(end, verdict(line=line), text, pause, "claude")

    @rule(text=st.sampled_from("ab"), pause=pauses, free_in=st.sampled_from([0.0, 1.0, 60.0]), end=st.none() | ends)
    def used_up(self, text: str, pause: float, free_in: float, end: End | None) -> None:
        self._until(end, verdict("quota", id="limit"), text, pause, "claude", free_in)

    @rule(text=st.sampled_from("ab"), pause=pauses, end=st.none() | ends)
    def ended(self, text: str, pause: float, end: End | None) -> None:
        self._until(end, verdict("ended", id="shell"), text, pause, "bash")

    def _until(
        self, end: End | None, seen: Verdict, text: str, pause: float, foreground: str, free_in: float | None = None
    ) -> None:
        """A look; what it led to, if it did, comes to that end, or is still being done after it."""
        self.look(seen, text, pause, self.identity or "%1", foreground, free_in)
        if self.doing is not None and end is not None:
            self.end(end, pause)

    def _rested(self, text: str, quota: bool) -> None:
        """How long the prompt or the screen was the same, as looks a beat apart."""
        if self.looks and self.looks[-1][1] != text:
            self.looks = []
        if quota:
            self.looks = [(self.now, text)]
        elif not self.looks or self.now - self.looks[-1][0] >= 20.0:
            self.looks.append((self.now, text))

    def _still_there(self, seen: Verdict, text: str) -> None:
        """Whether what was answered went away: something else is surely there, and on another screen."""
        if self.answered is None:
            return
        if _key(observed(seen)) == _key(self.answered) and seen.match is not None:
            self.screen = text
        elif seen.state is not State.UNKNOWN and not seen.detection.undecided and text != self.screen:
            self.answered = None

    def _did(self, decision: Press | Restart | Resume, seen: Verdict, foreground: str | None) -> None:
        name, policy = type(decision).__name__, self.config.policy
        type(self).acts[name] = type(self).acts.get(name, 0) + 1
        assert self.doing is None
        assert self.answered is None or _key(observed(seen)) != _key(self.answered), "the same prompt a second time"
        assert seen.certainty is Certainty.SURE and policy.name != "observe"
        if policy.patient and not isinstance(decision, Resume):  # whoever is held up by a limit has not stalled
            assert len(self.looks) > 3, "a patient policy acted before a stall was suspected"
        if isinstance(decision, Restart):
            assert seen.state in (State.ENDED, State.GONE)
            assert self.now >= self.not_before
            self.not_before = self.now + 5.0 * 2**self.restarts.iteration
            self.restarts.did(self.now)
            self.ours = self.ours or seen.state is State.GONE
        else:
            assert not policy.agents or foreground in policy.agents
            self.presses.did(self.now)
            self.answered = observed(seen)
        if isinstance(decision, Press):
            assert seen.state is State.WAITING and seen.match is not None
            assert seen.match.signature == decision.signature
            assert decision.signature.severity is not Severity.HIGH and seen.kind not in NEVER_ANSWERED
            own = seen.match.pack is OWN and decision.signature.severity is Severity.LOW and foreground == "claude"
            named = policy.name in _NAMED.get(f"{seen.match.pack.name}:{decision.signature.id}", ())
            assert own or (named and (policy.name in _HERE or foreground == "claude"))
        if isinstance(decision, Resume):
            assert seen.state is State.QUOTA and foreground == "claude"
            assert policy.name in ("daemon", "agents", "impatient", "rules")
        self.doing, self.doing_at = decision, observed(seen)

    @precondition(lambda self: self.doing is not None)
    @rule(end=ends, pause=pauses)
    def end(self, end: End, pause: float) -> None:
        type(self).taken += 1
        self.now += pause
        assert self.doing is not None
        self.state = on_outcome(self.state, self.doing, end)
        assert not self.state.recovery.busy
        if end is End.REFUSED:
            if isinstance(self.doing, Restart):
                self.ours = False
            (self.restarts if isinstance(self.doing, Restart) else self.presses).undo()
            if self.answered == self.doing_at:
                self.answered = None
        elif end in (End.CLEARED, End.REPLACED, End.GONE):
            self.answered = None
        else:
            if self.answered != self.doing_at:  # something else was seen meanwhile
                self.screen = None
            self.answered = self.doing_at
        self.doing = None

    @rule(
        what=st.sampled_from(["signal", "new loop", "reload", "crash", "held", "held over"]),
        policy=st.sampled_from(POLICIES),
    )
    def meanwhile(self, what: str, policy: Policy) -> None:
        type(self).taken += 1
        match what:
            case "signal" | "new loop":
                self._signal(reset_total=what == "new loop")
            case "reload":
                self.config = evolve(self.config, policy=policy)
            case "crash":
                self._crash()
            case "held" | "held over":
                self.state = evolve(
                    self.state, halt=evolve(self.state.halt, held="/loop/.auto-stop" if what == "held" else None)
                )

    def _signal(self, reset_total: bool) -> None:
        self.state = on_signal(self.state, reset_total)
        for tally in (self.presses, self.restarts):
            tally.begin(reset_total)
        self.looks = self.looks[-1:]

    @precondition(lambda self: self.state.halt.halted is not None)
    @rule()
    def release(self) -> None:
        """A person ran `stallkit stuck release`: everything is counted anew."""
        type(self).taken += 1
        self.state = self.state.released()
        self.presses, self.restarts, self.halts = Tally(self.config.limits), Tally(self.config.restarts), 0

    def _crash(self) -> None:
        """The supervisor is killed, and another one reads what the store kept; the end of an act is lost."""
        old = self.state
        self.state = SessionState(recovery=RecoveryState(old.recovery.counts, old.recovery.restarts), halt=old.halt)
        if self.doing is not None:
            self.answered = self.doing_at
        if self.answered is not None:
            self.state = evolve(self.state, prompt=PromptState(seen=Observed.kept(str(self.answered)), pressed=True))
        self.screen, self.doing, self.looks, self.identity, self.not_before = None, None, [], "", 0.0
        self.ours = True


_HERE = ("eager", "rules")
_NAMED = {  # the policies whose rules name it
    "acme:asks": _HERE,
    "acme:another": _HERE,
    "shell_yn:asks": _HERE,
    "shell_yn:another": _HERE,
    "shell_yn:yes_no": (*_HERE, "daemon", "agents", "impatient"),
}


def _key(one: Observed) -> tuple[object, ...]:
    return (one.state, one.signature, one.line)


def test_no_sequence_passes_a_limit_or_answers_a_prompt_twice() -> None:
    Watching.taken, Watching.acts = 0, {}
    wanted = {"Press", "Restart", "Resume"}
    while Watching.taken < STEPS or (Watching.taken < 10 * STEPS and set(Watching.acts) != wanted):  # some are rare
        bound = settings(
            max_examples=max(1, (STEPS - Watching.taken) // LENGTH + 1),
            stateful_step_count=LENGTH,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(Watching, settings=bound)
    print(f"{Watching.taken} steps, {Watching.acts}")
    assert set(Watching.acts) == wanted, "a machine that does nothing breaks no limit"
