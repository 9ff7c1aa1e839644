"""What a prompt looks like, as values: clauses, signatures, packs and their terms; and what an agent asks for."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections import Counter
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, Iterable, Mapping, Never, Sequence

from attrs import evolve, field, frozen
from attrs.converters import optional
from attrs.validators import ge, instance_of, le

from stallkit.detect.agent import Agent
from stallkit.detect.composer import Composer
from stallkit.detect.dialog import Dialog, FieldSpec, FieldType, Role
from stallkit.detect.dialog_parser import Option
from stallkit.detect.layout import PARTS
from stallkit.detect.pattern import ASIDE, begun, ended, folded, needs, searched, texts
from stallkit.errors import DuplicateSignature, SignatureError
from stallkit.short_repr import short_repr
from stallkit.terminal.keys import Keys
from stallkit.word_tables import INTERPRETERS, SHELLS

UNVERSIONED = "0"  # until the registry knows which distribution a pack comes from
API = 2  # of packs: increased when an older stallkit could misread a newer pack


class State(StrEnum):
    """What a session is doing.

    >>> from stallkit import Engine
    >>> Engine.default().detect("Proceed? [y/N] ").match.signature.state
    <State.WAITING: 'waiting'>
    """

    WORKING = "working"
    WAITING = "waiting"  # for a key, at a prompt
    IDLE = "idle"  # an agent that ended its turn, at its own composer
    QUOTA = "quota"  # held up by a usage limit, which passes with time; no key helps
    ENDED = "ended"  # a shell's prompt where a program was
    GONE = "gone"  # the session itself has ended
    UNKNOWN = "unknown"


class Kind(StrEnum):
    """What a waiting session asks for.

    >>> from stallkit import Engine
    >>> Engine.default().detect("Proceed? [y/N] ").match.signature.kind
    <Kind.CONFIRM: 'confirm'>
    """

    CONFIRM = "confirm"
    SELECT = "select"
    MULTISELECT = "multiselect"
    TEXT = "text"
    SECRET = "secret"
    PRESS_KEY = "press_key"
    PAGER = "pager"
    EDITOR = "editor"
    REPL_PROMPT = "repl_prompt"
    PERMISSION = "permission"
    TRUST = "trust"
    LOGIN = "login"
    QUESTION = "question"
    PLAN_APPROVAL = "plan_approval"
    TUI = "tui"


NEVER_ANSWERED = frozenset({Kind.SECRET, Kind.LOGIN})  # by a machine, under any policy (docs/safety.md)
# These ask in free text (a command, a plan, a question), which no signature can know to be harmless: they have no keys.
# A rule may name the option, or the command, that is allowed.
NEVER_PRESSED = NEVER_ANSWERED | {Kind.PERMISSION, Kind.PLAN_APPROVAL, Kind.QUESTION}


class Severity(StrEnum):
    """What a wrong answer could cost: `low` may be dismissed, `medium` by a rule that names it, `high` by a person.

    >>> Severity("low") is Severity.LOW
    True
    """

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Certainty(StrEnum):
    """How far a verdict can be relied on; `maybe` never leads to a key press.

    >>> Certainty("maybe") is Certainty.MAYBE
    True
    """

    SURE = "sure"
    MAYBE = "maybe"


class CursorState(StrEnum):
    """What a signature requires of the cursor: many full-screen programs hide it in a dialog and show it otherwise."""

    ANY = "any"
    HIDDEN = "hidden"
    VISIBLE = "visible"
    SEEN = "seen"  # known to be visible: only then is it known that the text left of it was typed or proposed


class Expect(StrEnum):
    """What a dismissal must lead to: the prompt `gone`, or at least the screen `changed`."""

    GONE = "gone"
    CHANGED = "changed"


class Tier(IntEnum):
    """The first key of the order of trial, above any priority.

    With the agents' states ordered by pack priority alone, precision on real screens halves.
    """

    ENDED = 0
    DIALOG = 1
    QUOTA = 2
    WORKING = 3
    COMPOSER = 4
    PROMPT_LINE = 5
    MAYBE = 6


_TIER_OF_STATE = {
    State.ENDED: Tier.ENDED,
    State.QUOTA: Tier.QUOTA,
    State.WORKING: Tier.WORKING,
    State.IDLE: Tier.COMPOSER,
}
_REGION = re.compile(
    rf"screen|(?:tail|down_to_cursor)\([1-9]\d{{0,2}}\)|block|paragraph|prompt_line|above|title|{'|'.join(PARTS)}"
)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


def _tier(value: Tier | str | None) -> Tier | None:
    if value is None or isinstance(value, Tier):
        return value
    if value.upper() not in Tier.__members__:
        raise ValueError(f"{value!r} is not a valid Tier")
    return Tier[value.upper()]


def _strings(values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise TypeError(f"a list of texts, not the text {values!r}")
    return tuple(values)


@frozen(cache_hash=True)  # it is a key of what was found
class Clause:
    """One condition: a literal or a pattern that must be found in a region of the screen.

    A literal that ends in a blank also holds at the end of a line, since captures trim blanks.  A pattern is matched
    line by line (``^`` and ``$`` match at line ends), by `regex`.  Regions are
    ``screen``, ``tail(n)``, ``block`` (the rows around the selected one), ``prompt_line`` (up to the cursor),
    ``above`` it, ``paragraph`` (the rows around it), ``down_to_cursor(n)`` (the last rows down to the cursor; none
    if it is unknown), and ``title``.

    `keywords` are texts, in any case, of which the region must have one; `begins` and `ends` the characters, blanks
    aside, of which the prompt line must begin and end with one.  They save the search if they are not there, and are
    a condition like the pattern; where none are given they are derived from it (`needs`).  Raises ValueError.

    >>> from stallkit import Engine, Pack, Signature
    >>> asks = Clause(pattern=r"^Deploy to \\S+\\? *$", where="prompt_line")
    >>> signature = Signature(id="asks", title="asks", state="waiting", kind="confirm", all_of=[asks])
    >>> Engine([Pack("acme", signatures=[signature])]).detect("Deploy to staging? ").match.line
    'Deploy to staging?'
    """

    text: str | None = None
    pattern: str | None = None
    where: str = "screen"
    ignore_case: bool = False
    keywords: tuple[str, ...] = field(default=(), converter=_strings)
    begins: str = ""
    ends: str = ""
    needs: tuple[frozenset[str], ...] = field(init=False, eq=False)  # sets of which it needs one each

    __repr__ = short_repr("text", "pattern", "where")

    def __attrs_post_init__(self) -> None:
        if (self.text is None) == (self.pattern is None):
            raise ValueError("a clause has either a text or a pattern")
        if not self.source.strip(" "):
            raise ValueError("a clause of nothing but blanks holds on every screen")
        if not _REGION.fullmatch(self.where):
            raise ValueError(
                f"unknown region {self.where!r}: screen, tail(n), block, paragraph, prompt_line, above,"
                f" down_to_cursor(n), title, {', '.join(PARTS)} are known"
            )
        if self.pattern is None and (self.keywords or self.begins or self.ends):
            raise ValueError("keywords, begins and ends are a pattern's: a text is its own keyword")
        if bad := next((one for one in self.keywords if not one.strip() or "\n" in one), None):
            raise ValueError(f"{bad!r} is no keyword: it is a text on one line, of more than blanks")
        if (self.begins or self.ends) and self.where != "prompt_line":
            raise ValueError("begins and ends are of the prompt line: leave them out, or look at it")
        if set(ASIDE).intersection(self.begins + self.ends):
            raise ValueError("begins and ends are characters other than blanks and the sides of boxes")
        given = filter(None, (frozenset(map(folded, self.keywords)), begun(self.begins), ended(self.ends)))
        object.__setattr__(self, "needs", (*given, *needs(self.text, self.pattern)))

    def admits(self, text: str) -> bool:
        """Whether a region's text has what the author says that the clause needs."""
        given = self.needs[: bool(self.keywords) + bool(self.begins) + bool(self.ends)]
        shown = searched(text) if given else ""
        return all(any(keyword in shown for keyword in some) for some in given)

    @property
    def source(self) -> str:
        """The literal or the pattern, as written."""
        return self.text if self.text is not None else self.pattern or ""

    @property
    def texts(self) -> list[frozenset[str]]:
        """Sets of texts, as they are written, of which it needs one each."""
        return texts(self.text, self.pattern)

    def __str__(self) -> str:
        kind = "text" if self.text is not None else "pattern"
        case = ", any case" if self.ignore_case else ""
        source = " ".join(self.source.split()) if "(?x)" in self.source else self.source
        return f"{kind} {source!r} in {self.where}{case}"


