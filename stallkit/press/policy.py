"""What to do about a verdict: the rules of a policy, and how it decides.  Pure.

Packs state facts, such as which keys would answer and what a wrong answer could cost; a policy decides.
"""

from __future__ import annotations

from typing import Iterable

from stallkit.core.facts import INTERPRETERS
from stallkit.core.keys import Keys
from stallkit.core.signature import NEVER_PRESSED, Certainty, Kind, Severity, State
from stallkit.core.values import evolve, field, frozen
from stallkit.core.verdict import Ended, Verdict
from stallkit.press.asked import Asked
from stallkit.press.decisions import Decision, Escalate, Ignore, Press, Restart, Send, Stop, Wait
from stallkit.press.nudge import nudge
from stallkit.press.rules import Act, Rule, Scene

__all__ = ["CAREFUL", "DAEMON", "OBSERVE", "PROFILES", "Policy", "as_policy", "for_watch"]


def _severities(values: Iterable[Severity | str]) -> frozenset[Severity]:
    if isinstance(values, str):
        raise TypeError(f"presses is a set of severities, not the text {values!r}")
    severities = frozenset(map(Severity, values))
    if Severity.HIGH in severities:
        raise ValueError("no policy may press at severity high")
    return severities


def _rules(values: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(values)


def _names(values: Iterable[str]) -> frozenset[str]:
    return frozenset(values)


def _folders(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@frozen
class Policy:
    """Which severities a machine may answer, whether it may restart what ended, and rules that take precedence.

    The first rule that holds decides.  Under any policy: only sure verdicts, only keys that the signature gives, never
    a secret, a login, a permission (but by a rule on requests), a plan or a question.  `agents` names the processes
    that may be helped: where a scene is given and another process is in the foreground, nothing is pressed.  `trust`
    names folders: an agent that asks whether one of them, or a folder in it, is trusted gets its key, as for the folder
    that an operator started it in.  `patient`: a supervisor does nothing before it suspects a stall.  `nudges`: an
    agent whose turn ended with a plain question whether to go on gets its answer (`nudge`).  Raises ValueError for
    `presses` with severity high or an unknown one, TypeError for a text.

    >>> Policy("mine", presses={"low"}, rules=[Rule(do="escalate", session="tmux:prod-*")]).restarts
    False
    """

    name: str
    presses: frozenset[Severity] = field(default=frozenset(), converter=_severities)
    restarts: bool = False
    rules: tuple[Rule, ...] = field(default=(), converter=_rules)
    agents: frozenset[str] = field(default=frozenset(), converter=_names)
    patient: bool = False
    nudges: bool = False
    trust: tuple[str, ...] = field(default=(), converter=_folders)

    def rule_for(self, verdict: Verdict | Asked, scene: Scene | None = None) -> Rule | None:
        """The first rule that holds, if one does."""
        asked = Asked.of(verdict)
        return next((rule for rule in self.rules if rule.holds(asked, scene)), None)

    @property
    def may_restart(self) -> bool:
        """Whether it starts anything again, by itself or by a rule."""
        return self.restarts or any(rule.do is Act.RESTART for rule in self.rules)

    def decide(self, verdict: Verdict | Asked, scene: Scene | None = None) -> Decision:
        """What to do about one verdict; rules and `agents` need the `scene`.  Pure; raises nothing.

        >>> from stallkit import Engine, Screen, Snapshot, judge
        >>> screen = Screen.from_text("Proceed? [y/N] ")
        >>> CAREFUL.decide(judge(Engine.default().detect(screen), Snapshot(screen=screen)))
        Escalate(why='doubtful: where the cursor stands is unknown')
        """
        asked = Asked.of(verdict)
        rule = self.rule_for(asked, scene)
        if rule is None:
            return self._by_profile(asked, scene)
        why = rule.why or f"a rule of policy {self.name}: {rule}"
        match rule.do:
            case Act.PRESS if rule.request:
                return self._allow_once(asked, scene, rule)
            case Act.PRESS:
                return self._answer(asked, scene, {Severity.LOW, Severity.MEDIUM})
            case Act.ESCALATE:
                return Escalate(why)
            case Act.WAIT:
                return Wait(why)
            case Act.STOP:
                return Stop(why)
            case Act.SEND:
                return self._send(asked, scene, rule.text, why)
            case Act.RESTART if asked.state in (State.ENDED, State.GONE) and asked.certainty is Certainty.SURE:
                return Restart(why)
            case Act.RESTART:
                return Escalate(f"{why}; but it may not have ended, so nothing is restarted")
        return Ignore()

    def _by_profile(self, asked: Asked, scene: Scene | None) -> Decision:
        match asked.state:
            case State.IDLE if self.nudges and (text := nudge(asked.turn)) is not None:
                return self._send(asked, scene, text, "its turn ended with a plain question whether to go on")
            case State.WORKING | State.IDLE:
                return Ignore()
            case State.QUOTA:
                return Wait("a usage limit holds it up")
            case State.ENDED if asked.ended is Ended.WRAPPED:
                return Escalate("its agent ended, and what started it lives on: it may start it again")
            case State.ENDED if self.restarts and asked.certainty is Certainty.SURE:
                return Restart("a shell's prompt where the program was")
            case State.ENDED | State.GONE | State.UNKNOWN:
                return Escalate(f"the session is {asked.state}")
        return self._answer(asked, scene, self.presses)

    def _answer(self, asked: Asked, scene: Scene | None, presses: Iterable[Severity]) -> Decision:
        if asked.state is not State.WAITING:
            return Escalate(f"it is {asked.state}: nothing waits for a key")
        signature = asked.signature
        if signature is None:
            return Escalate("no signature says what is asked")
        if asked.kind in NEVER_PRESSED or signature.kind in NEVER_PRESSED:
            return Escalate(f"a machine never answers a {asked.kind}")
        if signature.dismissal is None:
            return Escalate("no safe answer is known")
        if asked.certainty is not Certainty.SURE:
            return Escalate("doubtful: " + "; ".join(asked.reasons[1:]))
        if asked.severity is None or asked.severity not in presses or asked.severity is Severity.HIGH:
            return Escalate(f"severity {asked.severity}: policy {self.name} leaves it to a person")
        named = (scene.started_in,) if scene and scene.started_in else ()
        if doubt := asked.ambiguity or asked.untrusted((*self.trust, *named)):
            return Escalate(doubt)
        return self._hands_off(scene) or Press(signature)

    def _send(self, asked: Asked, scene: Scene | None, text: str, why: str) -> Decision:
        """Text for a composer: `stallkit.press.send` types it only where that is surely the agent's own, and empty."""
        if asked.state is not State.IDLE:
            return Escalate(f"{why}; but it is {asked.state}: no composer waits for a text")
        if asked.certainty is not Certainty.SURE:
            return Escalate("doubtful: " + "; ".join(asked.reasons[1:]))
        return self._hands_off(scene) or Send(text, why)

    def _allow_once(self, asked: Asked, scene: Scene | None, rule: Rule) -> Decision:
        """Enter at the dialog's own option for this once, where the rule names everything that it asks for."""
        request, pack, signature = asked.request, asked.pack, asked.signature
        if asked.state is not State.WAITING or not (request and signature and pack and pack.foreground):
            return Escalate("it is no program's own dialog that was wholly recognised")
        if asked.kind is not Kind.PERMISSION:
            return Escalate(f"a rule on requests answers permissions, not a {asked.kind}")
        if asked.certainty is not Certainty.SURE:
            return Escalate("doubtful: " + "; ".join(asked.reasons[1:]))
        if (name := request.unnamed(list(rule.request))) is not None:
            return Escalate(f"the rule does not say which {name} it allows")
        if request.once is None or not request.once.selected:
            return Escalate("its option for this once is not the selected one")
        return self._hands_off(scene) or Press(signature, _ENTER)

    def _hands_off(self, scene: Scene | None) -> Escalate | None:
        if not self.agents or scene is None or scene.foreground in self.agents:
            return None
        if scene.present & (self.agents - INTERPRETERS):
            return None  # another program started it
        who = scene.foreground or "an unknown program"
        return Escalate(f"hands off: {who} is in the foreground, none of {', '.join(sorted(self.agents))}")


_ENTER = Keys.parse("Enter")
CAREFUL = Policy("careful", presses=frozenset({Severity.LOW}))
DAEMON = Policy("daemon", presses=frozenset({Severity.LOW, Severity.MEDIUM}), restarts=True, patient=True, nudges=True)
OBSERVE = Policy("observe")
AGENTS = frozenset({"claude", "node"})
PROFILES = {policy.name: policy for policy in (CAREFUL, DAEMON, OBSERVE)}


def as_policy(given: Policy | str) -> Policy:
    """The policy that is given, or the profile of that name.  Raises ValueError for an unknown name.

    >>> as_policy("observe") is OBSERVE
    True
    """
    if isinstance(given, Policy):
        return given
    if not isinstance(given, str) or given not in PROFILES:
        todo = "; stallkit.press.policy_file.load_policy reads a file" if str(given).endswith(".toml") else ""
        raise ValueError(f"a profile is one of {', '.join(PROFILES)}, not {given!r}{todo}")
    return PROFILES[given]


def for_watch(policy: Policy) -> Policy:
    """The policy for a supervisor: a patient one that names no agents helps Claude Code alone."""
    return evolve(policy, agents=AGENTS) if policy.patient and not policy.agents else policy
