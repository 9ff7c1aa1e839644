"""What to do about a verdict: decisions, the rules of a policy, and the one place that decides.  Pure.

Packs state facts, such as which keys would answer and what a wrong answer could cost; a policy decides.
"""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Iterable

from attrs import evolve, field, fields, frozen

from stallkit.core.keys import Keys
from stallkit.core.signature import NEVER_PRESSED, Certainty, Kind, Severity, Signature, State
from stallkit.core.verdict import Snapshot, Verdict

__all__ = [
    "Act",
    "CAREFUL",
    "DAEMON",
    "Decision",
    "Action",
    "Escalate",
    "Ignore",
    "OBSERVE",
    "PROFILES",
    "Policy",
    "Press",
    "Restart",
    "Resume",
    "Rule",
    "Scene",
    "Stop",
    "Wait",
    "for_watch",
]


@frozen
class Press:
    """Press the keys that the signature gives, once, and verify."""

    signature: Signature

    @property
    def keys(self) -> Keys:
        assert self.signature.dismissal is not None  # Policy.decide made sure
        return self.signature.dismissal.keys


@frozen
class Escalate:
    """Tell a person: `why` says what keeps a machine from answering."""

    why: str


@frozen
class Wait:
    """Time mends it."""

    why: str


@frozen
class Restart:
    """The program ended and may be started again."""

    why: str


@frozen
class Resume:
    """A limit of use should be free again: press the keys that are configured for it."""

    why: str
    keys: Keys | None = None  # None: not looked up, or none are configured


@frozen
class Stop:
    """Leave the session alone from now on: a person has to look before anything more is done to it."""

    why: str


@frozen
class Ignore:
    """Nothing is wrong."""


Action = Press | Restart | Resume  # what is carried out, and has an outcome
Decision = Press | Escalate | Wait | Restart | Resume | Stop | Ignore


class Act(StrEnum):
    """What a rule of a policy may ask for."""

    PRESS = "press"
    ESCALATE = "escalate"
    WAIT = "wait"
    RESTART = "restart"
    STOP = "stop"
    IGNORE = "ignore"


@frozen
class Scene:
    """Where a verdict was come to: the session's name, and the foreground process, None where nobody knows it."""

    session: str = ""
    foreground: str | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> Scene:
        """The scene of a look."""
        return cls(snapshot.target, snapshot.foreground)