def _keys(value: Keys | str) -> Keys:
    return Keys.parse(value)


@frozen
class Dismissal:
    """How a prompt can be answered safely: which keys, why that is safe, and what must be seen afterwards.

    The program has `verify_timeout_s` seconds (0 to 60) to show it.  `affirmative`: the first of the keys stands for
    the word or letter that says yes at the prompt, as the prompt itself spells it.  Raises ValueError for an unknown
    key.

    >>> str(Dismissal("q", because="it only leaves the pager").keys)
    'q'
    """

    keys: Keys = field(converter=_keys)
    because: str = ""
    expect: Expect = field(default=Expect.GONE, converter=Expect)
    verify_timeout_s: float = field(default=2.0, validator=[ge(0), le(60)])  # waiting longer is itself a stall
    affirmative: bool = False

    __repr__ = short_repr("keys", "because")


def _clauses(values: Iterable[Clause | str]) -> tuple[Clause, ...]:
    if isinstance(values, str):
        raise TypeError(f"clauses are a list, not the text {values!r}")
    return tuple(Clause(text=value) if isinstance(value, str) else value for value in values)


def _states(values: Iterable[State | str]) -> frozenset[State]:
    return frozenset(map(State, values))


def _dialogs(value: Dialog | Iterable[Dialog] | None) -> tuple[Dialog, ...]:
    return () if value is None else (value,) if isinstance(value, Dialog) else tuple(value)


