"""What to do about a verdict: the rules of a policy, how it decides, and the decisions as values.  Pure.

A key is pressed on two grounds and no other.  Either it answers a pack's own dialog of severity low, wholly recognised,
whose program is proven to read the terminal; or a rule, which a person wrote or chose, names what is pressed and where.
No word on the screen makes a key more or less allowed.
"""

from __future__ import annotations

from typing import Iterable

from attrs import field, frozen

from stallkit.detect.dialog import Role
from stallkit.detect.signature import NEVER_ANSWERED, NEVER_PRESSED, Certainty, Kind, Severity, Signature, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.snapshot import plain
from stallkit.judging.verdict import Verdict
from stallkit.press.rules import Act, PromptFacts, Rule, Scene
from stallkit.redact.redact import redact
from stallkit.short_repr import short_repr
from stallkit.terminal.keys import Keys
from stallkit.word_tables import INTERPRETERS, SHELLS

# --- decisions ---

_ESCAPE = Keys.parse("Escape")


class _NoKey:
    """A decision on which no key goes to a prompt is false, so that ``if may_press(...)`` means what it says."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


@frozen
class Press:
    """Press the keys that the signature gives, or those that a rule's request was `given`, once, and verify.

    >>> from stallkit import Dismissal, Signature
    >>> asks = Signature("key", "a key", "waiting", ["any key"], "press_key", "low", dismissal=Dismissal("Space"))
    >>> str(Press(asks).signature.dismissal.keys)
    'Space'
    """

    signature: Signature
    given: Keys | None = None

    __repr__ = short_repr("signature", "given")

    @property
    def keys(self) -> Keys:
        """What is pressed.  Raises ValueError if the signature gives no keys, which `Policy.decide` rules out."""
        if self.given is not None:
            return self.given
        if self.signature.dismissal is None:
            raise ValueError(f"{self.signature.id} gives no keys")
        return self.signature.dismissal.keys


@frozen
class Choose:
    """Choose the option of this label, by its own key or by moving to it, looking at every step.

    >>> from stallkit import Signature
    >>> Choose(Signature("gate", "a gate", "waiting", ["Trust?"], "trust", "low"), "Yes, I trust this folder").option
    'Yes, I trust this folder'
    """

    signature: Signature
    option: str

    __repr__ = short_repr("signature", "option", of_text=redact)


@frozen
class Escalate(_NoKey):
    """Tell a person; `why` is the reason against an answer by a machine, with the rule that would allow it.

    >>> Escalate("severity medium").why
    'severity medium'
    """

    why: str

    __repr__ = short_repr("why", of_text=redact)


@frozen
class Wait(_NoKey):
    """Do nothing: it passes with time.

    >>> Wait("a usage limit holds it up").why
    'a usage limit holds it up'
    """

    why: str

    __repr__ = short_repr("why", of_text=redact)


@frozen
class Restart(_NoKey):
    """The program ended and may be started again; `resumes`: it hangs, is ended first, and goes on with its session.

    >>> Restart("a shell's prompt where the program was").resumes
    False
    """

    why: str
    resumes: bool = False

    __repr__ = short_repr("why", "resumes", of_text=redact)


@frozen
class Interrupt(_NoKey):
    """An agent says that it works, and hangs: press Escape, once, which ends its turn."""

    why: str

    __repr__ = short_repr("why", of_text=redact)

    @property
    def keys(self) -> Keys:
        """What is pressed."""
        return _ESCAPE


@frozen
class Resume(_NoKey):
    """A usage limit should be free again: press the keys that are configured for it.

    >>> Resume("the limit is over").why
    'the limit is over'
    """

    why: str
    keys: Keys | None = None  # None: not looked up, or none are configured

    __repr__ = short_repr("why", "keys", of_text=redact)


@frozen
class Send(_NoKey):
    """Type this text into the agent's own empty composer, once: its turn ended, and it waits for a word."""

    text: str
    why: str

    __repr__ = short_repr("text", "why", of_text=redact)