def _several(given: Iterable[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


_WORDS: dict[str, tuple[str, ...]] = {"state": tuple(State), "kind": tuple(Kind), "severity": tuple(Severity)}


@frozen(kw_only=True)
class Rule:
    """A condition and an act; what is left out holds always, of several values one has to.

    Values are patterns as a shell's: ``signature = "claude_code:*"``, ``session = "tmux:work-*"``.  A fact that is
    unknown matches nothing.  Raises ValueError for a state, kind or severity that there is not.
    """

    do: Act = field(converter=Act)
    why: str = ""
    state: tuple[str, ...] = field(default=(), converter=_several)
    kind: tuple[str, ...] = field(default=(), converter=_several)
    severity: tuple[str, ...] = field(default=(), converter=_several)
    signature: tuple[str, ...] = field(default=(), converter=_several)
    session: tuple[str, ...] = field(default=(), converter=_several)
    foreground: tuple[str, ...] = field(default=(), converter=_several)

    def __attrs_post_init__(self) -> None:
        for name, words in _WORDS.items():  # a word that there is not would be a rule that never applies
            for pattern in getattr(self, name):
                if not any(fnmatchcase(word, pattern) for word in words):
                    raise ValueError(f"{name} is one of {', '.join(words)}, not {pattern!r}")

    def holds(self, verdict: Verdict, scene: Scene) -> bool:
        """Whether the rule is about this verdict in this session."""
        match = verdict.match
        facts: dict[str, str | None] = {
            "state": verdict.state,
            "kind": verdict.kind,
            "severity": match.signature.severity if match else None,
            "signature": f"{match.pack.name}:{match.signature.id}" if match else None,
            "session": scene.session,
            "foreground": scene.foreground,
        }
        return all(_one_of(facts[name], getattr(self, name)) for name in CONDITIONS)

    def __str__(self) -> str:
        conditions = [f"{name} {' or '.join(given)}" for name in CONDITIONS if (given := getattr(self, name))]
        return f"{self.do} where {', '.join(conditions) or 'nothing else was said'}"


CONDITIONS = tuple(name.name for name in fields(Rule) if name.name not in ("do", "why"))


def _one_of(fact: str | None, patterns: tuple[str, ...]) -> bool:
    return not patterns or (fact is not None and any(fnmatchcase(fact, pattern) for pattern in patterns))


def _severities(values: Iterable[Severity | str]) -> frozenset[Severity]:
    if isinstance(values, str):
        raise TypeError(f"presses is a set of severities, not the text {values!r}")
    severities = frozenset(map(Severity, values))
    if Severity.HIGH in severities:
        raise ValueError("no policy presses at severity high: that is what it says")
    return severities


def _rules(values: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(values)


def _names(values: Iterable[str]) -> frozenset[str]:
    return frozenset(values)


@frozen
class Policy:
    """Which severities a machine may answer, whether it may restart what ended, and rules that say otherwise.

    The first rule that holds decides.  Whatever a policy says: only sure verdicts, only keys that the signature gives,
    never a secret, a login, a permission, a plan or a question, never at severity high (raises ValueError).

    `agents` are the processes that may be helped, by name (requirement D3): where a scene is given and another one is
    in the foreground, nothing is pressed.  `patient`: nothing is done before a stall is suspected (D2).
    """

    name: str
    presses: frozenset[Severity] = field(default=frozenset(), converter=_severities)
    restarts: bool = False
    rules: tuple[Rule, ...] = field(default=(), converter=_rules)
    agents: frozenset[str] = field(default=frozenset(), converter=_names)
    patient: bool = False

    def rule_for(self, verdict: Verdict, scene: Scene = Scene()) -> Rule | None:  # a value, never changed
        """The first rule that holds, if one does."""
        return next((rule for rule in self.rules if rule.holds(verdict, scene)), None)

    def decide(self, verdict: Verdict, scene: Scene = Scene()) -> Decision:
        """What to do about one verdict; `scene` is where, for rules and `agents`."""
        rule = self.rule_for(verdict, scene)
        if rule is None:
            return self._by_profile(verdict, scene)
        why = rule.why or f"a rule of policy {self.name}: {rule}"
        match rule.do:
            case Act.PRESS:
                return self._answer(verdict, scene, {Severity.LOW, Severity.MEDIUM})
            case Act.ESCALATE:
                return Escalate(why)
            case Act.WAIT:
                return Wait(why)
            case Act.STOP:
                return Stop(why)
            case Act.RESTART if verdict.state in (State.ENDED, State.GONE) and verdict.certainty is Certainty.SURE:
                return Restart(why)
            case Act.RESTART:
                return Escalate(f"{why}; but it is not surely over, so nothing is restarted")
        return Ignore()

    def _by_profile(self, verdict: Verdict, scene: Scene) -> Decision:
        match verdict.state:
            case State.WORKING | State.IDLE:
                return Ignore()
            case State.QUOTA:
                return Wait("a limit of use holds it up")
            case State.ENDED if self.restarts and verdict.certainty is Certainty.SURE:
                return Restart("a shell's prompt where the program was")
            case State.ENDED | State.GONE | State.UNKNOWN:
                return Escalate(f"the session is {verdict.state}")
        return self._answer(verdict, scene, self.presses)

    def _answer(self, verdict: Verdict, scene: Scene, presses: Iterable[Severity]) -> Decision:
        if verdict.state is not State.WAITING:
            return Escalate(f"it is {verdict.state}: nothing waits for a key")
        if verdict.match is None:
            return Escalate("no signature says what is asked")
        signature = verdict.match.signature
        if verdict.kind in NEVER_PRESSED or signature.kind in NEVER_PRESSED:
            return Escalate(f"a machine never answers a {verdict.kind}")
        if signature.dismissal is None:
            return Escalate("no safe answer is known")
        if verdict.certainty is not Certainty.SURE:
            return Escalate("doubtful: " + "; ".join(verdict.reasons[1:]))
        if signature.severity not in presses or signature.severity is Severity.HIGH:
            return Escalate(f"severity {signature.severity}: policy {self.name} leaves it to a person")
        if self.agents and scene != Scene() and scene.foreground not in self.agents:
            who = scene.foreground or "an unknown program"
            return Escalate(f"hands off: {who} is in the foreground, none of {', '.join(sorted(self.agents))}")
        return Press(signature)


CAREFUL = Policy("careful", presses=frozenset({Severity.LOW}))
DAEMON = Policy(  # requirements D2 to D4
    "daemon",
    presses=frozenset({Severity.LOW, Severity.MEDIUM}),
    restarts=True,
    patient=True,
)
OBSERVE = Policy("observe")
AGENTS = frozenset({"claude", "node"})  # requirement D3
PROFILES = {policy.name: policy for policy in (CAREFUL, DAEMON, OBSERVE)}


def for_watch(policy: Policy) -> Policy:
    """The policy as a supervisor keeps it: a patient one that names no agents helps those of requirement D3 alone."""
    return evolve(policy, agents=AGENTS) if policy.patient and not policy.agents else policy