@frozen
class Signature:
    """One prompt, or one other state, by what is on the screen: all of `all_of` and none of `none_of`.

    A waiting match with a working or idle one wholly below it is stale and does not count; `allow_below` names the
    states that a program really draws below its dialog.  `dialogs` describe the whole of what it answers, in each of
    its forms; without one no machine presses, whatever `dismissal` says.  What a machine may dismiss comes first in
    its tier, so that nothing broader shadows it; `first_because` gives the reason where another signature comes first.
    A `preview` is reported and never sure, so that nothing is pressed at it: it was not measured yet.

    Raises SignatureError if the parts contradict each other.

    >>> Signature(id="asks", title="asks", state="waiting", kind="confirm", all_of=["Go on?"]).tier
    <Tier.DIALOG: 1>
    """

    id: str
    title: str
    state: State = field(converter=State)
    all_of: tuple[Clause, ...] = field(converter=_clauses)
    kind: Kind | None = field(default=None, converter=optional(Kind))
    severity: Severity = field(default=Severity.HIGH, converter=Severity)
    none_of: tuple[Clause, ...] = field(default=(), converter=_clauses)
    cursor: CursorState = field(default=CursorState.ANY, converter=CursorState)
    certainty: Certainty = field(default=Certainty.SURE, converter=Certainty)
    preview: bool = False
    dismissal: Dismissal | None = None
    dialogs: tuple[Dialog, ...] = field(default=(), converter=_dialogs, alias="dialog")
    composer: Composer | None = None
    allow_below: frozenset[State] = field(default=frozenset(), converter=_states)
    given_tier: Tier | None = field(default=None, converter=_tier, alias="tier")
    first_because: str = ""
    hits: tuple[str, ...] = field(default=(), converter=_strings)
    misses: tuple[str, ...] = field(default=(), converter=_strings)
    source: str = ""

    __repr__ = short_repr("id", "state", "kind", "severity")

    def __attrs_post_init__(self) -> None:
        waits = self.state is State.WAITING
        if not _NAME.fullmatch(self.id):
            self._refuse("id", "not a name of lower-case letters, digits and _")
        if not self.all_of:
            self._refuse("all_of", "no clause: it would match every screen")
        if self.state in (State.GONE, State.UNKNOWN):
            self._refuse("state", f"{self.state} is not seen on a screen")
        if self.kind is not None and not waits:
            self._refuse("kind", f"a session that is {self.state} asks for nothing")
        if self.dismissal is not None and (not waits or self.kind in NEVER_PRESSED):
            self._refuse("dismissal", f"a machine never answers {self.kind or self.state}")
        for undecided in filter(None, (dialog.undecided_by for dialog in self.dialogs if self.dismissal)):
            self._refuse("dialog", f"field {undecided} may say anything: what it shows is not answered by a pack")
        if self.composer is not None and self.state is not State.IDLE:
            self._refuse("composer", f"text is typed into an idle agent, not one that is {self.state}")

    def _refuse(self, part: str, why: str) -> Never:
        raise SignatureError(self.id, part, why)

    @property
    def tier(self) -> Tier:
        """Its place in the order of trial: as given, else from its state and its regions."""
        if self.given_tier is not None:
            return self.given_tier
        if self.certainty is Certainty.MAYBE:
            return Tier.MAYBE
        if self.state is State.WAITING:
            return Tier.PROMPT_LINE if self.at_cursor else Tier.DIALOG
        return _TIER_OF_STATE[self.state]

    @property
    def at_cursor(self) -> bool:
        """Whether it looks at the cursor's line."""
        return any(clause.where == "prompt_line" for clause in self.all_of)


