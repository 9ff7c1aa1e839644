"""The rules of a policy: conditions on what is asked and where, and an act; and both as values.  Pure."""

from __future__ import annotations

import re
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Collection, Iterable, Mapping, Sequence

from attrs import evolve, field, fields, frozen

from stallkit.detect.dialog_parser import Option
from stallkit.detect.menu import menu_of
from stallkit.detect.signature import Certainty, Kind, Pack, Request, Severity, Signature, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.snapshot import KernelFacts, Snapshot
from stallkit.evidence.turn import EndedTurn, TurnOutcome
from stallkit.judging.verdict import Verdict
from stallkit.press.reader_check import proven
from stallkit.short_repr import short_repr
from stallkit.terminal.keys import Keys


@frozen
class PromptFacts:
    """A verdict as a policy decides on it: its certainty is that of screen and kernel, without signals.

    `ambiguity` is why the prompt is not wholly recognised, None if it is.  `programs` are the agents that packs know,
    each with the patterns of its executables.
    """

    state: State
    certainty: Certainty
    kind: Kind | None
    reasons: tuple[str, ...]
    pack: Pack | None = None
    signature: Signature | None = None
    ambiguity: str | None = None
    request: Request | None = None
    line: str = ""
    labels: tuple[str, ...] = ()  # of the options, of any menu whose rows can be read
    hides: bool = False  # a row of it has characters that show nothing, so that a label may be another one
    rows: tuple[str, ...] = ()  # of the screen, if any program may show this prompt
    turn: EndedTurn | None = None
    ended: AfterExit | None = None
    programs: Mapping[str, Sequence[str]] = field(factory=dict, repr=False, hash=False)

    @classmethod
    def of(cls, verdict: Verdict | PromptFacts) -> PromptFacts:
        """What is asked by the verdict on a look."""
        if isinstance(verdict, PromptFacts):
            return verdict
        found, match = verdict.detection, verdict.match
        certainty = Certainty.SURE if verdict.sure_by_screen else Certainty.MAYBE
        known = cls(
            verdict.state,
            certainty,
            verdict.kind,
            verdict.reasons,
            turn=verdict.ended_turn,
            ended=verdict.ended,
            programs=found.executables,
        )
        if match is None:
            return known
        menu, reading = menu_of(found), found.reading
        rows = {row.row for row in reading.rows} if reading and reading.whole else set(range(len(found.screen.lines)))
        return evolve(
            known,
            pack=match.pack,
            signature=match.signature,
            ambiguity=found.ambiguity,
            request=verdict.request,
            line=match.line,
            labels=tuple(one.text for one in menu.options) if menu else (),
            hides=not found.screen.hiding.isdisjoint(rows),
            rows=() if match.pack.own else found.screen.lines,
        )

    @property
    def name(self) -> str | None:
        """``pack:signature``, None if no signature matched."""
        return f"{self.pack.name}:{self.signature.id}" if self.pack and self.signature else None

    @property
    def severity(self) -> Severity | None:
        """What a wrong answer could cost, as the signature says it."""
        return self.signature.severity if self.signature else None

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of a dialog that was wholly recognised."""
        return self.request.options if self.request else ()

    @property
    def keys(self) -> Keys | None:
        """The keys that answer it: those of its signature, a yes as the prompt itself spells it; None if unknown."""
        dismissal = self.signature.dismissal if self.signature else None
        if dismissal is None or not dismissal.affirmative:
            return dismissal.keys if dismissal else None
        word = affirmative(self.line)
        return Keys((*Keys.typed(word).sequence, *dismissal.keys.sequence[1:])) if word else None

    def untrusted(self, trusted: Sequence[str], cwd: str | None) -> str | None:
        """Why a question whether a folder is trusted is left to a person; None if an operator named the folder.

        `trusted` are the folders that the operator named: each, and what is in it.  `cwd` is the working directory of
        the process that asks, which has to be the folder on the screen, exactly.
        """
        folders = self.request.paths("folder") if self.request else ()
        if not folders:
            return "it does not show which folder is to be trusted"
        if cwd is None or cwd not in folders:
            return f"it shows {folders[0]!r}, and runs in {cwd!r}" if cwd else "which folder it runs in is unknown"
        named = [path for one in trusted if (path := _absolute(one))]
        if any(PurePath(cwd).is_relative_to(one) for one in named):
            return None
        return f"no operator named {cwd} as trusted: add it to trust, in [policy] of the settings"


def _absolute(folder: str) -> PurePath | None:
    """The folder as an absolute path; None for one that is none, or that leads upwards."""
    try:
        path = Path(folder).expanduser()
    except RuntimeError:  # the home of an unknown user
        return None
    return path if path.is_absolute() and ".." not in path.parts else None


ANY_AGENT = "any"  # as an agent's name in a rule: each that a pack names


class Act(StrEnum):
    """What a rule of a policy may ask for."""

    PRESS = "press"
    ESCALATE = "escalate"
    WAIT = "wait"
    RESTART = "restart"
    RESUME = "resume"
    SEND = "send"
    STOP = "stop"
    IGNORE = "ignore"


@frozen
class Scene:
    """Where a verdict holds: the session's name, its programs, and the folder that an operator named.

    None is unknown.  `logged` are the agents that an event log names, of a look whose processes are not known any more.

    >>> from stallkit import MemoryTransport
    >>> Scene.of(MemoryTransport("Proceed? [y/N] ").capture()).foreground
    'script'
    """

    session: str = ""
    foreground: str | None = None
    started_in: str | None = None
    kernel: KernelFacts | None = None
    logged: frozenset[str] = frozenset()

    __repr__ = short_repr("session", "foreground", "started_in")

    @classmethod
    def of(cls, snapshot: Snapshot) -> Scene:
        """The scene of a look."""
        named = snapshot.target  # by its name alone if `stallkit start` began it, in tmux
        session = f"tmux:{named}" if named and ":" not in named else named
        return cls(session, snapshot.foreground, snapshot.started_in, snapshot.kernel)

    def agents(self, asked: PromptFacts, named: Collection[str] = ()) -> frozenset[str]:
        """The agents that read the terminal, each proven by its executable: of those `named`, else of all known."""
        programs = {name: asked.programs.get(name, ()) for name in named} if named else asked.programs
        return proven(programs, self.kernel) | (self.logged & programs.keys())

    @property
    def cwd(self) -> str | None:
        """The working directory of the process that reads; None if it is not known, or there are several."""
        readers = self.kernel.readers if self.kernel else None
        folders = {one.cwd for one in readers or ()}
        return folders.pop() if len(folders) == 1 else None


def _several(given: Iterable[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _folded(given: Iterable[str] | str) -> tuple[str, ...]:
    return tuple(one.casefold() for one in _several(given))


def _patterns(given: Mapping[str, Iterable[str] | str]) -> dict[str, tuple[str, ...]]:
    return {name: _several(patterns) for name, patterns in given.items()}


WORDS: dict[str, tuple[str, ...]] = {
    "state": tuple(State),
    "kind": tuple(Kind),
    "severity": tuple(Severity),
    "turn": tuple(TurnOutcome),
}


@frozen(kw_only=True)
class Rule:
    """A condition and an act; a condition left out always holds, and one of several values is enough.

    Values are shell patterns: ``signature = "claude_code:*"``, ``session = "tmux:work-*"``.  An unknown fact matches
    nothing.  `agent` is a program that the process itself proves to be (``any``: one that a pack names), `option` the
    label of an option, which ``do = "press"`` chooses.  `turn` is how an agent's turn ended (``asks``, ``failed``,
    ``done``), `error` the class of its failure, `message` its last one, `question` the sentence of it that asks, if all
    of the message is in sight; `text` is what ``do = "send"`` types into its composer.  `request` are patterns for the
    fields of a dialog that asks to be allowed something (``command``, ``path``, ``tool``).  The rule does not hold if a
    pattern in `never` fits any of these texts, the message, or a row of the screen below a prompt of any program.

    A rule that presses is a person's consent: it names what is pressed (`signature`, `request` or `option`) and where
    (`session` or `agent`).  Raises ValueError for one that does not, for an unknown state, kind, severity or turn, and
    for a text without ``do = "send"`` or the other way round.

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
    agent: tuple[str, ...] = field(default=(), converter=_several)
    option: tuple[str, ...] = field(default=(), converter=_several)
    foreground: tuple[str, ...] = field(default=(), converter=_several)
    turn: tuple[str, ...] = field(default=(), converter=_several)
    error: tuple[str, ...] = field(default=(), converter=_several)
    message: tuple[str, ...] = field(default=(), converter=_several)
    question: tuple[str, ...] = field(default=(), converter=_folded)
    request: Mapping[str, tuple[str, ...]] = field(factory=dict, converter=_patterns, hash=False)
    never: tuple[str, ...] = field(default=(), converter=_several)
    text: str = ""

    __repr__ = short_repr(
        "do", "state", "kind", "severity", "signature", "session", "agent", "option", "foreground", "turn", "error",
        "message", "question", "request", "never", "text", "why",
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        for name, words in WORDS.items():  # a rule with an unknown word would never apply
            for pattern in getattr(self, name):
                if not any(fnmatchcase(word, pattern) for word in words):
                    raise ValueError(f"{name} is one of {', '.join(words)}, not {pattern!r}")
        if (self.do is Act.SEND) != bool(self.text.strip()):
            raise ValueError('do = "send" and its text belong together: the rule has one of them')
        if not self.text.isprintable():
            raise ValueError("text is one line, without control characters")
        if self.do is Act.PRESS and not (self._names("signature", "option") or self._asks):
            raise ValueError(
                'a rule with do = "press" names what: add signature = "PACK:ID", option = "LABEL" or request'
            )
        if self.do in (Act.PRESS, Act.RESUME) and not self._names("session", "agent"):
            raise ValueError(f'a rule with do = "{self.do}" names where: add session = "tmux:NAME" or agent = "NAME"')

    def _names(self, *conditions: str) -> bool:
        """Whether one of these conditions is given, and no value of it is a mere wildcard."""
        given = [value for name in conditions for value in getattr(self, name)]
        return bool(given) and all(value.strip("*?:") for value in given)

    @property
    def _asks(self) -> bool:
        """Whether a field of the request is named by more than a wildcard."""
        return any(value.strip("*?:") for values in self.request.values() for value in values)

    def holds(self, verdict: Verdict | PromptFacts, scene: Scene | None = None, agents: Collection[str] = ()) -> bool:
        """Whether the rule applies to this verdict in this session; without a scene, all of its facts are unknown.

        `agents` are those that the policy helps; none: all that packs name.
        """
        asked = PromptFacts.of(verdict)
        turn = asked.turn
        facts: dict[str, str | None] = {
            "state": asked.state,
            "kind": asked.kind,
            "severity": asked.severity,
            "signature": asked.name,
            "session": scene.session or None if scene else None,
            "foreground": scene.foreground if scene else None,
            "turn": turn.how if turn else None,
            "error": turn.error if turn else None,
            "message": turn.message if turn else None,
            "question": turn.question.casefold() if turn and turn.whole else None,
        }
        return (
            all(_one_of(fact, getattr(self, name)) for name, fact in facts.items())
            and (not self.agent or self._is_by(scene.agents(asked, agents or self._named(asked)) if scene else ()))
            and (not self.option or self.chosen(asked) is not None)
            and all(asked.request is not None and asked.request.fits(*one) for one in self.request.items())
            and not self._forbids(asked)
        )

    def chosen(self, asked: PromptFacts) -> str | None:
        """The label of the one option that the rule names; None if there is not exactly one."""
        found = [label for label in asked.labels if label in self.option or _one_of(label, self.option)]
        return found[0] if len(found) == 1 else None

    def _named(self, asked: PromptFacts) -> frozenset[str]:
        """The programs that packs name, and those that the rule names itself, by the name of a file or its path."""
        return frozenset(asked.programs) | (frozenset(self.agent) - {ANY_AGENT})

    def _is_by(self, agents: Collection[str]) -> bool:
        return bool(agents) and (ANY_AGENT in self.agent or any(_one_of(name, self.agent) for name in agents))

    def _forbids(self, asked: PromptFacts) -> bool:
        texts = [*asked.rows, asked.line, *([asked.turn.message] if asked.turn else ())]
        if asked.request is not None and asked.request.mentions(self.never):
            return True
        return any(fnmatchcase(text.strip().casefold(), one.casefold()) for text in texts for one in self.never)

    def __str__(self) -> str:
        conditions = [f"{name} {' or '.join(given)}" for name in CONDITIONS if (given := getattr(self, name))]
        conditions += [f"request.{name} {' or '.join(given)}" for name, given in self.request.items()]
        conditions += [f"never {' or '.join(self.never)}"] if self.never else []
        act = f"{self.do} {self.text!r}" if self.text else str(self.do)
        return f"{act} where {', '.join(conditions)}" if conditions else f"{act} always"


CONDITIONS = tuple(name.name for name in fields(Rule) if name.name not in ("do", "why", "text", "request", "never"))


def _one_of(fact: str | None, patterns: tuple[str, ...]) -> bool:
    return not patterns or (fact is not None and any(fnmatchcase(fact, pattern) for pattern in patterns))


# --- which word or letter says yes, as the prompt itself spells it ---

# What says yes and what says no, as programs pair them.  A letter alone says nothing: in Finnish, e is no.
_YES_NO = """
    y/n yes/no j/n ja/nein ja/nej ja/nee ja/nei o/n oui/non s/n si/no sí/no sì/no sim/não sim/nao t/n tak/nie
    d/n da/ne da/nu д/н да/нет да/не так/ні т/н e/h evet/hayır k/e kyllä/ei i/n igen/nem ν/ο ναι/όχι
"""
_PAIRS = frozenset(tuple(pair.split("/")) for pair in _YES_NO.split())
_MARKED = re.compile(r"[\[(](\w)[\])](\w*)")  # [Y]es/[N]o
_CHOICE = re.compile(r"[\[(<‹]([^\[\](){}<>‹›\n]{1,40})[\])>›]|(?:^|[ ?])(\w{1,5}(?: ?[/|] ?\w{1,5})+)(?=[ ?:]*$)")
_BETWEEN = re.compile(r"\s*(?:[/|,]|\bor\b|\boder\b|\bou\b)\s*", re.IGNORECASE)


def affirmative(line: str) -> str | None:
    """The word or letter that says yes at a prompt that shows what may be typed; None if that cannot be read.

    The first and the last of the choices shown have to be a yes and a no of one language, or the only one a yes.

    >>> affirmative("Fortfahren? [j/N] "), affirmative("Is this ok [y/d/N]: "), affirmative("Продолжить? [Д/н]")
    ('j', 'y', 'д')
    >>> affirmative("Really? (yes|no) "), affirmative("[Y]es/[N]o: "), affirmative("Jatketaanko? [k/E]")
    ('yes', 'y', 'k')
    >>> affirmative("Delete? [x/z] "), affirmative("Go on? [no] ")
    (None, None)
    """
    marked = [(found[1].casefold(), found[2]) for found in _MARKED.finditer(line)]
    if len(marked) > 1 and all(rest for _, rest in marked):
        return _yes([f"{letter}{rest}".casefold() for letter, rest in marked], [letter for letter, _ in marked])
    found = [one[1] or one[2] for one in _CHOICE.finditer(line.replace("[n]", "n").replace("[y]", "y"))]
    choices = [[word.casefold() for word in _BETWEEN.split(one.strip()) if word not in ("", "?")] for one in found]
    several = [words for words in choices if len(words) > 1]
    if several:  # the nearest to the cursor
        return _yes(several[-1], several[-1])
    alone = choices[-1][0] if choices and choices[-1] else ""
    return {"y": "y", "yes": "yes", "yn": "y", "ny": "y"}.get(alone)


def _yes(words: list[str], typed: list[str]) -> str | None:
    """What is typed for yes, of these words for what may be answered."""
    if (words[0], words[-1]) in _PAIRS:
        return typed[0]
    return typed[-1] if (words[-1], words[0]) in _PAIRS else None
