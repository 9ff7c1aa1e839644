"""What to do about a verdict: decisions, the rules of a policy, and how it decides.  Pure.

Packs state facts, such as which keys would answer and what a wrong answer could cost; a policy decides.
"""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Iterable, Mapping

from attrs import evolve, field, fields, frozen

from stallkit.core.keys import Keys
from stallkit.core.request import Request
from stallkit.core.signature import NEVER_PRESSED, Certainty, Kind, Severity, Signature, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.press.understood import ambiguity, severity_of, untrusted

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
    "as_policy",
    "for_watch",
]


@frozen
class Press:
    """Press the keys that the signature gives, or those that a rule's request was `given`, once, and verify."""

    signature: Signature
    given: Keys | None = None

    @property
    def keys(self) -> Keys:
        """What is pressed.  Raises ValueError where the signature gives no keys, which `Policy.decide` rules out."""
        if self.given is not None:
            return self.given
        if self.signature.dismissal is None:
            raise ValueError(f"{self.signature.id} gives no keys")
        return self.signature.dismissal.keys


@frozen
class Escalate:
    """Tell a person; `why` is the reason against an answer by a machine."""

    why: str


@frozen
class Wait:
    """Do nothing: it passes with time."""

    why: str


@frozen
class Restart:
    """The program ended and may be started again."""

    why: str


@frozen
class Resume:
    """A usage limit should be free again: press the keys that are configured for it."""

    why: str
    keys: Keys | None = None  # None: not looked up, or none are configured


@frozen
class Stop:
    """Leave the session alone from now on: a person has to look before anything more is done to it."""

    why: str


@frozen
class Ignore:
    """Nothing is wrong."""


Action = Press | Restart | Resume  # the decisions that are carried out, and have an outcome
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
    """Where a verdict holds: the session's name, and the foreground process, None where it is unknown."""

    session: str = ""
    foreground: str | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> Scene:
        """The scene of a look."""
        return cls(snapshot.target, snapshot.foreground)