@frozen
class Stop(_NoKey):
    """Leave the session alone from now on: a person has to look before anything more is done to it.

    >>> Stop("a rule says so").why
    'a rule says so'
    """

    why: str

    __repr__ = short_repr("why", of_text=redact)


@frozen
class Ignore(_NoKey):
    """Nothing is wrong.

    >>> Ignore()
    Ignore()
    """


Action = Press | Choose | Restart | Resume | Send | Interrupt  # the decisions that are carried out, and have an outcome
Decision = Press | Choose | Send | Interrupt | Escalate | Wait | Restart | Resume | Stop | Ignore


# --- policies ---


def _rules(values: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(values)


def _names(values: Iterable[str]) -> frozenset[str]:
    names = frozenset(values)
    if any_program := sorted(name for name in names if plain(name) in INTERPRETERS | SHELLS):
        raise ValueError(f"{any_program[0]} runs any program, so it is no agent: name the agent's own script or file")
    return names


def _folders(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


@frozen
class Policy:
    """Whether packs' own dialogs of severity low are answered, and rules, which a person wrote, that take precedence.

    The first rule that holds decides.  Under any policy: only sure verdicts, never a secret or a login.  `agents` names
    the programs that are helped, by the name of their file or by its path: if they are given, nothing is pressed at
    another one.  `trust` names folders: an agent that asks whether one of them, or a folder in it, is trusted gets its
    key, as for the folder that an operator started it in.  `patience_s`: the prompt must have stood for so long.
    Raises ValueError for an agent that is an interpreter or a shell, which run any program.

    >>> Policy("mine", rules=[Rule(do="escalate", session="tmux:prod-*")]).may_restart
    False
    """

    name: str
    dialogs: bool = False
    rules: tuple[Rule, ...] = field(default=(), converter=_rules)
    agents: frozenset[str] = field(default=frozenset(), converter=_names)
    trust: tuple[str, ...] = field(default=(), converter=_folders)
    patience_s: float = 0.0

    __repr__ = short_repr("name", "dialogs", "agents")

    def rule_for(self, verdict: Verdict | PromptFacts, scene: Scene | None = None) -> Rule | None:
        """The first rule that holds, if one does."""
        asked = PromptFacts.of(verdict)
        return next((rule for rule in self.rules if rule.holds(asked, scene, self.agents)), None)

    @property
    def patient(self) -> bool:
        """Whether a prompt must have stood for some time."""
        return self.patience_s > 0

    @property
    def presses(self) -> bool:
        """Whether it may press, type or start anything."""
        acts = (Act.PRESS, Act.SEND, Act.RESUME, Act.RESTART)
        return self.dialogs or any(rule.do in acts for rule in self.rules)

    @property
    def may_restart(self) -> bool:
        """Whether a rule starts anything again."""
        return any(rule.do is Act.RESTART for rule in self.rules)

    def decide(self, verdict: Verdict | PromptFacts, scene: Scene | None = None) -> Decision:
        """What to do about one verdict, in the scene of its look unless another one is given.  Pure; raises nothing.

        >>> from stallkit import Engine, Screen, Snapshot, judge
        >>> screen = Screen.from_text("Proceed? [y/N] ")
        >>> CAREFUL.decide(judge(Engine.default().detect(screen), Snapshot(screen=screen)))
        Escalate(why='doubtful: where the cursor stands is unknown')
        """
        asked = PromptFacts.of(verdict)
        look = verdict.snapshot if isinstance(verdict, Verdict) else None
        scene = scene or (Scene.of(look) if look else Scene())
        rule = self.rule_for(asked, scene)
        if rule is None:
            return self._without_rule(asked, scene)
        why = rule.why or f"a rule of policy {self.name}: {rule}"
        match rule.do:
            case Act.PRESS:
                return self._by_rule(asked, scene, rule)
            case Act.ESCALATE:
                return Escalate(why)
            case Act.WAIT | Act.RESUME if asked.state is State.QUOTA:
                return Wait("a usage limit holds it up" if rule.do is Act.RESUME else why)
            case Act.RESUME:
                return Escalate(f"{why}; but it is {asked.state}: no limit holds it up")
            case Act.WAIT:
                return Wait(why)
            case Act.STOP:
                return Stop(why)
            case Act.SEND:
                return self._send(asked, scene, rule.text, why)
            case Act.RESTART if asked.state in (State.ENDED, State.GONE) and asked.certainty is Certainty.SURE:
                if asked.ended is AfterExit.WRAPPED:
                    return Escalate("its agent ended, and what started it lives on: it may start it again")
                return Restart(why)
            case Act.RESTART:
                return Escalate(f"{why}; but it may not have ended, so nothing is restarted")
        return Ignore()

    def resumes(self, verdict: Verdict | PromptFacts, scene: Scene | None = None) -> bool:
        """Whether a rule presses keys once the usage limit is over that holds the session up."""
        rule = self.rule_for(verdict, scene)
        return rule is not None and rule.do is Act.RESUME

    def _without_rule(self, asked: PromptFacts, scene: Scene) -> Decision:
        match asked.state:
            case State.WORKING | State.IDLE:
                return Ignore()
            case State.QUOTA:
                return Wait("a usage limit holds it up")
            case State.ENDED if asked.ended is AfterExit.WRAPPED:
                return Escalate("its agent ended, and what started it lives on: it may start it again")
            case State.ENDED | State.GONE | State.UNKNOWN:
                return Escalate(f"the session is {asked.state}")
        doubt = _doubt(asked) or self._not_its_own(asked, scene) or self._hands_off(asked, scene)
        if doubt is not None:
            return Escalate(doubt)
        assert asked.signature is not None  # else it is doubtful
        if asked.kind is Kind.TRUST:
            return self._trusting(asked, scene)
        return Press(asked.signature, asked.keys)

    def _not_its_own(self, asked: PromptFacts, scene: Scene) -> str | None:
        """Why it is no dialog of a pack's own that the profile answers; or None."""
        pack, signature = asked.pack, asked.signature
        if pack is None or signature is None:
            return "no signature says what is asked"
        if asked.kind in NEVER_PRESSED or signature.kind in NEVER_PRESSED:
            return f"a machine never answers a {asked.kind}" + _by_name(asked, scene)
        if not self.dialogs:
            return f"policy {self.name} leaves it to a person" + _by_name(asked, scene)
        if not pack.own:
            return "any program may show this prompt" + _by_name(asked, scene)
        if asked.kind is not Kind.TRUST:
            if signature.severity is not Severity.LOW:
                return f"severity {signature.severity}: it is left to a person" + _by_name(asked, scene)
            if asked.keys is None:
                return "no safe answer is known"
        if asked.ambiguity is not None:
            return asked.ambiguity
        if not scene.agents(asked, pack.own):
            return f"that {' or '.join(sorted(pack.own))} reads the terminal is not proven{_who_reads(scene)}"
        return None

    def _trusting(self, asked: PromptFacts, scene: Scene) -> Decision:
        """The key for a folder that an operator named."""
        named = (*self.trust, *([scene.started_in] if scene.started_in else ()))
        if doubt := asked.untrusted(named, scene.cwd):
            return Escalate(doubt)
        assert asked.signature is not None
        if asked.keys is not None:
            return Press(asked.signature, asked.keys)
        if asked.hides:
            return Escalate(_HIDES)
        trusts = [one for one in asked.options if one.role is Role.ONCE]
        if len(trusts) != 1:
            return Escalate("which of its options trusts the folder is not known")
        return Choose(asked.signature, trusts[0].text)

    def _by_rule(self, asked: PromptFacts, scene: Scene, rule: Rule) -> Decision:
        """The key that a rule names; a person wrote it, so what is asked in these words is not judged again."""
        if asked.state is not State.WAITING:
            return Escalate(f"it is {asked.state}: nothing waits for a key")
        doubt = _doubt(asked) or self._hands_off(asked, scene)
        if doubt is not None:
            return Escalate(doubt)
        signature = asked.signature
        if signature is None:
            return Escalate("no signature says what is asked")
        if rule.request:
            return self._allowed_once(asked, rule)
        if asked.kind is Kind.TRUST:
            return self._trusting(asked, scene)
        if rule.option and asked.hides:
            return Escalate(_HIDES)
        if rule.option:
            label = rule.chosen(asked)
            return Choose(signature, label) if label else Escalate("it does not show the option that the rule names")
        if asked.kind in NEVER_PRESSED or signature.severity is Severity.HIGH:
            what = f"a {asked.kind} of severity {signature.severity}"
            return Escalate(f"{what} is answered only by a rule that names its option")
        if asked.ambiguity is not None:
            return Escalate(asked.ambiguity)
        if asked.keys is None:
            affirms = signature.dismissal is not None
            return Escalate("which key says yes cannot be read from it" if affirms else "no safe answer is known")
        return Press(signature, asked.keys)

    def _allowed_once(self, asked: PromptFacts, rule: Rule) -> Decision:
        """Enter at the dialog's own option for this once, if the rule names everything that it asks for."""
        request, signature = asked.request, asked.signature
        if not (request and signature and asked.pack and asked.pack.foreground):
            return Escalate("it is no program's own dialog that was wholly recognised")
        if asked.kind is not Kind.PERMISSION:
            return Escalate(f"a rule on requests answers permissions, not a {asked.kind}")
        if (name := request.unnamed(list(rule.request))) is not None:
            return Escalate(f"the rule does not say which {name} it allows")
        if request.once is None:
            return Escalate("which of its options allows it once is not known")
        return Press(signature, _ENTER) if request.once.selected else Choose(signature, request.once.text)

    def _send(self, asked: PromptFacts, scene: Scene, text: str, why: str) -> Decision:
        """Text for a composer: `stallkit.press.send` types it only if that is surely the agent's own, and empty."""
        if asked.state is not State.IDLE:
            return Escalate(f"{why}; but it is {asked.state}: no composer waits for a text")
        if asked.certainty is not Certainty.SURE:
            return Escalate("doubtful: " + "; ".join(asked.reasons[1:]))
        if asked.signature is None or asked.signature.composer is None:
            return Escalate(f"{why}; but where a text stands in its composer is not known, so none is typed")
        hands_off = self._hands_off(asked, scene)
        return Escalate(hands_off) if hands_off else Send(text, why)

    def _hands_off(self, asked: PromptFacts, scene: Scene) -> str | None:
        if not self.agents or scene.agents(asked, self.agents):
            return None
        return f"hands off: none of {', '.join(sorted(self.agents))} reads the terminal{_who_reads(scene)}"


def _doubt(asked: PromptFacts) -> str | None:
    """Why a machine presses nothing here under any policy; or None."""
    if asked.state is not State.WAITING:
        return f"it is {asked.state}: nothing waits for a key"
    if asked.kind in NEVER_ANSWERED or (asked.signature and asked.signature.kind in NEVER_ANSWERED):
        return f"a machine never answers a {asked.kind}"
    if asked.certainty is not Certainty.SURE:
        return "doubtful: " + "; ".join(asked.reasons[1:])
    return None


def _by_name(asked: PromptFacts, scene: Scene) -> str:
    """How a person could allow it, in words."""
    by_signature = asked.keys is not None and asked.severity is not Severity.HIGH
    if not (by_signature or asked.labels):
        return ", and no rule can allow it: no safe answer is known"
    if scene.session.partition(":")[0] in _OURS_ALONE:
        return f'; to allow it: a rule with signature = "{asked.name}"'
    return f"; to allow it: stallkit policy allow {scene.session}" if scene.session else ""


def _who_reads(scene: Scene) -> str:
    """Which files the processes run that read, in words."""
    readers = scene.kernel.readers if scene.kernel else None
    if not readers:
        return ": which process reads is unknown"
    return f": it is {', '.join(sorted({one.path or one.called or one.name for one in readers}))}"


_ENTER = Keys.parse("Enter")
_OURS_ALONE = frozenset({"memory", "pexpect", "pty", "stream"})  # no other process can look at such a session
_HIDES = "a row of it has characters that show nothing: a label may be another one than it seems"
CAREFUL = Policy("careful", dialogs=True)
OBSERVE = Policy("observe")