def _signatures(values: Iterable[Signature]) -> tuple[Signature, ...]:
    return tuple(values)


def _names(values: Iterable[str]) -> frozenset[str]:
    return frozenset(values)


def _agents(values: Iterable[Agent]) -> tuple[Agent, ...]:
    return tuple(values)


def _patterns(values: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(patterns) for name, patterns in values.items()}


@frozen
class Pack:
    """Signatures that are shipped together, in order of trial.

    `priority` (usually 50; lower is earlier) orders packs within a tier; packs that name their programs (`foreground`:
    process names) come before generic ones.  `general`: its signatures are forms that programs share, and say less than
    one of the program's own.  `executables` are, by the name of a program, shell patterns for the path of the file that
    it runs; a program without one runs a file of its own name.  `agents` (`with_agents`) is what is known of its
    programs beside their screens.  Raises DuplicateSignature for an id that occurs twice.

    >>> Pack("acme", signatures=[Signature(id="done", title="done", state="ended", all_of=["bye"])]).name
    'acme'
    """

    name: str
    version: str = UNVERSIONED
    signatures: tuple[Signature, ...] = field(default=(), converter=_signatures)
    api: int = API
    priority: int = field(default=50, validator=instance_of(int))
    foreground: frozenset[str] = field(default=frozenset(), converter=_names)
    distribution: str = ""
    general: bool = field(default=False, validator=instance_of(bool))
    executables: Mapping[str, tuple[str, ...]] = field(factory=dict, converter=_patterns, hash=False)
    agents: tuple[Agent, ...] = field(default=(), converter=_agents)

    __repr__ = short_repr("name", "version")

    def __attrs_post_init__(self) -> None:
        ids = Counter(signature.id for signature in self.signatures)
        for twice in (id for id, times in ids.items() if times > 1):
            raise DuplicateSignature(twice, f"pack {self.name}")

    @property
    def own(self) -> frozenset[str]:
        """The programs that it names, without interpreters and shells, which run any program."""
        return self.foreground - INTERPRETERS - SHELLS

    def with_agents(self, agents: Iterable[Agent]) -> Pack:
        """The pack that knows these programs as well; their processes join its `foreground` and `executables`."""
        known = tuple(agents)
        executables = {one.name: one.process.executables for one in known if one.process.executables}
        names = self.foreground.union(*(one.process.names for one in known))
        return evolve(self, agents=known, foreground=names, executables={**self.executables, **executables})

    def order(self, signature: Signature) -> tuple[Any, ...]:
        """The sort key of one of its signatures; equal ones keep their order in the file."""
        return (signature.tier, not self.foreground, self.priority, self.distribution, self.name)