def _several(given: Iterable[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _patterns(given: Mapping[str, Iterable[str] | str]) -> dict[str, tuple[str, ...]]:
    return {name: _several(patterns) for name, patterns in given.items()}


_WORDS: dict[str, tuple[str, ...]] = {"state": tuple(State), "kind": tuple(Kind), "severity": tuple(Severity)}


@frozen(kw_only=True)
class Rule:
    """A condition and an act; a condition left out always holds, and one of several values is enough.

    Values are shell patterns: ``signature = "claude_code:*"``, ``session = "tmux:work-*"``.  An unknown fact matches
    nothing.  `request` are patterns for the fields of a dialog that asks to be allowed something (``command``,
    ``path``, ``tool``); where one of the patterns in `never` fits any of its texts, the rule does not hold.  Raises
    ValueError for an unknown state, kind or severity.

    >>> str(Rule(do="escalate", kind="permission", session="tmux:prod-*"))
    'escalate where kind permission, session tmux:prod-*'
    """

    do: Act = field(converter=Act)
    why: str = ""
    state: tuple[str, ...] = field(default=(), converter=_several)
    kind: tuple[str, ...] = field(default=(), converter=_several)
    severity: tuple[str, ...] = field(default=(), converter=_several)
    signature: tuple[str, ...] = field(default=(), converter=_several)
    session: tuple[str, ...] = field(default=(), converter=_several)
    foreground: tuple[str, ...] = field(default=(), converter=_several)
    request: Mapping[str, tuple[str, ...]] = field(factory=dict, converter=_patterns, hash=False)
    never: tuple[str, ...] = field(default=(), converter=_several)

    def __attrs_post_init__(self) -> None:
        for name, words in _WORDS.items():  # a rule with an unknown word would never apply
            for pattern in getattr(self, name):
                if not any(fnmatchcase(word, pattern) for word in words):
                    raise ValueError(f"{name} is one of {', '.join(words)}, not {pattern!r}")

    def holds(self, verdict: Verdict, scene: Scene | None = None) -> bool:
        """Whether the rule applies to this verdict in this session; without a scene, both of its facts are unknown."""
        match = verdict.match
        facts: dict[str, str | None] = {
            "state": verdict.state,
            "kind": verdict.kind,
            "severity": severity_of(verdict) if match else None,
            "signature": f"{match.pack.name}:{match.signature.id}" if match else None,
            "session": scene.session if scene else None,
            "foreground": scene.foreground if scene else None,
        }
        return all(_one_of(facts[name], getattr(self, name)) for name in CONDITIONS) and self._asks(verdict.request)

    def _asks(self, request: Request | None) -> bool:
        if not self.request and not self.never:
            return True
        if request is None or request.mentions(self.never):
            return False
        return all(request.fits(name, patterns) for name, patterns in self.request.items())

    def __str__(self) -> str:
        conditions = [f"{name} {' or '.join(given)}" for name in CONDITIONS if (given := getattr(self, name))]
        conditions += [f"request.{name} {' or '.join(given)}" for name, given in self.request.items()]
        conditions += [f"never {' or '.join(self.never)}"] if self.never else []
        return f"{self.do} where {', '.join(conditions)}" if conditions else f"{self.do} always"


CONDITIONS = tuple(name.name for name in fields(Rule) if name.name not in ("do", "why", "request", "never"))


def _one_of(fact: str | None, patterns: tuple[str, ...]) -> bool:
    return not patterns or (fact is not None and any(fnmatchcase(fact, pattern) for pattern in patterns))


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


@frozen
class Policy:
    """Which severities a machine may answer, whether it may restart what ended, and rules that take precedence.

    The first rule that holds decides.  Under any policy: only sure verdicts, only keys that the signature gives, never
    a secret, a login, a permission, a plan or a question.  `agents` names the processes that may be helped: where a
    scene is given and another process is in the foreground, nothing is pressed.  `trust` names folders: an agent that
    asks whether one of them, or a folder in it, is trusted gets its key.  `patient`: a supervisor does nothing before
    it suspects a stall.  Raises ValueError for `presses` with severity high or an unknown one, TypeError for a
    text.

    >>> Policy("mine", presses={"low"}, rules=[Rule(do="escalate", session="tmux:prod-*")]).restarts
    False
    """

    name: str
    presses: frozenset[Severity] = field(default=frozenset(), converter=_severities)
    restarts: bool = False
    rules: tuple[Rule, ...] = field(default=(), converter=_rules)
    agents: frozenset[str] = field(default=frozenset(), converter=_names)
    patient: bool = False
    trust: tuple[str, ...] = field(default=(), converter=_several)

    def rule_for(self, verdict: Verdict, scene: Scene | None = None) -> Rule | None:
        """The first rule that holds, if one does."""
        return next((rule for rule in self.rules if rule.holds(verdict, scene)), None)

    def decide(self, verdict: Verdict, scene: Scene | None = None) -> Decision:
        """What to do about one verdict; rules and `agents` need the `scene`.  Pure; raises nothing.

        >>> from stallkit import Engine, Screen, Snapshot, judge
        >>> screen = Screen.from_text("Proceed? [y/N] ")
        >>> CAREFUL.decide(judge(Engine.default().detect(screen), Snapshot(screen=screen)))
        Escalate(why='doubtful: where the cursor stands is unknown')
        """
        rule = self.rule_for(verdict, scene)
        if rule is None:
            return self._by_profile(verdict, scene)
        why = rule.why or f"a rule of policy {self.name}: {rule}"
        match rule.do:
            case Act.PRESS if rule.request:
                return self._allow_once(verdict, scene, rule)
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
                return Escalate(f"{why}; but it may not have ended, so nothing is restarted")
        return Ignore()

    def _by_profile(self, verdict: Verdict, scene: Scene | None) -> Decision:
        match verdict.state:
            case State.WORKING | State.IDLE:
                return Ignore()
            case State.QUOTA:
                return Wait("a usage limit holds it up")
            case State.ENDED if self.restarts and verdict.certainty is Certainty.SURE:
                return Restart("a shell's prompt where the program was")
            case State.ENDED | State.GONE | State.UNKNOWN:
                return Escalate(f"the session is {verdict.state}")
        return self._answer(verdict, scene, self.presses)

    def _answer(self, verdict: Verdict, scene: Scene | None, presses: Iterable[Severity]) -> Decision:
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
        severity = severity_of(verdict)
        if severity not in presses or severity is Severity.HIGH:
            return Escalate(f"severity {severity}: policy {self.name} leaves it to a person")
        if doubt := ambiguity(verdict) or untrusted(verdict, self.trust):
            return Escalate(doubt)
        return self._hands_off(scene) or Press(signature)

    def _allow_once(self, verdict: Verdict, scene: Scene | None, rule: Rule) -> Decision:
        """Enter at the dialog's own option for this once, where the rule names everything that it asks for."""
        request, match = verdict.request, verdict.match
        if verdict.state is not State.WAITING or match is None or request is None or not match.pack.foreground:
            return Escalate("it is no program's own dialog that was wholly recognised")
        if verdict.kind is not Kind.PERMISSION:
            return Escalate(f"a rule on requests answers permissions, not a {verdict.kind}")
        if verdict.certainty is not Certainty.SURE:
            return Escalate("doubtful: " + "; ".join(verdict.reasons[1:]))
        if (name := request.unnamed(list(rule.request))) is not None:
            return Escalate(f"the rule does not say which {name} it allows")
        if request.once is None or not request.once.selected:
            return Escalate("its option for this once is not the selected one")
        return self._hands_off(scene) or Press(match.signature, _ENTER)

    def _hands_off(self, scene: Scene | None) -> Escalate | None:
        if not self.agents or scene is None or scene.foreground in self.agents:
            return None
        who = scene.foreground or "an unknown program"
        return Escalate(f"hands off: {who} is in the foreground, none of {', '.join(sorted(self.agents))}")


_ENTER = Keys.parse("Enter")
CAREFUL = Policy("careful", presses=frozenset({Severity.LOW}))
DAEMON = Policy("daemon", presses=frozenset({Severity.LOW, Severity.MEDIUM}), restarts=True, patient=True)
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
    if given not in PROFILES:
        raise ValueError(f"a profile is one of {', '.join(PROFILES)}, not {given!r}")
    return PROFILES[given]


def for_watch(policy: Policy) -> Policy:
    """The policy for a supervisor: a patient one that names no agents helps Claude Code alone."""
    return evolve(policy, agents=AGENTS) if policy.patient and not policy.agents else policy