# --- what an agent asks to be allowed ---

# What a shell acts on: lists, pipes, jobs, redirections, substitutions, groups, history, comments, escapes, file name
# patterns, braces, a home directory, and what is cut off.  Quoted or not: a doubt is no match.
_ACTIVE = re.compile(r"[;&|<>$`(){}!#\\*?\[\]~…\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


def simple_command(text: str) -> str | None:
    """The command with its words quoted as the shell needs it; None if it is not one simple command.

    None as well for a command that sets a variable for itself, for one with letters that cannot be printed, and for one
    that is cut off.

    >>> simple_command("git   status -s")
    'git status -s'
    >>> simple_command("grep 'a b' notes.txt")
    "grep 'a b' notes.txt"
    >>> simple_command("git status; rm -rf ~") is None
    True
    """
    if not text.strip() or not text.isprintable() or _ACTIVE.search(text) or "..." in text:
        return None
    try:
        words = shlex.split(text)
    except ValueError:  # a quote is not closed
        return None
    if not words or not words[0] or _ASSIGNMENT.match(words[0]):
        return None
    return shlex.join(words)


CLOSED = frozenset({FieldType.CHOICE, FieldType.NUMBER})


@frozen
class Request:
    """The fields of a dialog that was wholly recognised, such as ``command``, ``path``, ``tool``, and its options.

    The texts are the screen's own, not redacted; events and JSON hold them redacted.
    """

    fields: Mapping[str, str] = field(hash=False)
    specs: Mapping[str, FieldSpec] = field(repr=False, hash=False)
    options: tuple[Option, ...] = ()

    def fits(self, name: str, patterns: Sequence[str]) -> bool:
        """Whether the field is there and one of the shell patterns fits it.

        A command fits only as one simple command, a path without ``..`` in it and in each of its `paths`, and nothing
        that is cut off.
        """
        values = self._plain(name)
        return bool(values) and all(any(fnmatchcase(value, pattern) for pattern in patterns) for value in values)

    def mentions(self, patterns: Sequence[str]) -> bool:
        """Whether one of the shell patterns fits any field, as written or as a shell reads it, in any letter case."""
        texts = [*self.fields.values(), *(option.text for option in self.options)]
        texts += [path for name in self.fields for path in self.paths(name)]
        texts += [command for text in self.fields.values() if (command := simple_command(text))]
        values = [text.casefold() for text in texts]
        return any(fnmatchcase(value, pattern.casefold()) for value in values for pattern in patterns)

    def paths(self, name: str) -> tuple[str, ...]:
        """What a path may be; empty for another field.  If it is broken over rows, a blank may have stood there."""
        value = self.fields.get(name, "")
        if not value or self.specs[name].type is not FieldType.PATH:
            return ()
        first, *more = value.split("\n")
        return tuple(first + "".join(parts) for parts in product(*((row, f" {row}") for row in more)))

    def unnamed(self, names: Sequence[str]) -> str | None:
        """A field that may say anything and is not among these names; or None.

        A word or a path may decide what its own pack presses, and may still be any.
        """
        for name, value in self.fields.items():
            spec = self.specs[name]
            if value and spec.type not in CLOSED and not spec.aside and name not in names:
                return name
        return None

    @property
    def once(self) -> Option | None:
        """The option that allows it this once; None if there is not exactly one."""
        found = [option for option in self.options if option.role is Role.ONCE]
        return found[0] if len(found) == 1 else None

    def _plain(self, name: str) -> tuple[str, ...]:
        """The field as a rule may name it, in each way to read it; empty if no rule may."""
        value = self.fields.get(name, "")
        if not value or "…" in value:
            return ()
        values: tuple[str, ...] = (value,)
        match self.specs[name].type:
            case FieldType.COMMAND:
                command = simple_command(value)
                values = (command,) if command else ()
            case FieldType.PATH:
                values = self.paths(name)
                if any(".." in one.split("/") or posixpath.normpath(one) != one.rstrip("/") for one in values):
                    return ()  # it leads elsewhere than down
        return values if all(map(str.isprintable, values)) else ()
