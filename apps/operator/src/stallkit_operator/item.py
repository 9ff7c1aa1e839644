"""One thing that a person has to answer, and its legal changes, as values.  Pure.

It is open (`input_required`, `auth_required`) until it is over, once and for good.  An answer to a prompt is claimed
before a key is pressed, so that of two people only the first one presses.  Times are seconds of the wall clock.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Self

from attrs import evolve, field, frozen
from stallkit_supervisor.notification import ClearedBy, ending
from stallkit_supervisor.notify.notice import in_a_line, question_first

from stallkit.errors import StallkitError
from stallkit.json_form import Time, alike, json_form

MOST_BYTES = 1_000_000  # of the words of one item, to which an agent may append


class NotOpen(StallkitError):
    """It cannot be answered, or no longer: `item` says how it ended, if it did."""

    def __init__(self, item: Item, why: str, todo: str = "see: stallkit stuck list --all") -> None:
        self.item = item
        super().__init__("not answered", f"item {item.id}", why, todo)


class NotAsShown(NotOpen):
    """It is open, but not as it was shown to the person who answers, or it was never shown to them."""

    def __init__(self, item: Item, seen: int) -> None:
        why = "it is not as it was shown to you" if seen else "it was not shown to you here"
        super().__init__(item, why, "nothing was done")


class Source(StrEnum):
    """Who asks."""

    AGENT = "agent"  # by a notice of its own
    PROMPT = "prompt"  # a session, as a supervisor saw it
    ASKPASS = "askpass"  # git, ssh or sudo inside an agent's work


class Category(StrEnum):
    """What blocks the agent of a notice, as the operator judges it; the agent has no say in it."""

    CREDENTIAL = "credential"  # the credential proxy: edit its routes
    EGRESS = "egress"  # the egress proxy: edit its hosts
    CAPABILITY = "capability"  # the sandbox lacks something: another manifest


class ItemState(StrEnum):
    """How far it is; the words of the agent-to-agent protocol's tasks, if it has them."""

    INPUT_REQUIRED = "input_required"
    AUTH_REQUIRED = "auth_required"  # a secret or a login: never answered through the queue
    ANSWERED = "answered"
    DECLINED = "declined"
    CANCELLED = "cancelled"  # it was answered elsewhere, or went away
    EXPIRED = "expired"


OPEN = frozenset({ItemState.INPUT_REQUIRED, ItemState.AUTH_REQUIRED})


class ChoiceKind(StrEnum):
    """What choosing it means, if that is known."""

    ALLOW_ONCE = "allow_once"
    ALLOW_ALWAYS = "allow_always"
    REJECT_ONCE = "reject_once"
    REJECT_ALWAYS = "reject_always"
    TEXT = "text"  # any text


class Delivery(StrEnum):
    """How the reply to a notice gets to its agent."""

    HELD = "held"  # somebody in the sandbox waits for it
    LATER = "later"  # a hook filed it, and nobody waits
    KEPT = "kept"  # the same, answered: to be typed into its composer, or fetched
    FETCHED = "fetched"  # a hook filed it; by now somebody waits, or has the reply
    TYPED = "typed"  # into its composer
    PERHAPS = "perhaps"  # perhaps typed: never again, but it can still be fetched


@frozen
class Choice:
    """One option: `id` is its number in the menu, from 1 on; `about` describes it."""

    id: str
    name: str
    kind: ChoiceKind | None = None
    about: str = ""
    selected: bool = False


@frozen
class Who:
    """Who answers, and through what: ``Who("ada", "command line")``."""

    name: str
    through: str


@frozen
class Claim:
    """Somebody is about to press the answer: the process that does, and its start in clock ticks since boot.

    `token` differs for each, also of one process.
    """

    who: Who
    pid: int
    started: int
    boot: str
    token: str


@frozen
class Draft:
    """What must be filed, before it has a number; `since` is when a session began to ask it, if that is known.

    `about` is the same while a session asks the same; `action` is bound to every character of it.  `identity` differs
    where the same name means another session.  `asked` is the question or command in it, if that is known,
    `questions` how many there are; `several`: more than one option may be chosen.
    """

    session: str
    source: Source
    kind: str | None
    words: str
    options: tuple[Choice, ...] = ()
    action: str = ""
    about: str = ""
    identity: str = ""
    secret: bool = False
    expires: float | None = None
    server: str | None = None  # the socket of its tmux server
    delivery: Delivery = Delivery.HELD
    since: float | None = None
    asked: str = ""
    questions: int = 1
    several: bool = False


@frozen
class Item:
    """What is asked, and what became of it."""

    id: int
    session: str  # a target, or a sandbox's name
    source: Source
    kind: str | None  # what it asks for, or is: confirm, text, ..., asks, hung; None of a notice
    words: str
    options: tuple[Choice, ...]
    action: str  # what an answer is bound to
    about: str
    identity: str = field(repr=False)
    created: float  # of a prompt: since when it is there
    expires: float | None
    state: ItemState
    by: str | None = None
    at: float | None = None
    through: str | None = None
    text: str | None = field(default=None, repr=False)  # of the answer
    claim: Claim | None = None
    server: str | None = None
    category: Category | None = None
    delivery: Delivery = Delivery.HELD
    revision: int = 1  # counts what a person is shown of it: another one whenever that changes
    told: int = 1  # how often a person was told of it, and when last
    told_at: float | None = None
    asked: str = ""  # the question or command, where that is known ...
    questions: int = 1  # ... how many there are, one after the other ...
    several: bool = False  # ... and whether more than one option may be chosen

    @property
    def line(self) -> str:
        """What is asked, on one line."""
        return in_a_line(self.asked) or question_first(self.words)

    @property
    def ref(self) -> str:
        """It, as it is shown now: what an answer can be bound to, on a command line."""
        return f"{self.id}@{self.revision}"

    @property
    def open(self) -> bool:
        """Whether it still waits for a person."""
        return self.state in OPEN

    @property
    def how(self) -> str:
        """How it ended, for people: ``by ada (command line)``, ``: gone with its session``."""
        if self.state is ItemState.CANCELLED and self.by in set(ClearedBy):
            return f": {ending(self.by)}"
        return f" by {self.by} ({self.through})" if self.by else ""

    @property
    def off_the_list(self) -> bool:
        """Whether a person took it off the list without an answer, so that its prompt may still be there."""
        return self.state is ItemState.DECLINED and self.option(self.text or "") is None

    def option(self, given: str) -> Choice | None:
        """The one option of that id, or else of that name in any letter case; ``1,3``: several, if they may be."""
        found = [one for one in self.options if one.id == given]
        found = found or [one for one in self.options if one.name.casefold() == given.casefold()]
        if found or not self.several or "," not in given:
            return found[0] if len(found) == 1 else None
        parts = given.split(",")
        named = [one for part in parts if (one := self.option(part.strip())) is not None]
        if len(named) < len(parts):
            return None
        return Choice(",".join(one.id for one in named), ", ".join(one.name for one in named))

    def choice(self, kind: ChoiceKind) -> Choice | None:
        """The option of that kind; None if there is not exactly one."""
        found = [one for one in self.options if one.kind is kind]
        return found[0] if len(found) == 1 else None

    # --- its legal changes ---

    def revised(self, before: Item) -> Self:
        """It, by a revision of its own where a person is shown something else than before."""
        return self if self._face == before._face else evolve(self, revision=before.revision + 1)

    @property
    def _face(self) -> tuple[object, ...]:
        return self.session, self.identity, self.action, self.words, self.options

    def as_shown(self, seen: int | None) -> Self:
        """It, if it is over or its revision is `seen`; None: whatever it is.  Raises NotAsShown."""
        if seen is not None and self.open and self.revision != seen:
            raise NotAsShown(self, seen)
        return self

    def closed(
        self, state: ItemState, who: Who, now: float, text: str | None = None, other_lives: bool = False
    ) -> Self:
        """The item, closed: the first answer wins.  Raises NotOpen if it is over already, or waits for a secret.

        An item that asks for a secret can only go away (cancelled, expired) or be declined.  `other_lives`: its claim
        is somebody else's, whose answer is under way.
        """
        self.check_open()
        if self.claim is not None and other_lives:
            raise NotOpen(self, f"{self.claim.who.name} is answering it now")
        if state in OPEN:
            raise ValueError(f"{state} is no end")
        if self.state is ItemState.AUTH_REQUIRED and state is ItemState.ANSWERED:
            raise NotOpen(self, "it asks for a secret or a login", "answer it at its own terminal")
        kept = state is ItemState.ANSWERED and self.delivery is Delivery.LATER
        delivery = Delivery.KEPT if kept else self.delivery
        by, through = who.name, who.through
        return evolve(self, state=state, by=by, through=through, at=now, text=text, claim=None, delivery=delivery)

    def claimed(self, claim: Claim, other_lives: bool) -> Self:
        """It, with the answer of one person under way.

        Raises NotOpen if it is over, asks for a secret, or somebody else is answering it (`other_lives`: the process
        of the claim that it has still runs).
        """
        self.check_open()
        if self.state is ItemState.AUTH_REQUIRED:
            raise NotOpen(self, "it asks for a secret or a login", "answer it at its own terminal")
        if self.claim is not None and other_lives and self.claim != claim:
            raise NotOpen(self, f"{self.claim.who.name} is answering it now")
        return evolve(self, claim=claim)

    def let_go(self, claim: Claim) -> Self:
        """It, without that claim: nothing was pressed, or it is still there."""
        return evolve(self, claim=None) if self.open and self.claim == claim else self

    def prompt_gone(self, now: float, claim_lives: bool, by: str) -> Self:
        """It, after a look that shows its prompt no more: cancelled, unless somebody's answer is under way.

        Of a claim whose process died, the answer may have been what made it go away.
        """
        if not self.open or (self.claim is not None and claim_lives):
            return self
        if self.claim is not None:
            lost = "perhaps: it ended before the outcome was seen"
            return self.closed(ItemState.ANSWERED, self.claim.who, now, lost)
        return self.closed(ItemState.CANCELLED, Who(by, "supervisor"), now)

    def awaited(self, other_lives: bool = False) -> Self:
        """It, now that somebody in its sandbox waits for the reply, which is then typed no more.

        Raises NotOpen while its reply is being typed (`other_lives`: the process of its claim still runs).
        """
        if self.delivery is Delivery.KEPT and self.claim is not None and other_lives:
            raise NotOpen(self, "its reply is being typed", "ask again")
        if self.delivery in (Delivery.LATER, Delivery.KEPT):
            return evolve(self, delivery=Delivery.FETCHED, claim=None if self.delivery is Delivery.KEPT else self.claim)
        return self

    def typing(self, claim: Claim, other_lives: bool) -> Self:
        """It, with its kept reply about to be typed by that claim; of a claim whose process died, it perhaps was.

        What is not kept, or is being typed by another, stays as it is.
        """
        if self.delivery is not Delivery.KEPT or (self.claim is not None and other_lives):
            return self
        return evolve(self, claim=claim) if self.claim is None else evolve(self, claim=None, delivery=Delivery.PERHAPS)

    def typed(self, claim: Claim, delivery: Delivery) -> Self:
        """It, after that claim's attempt: typed, perhaps, or still kept."""
        return evolve(self, claim=None, delivery=delivery) if self.claim == claim and not self.open else self

    def appended(self, words: str, delivery: Delivery = Delivery.HELD) -> Self:
        """It, with one more message of its agent.  Raises NotOpen if it is over, ValueError if it gets too long."""
        self.check_open()
        item = self if delivery is Delivery.LATER else self.awaited()
        both = f"{self.words}\n\n{words}"
        if len(both.encode("utf-8", "replace")) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES:,} bytes wait for one answer")
        return evolve(item, words=both)

    def check_open(self) -> None:
        """Raises NotOpen if it is over."""
        if not self.open:
            raise NotOpen(self, f"it is {self.state} already{self.how}")


def action_of(*parts: str) -> str:
    """A hash of fingerprint and words, for `action`.

    >>> action_of("a", "bc") == action_of("ab", "c")
    False
    """
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@json_form(Item)
@frozen
class ItemJson:
    """What a person has to answer, and what became of it."""

    id: int
    revision: int
    session: str
    kind: str | None
    words: str
    action: str
    by: str | None
    through: str | None
    text: str | None
    category: Category | None
    asked: str
    questions: int
    several: bool
    created: Time
    expires: Time | None
    at: Time | None
    source: Source
    state: ItemState
    delivery: Delivery
    options: tuple[Choice, ...]

    @classmethod
    def of(cls, item: Item) -> Self:
        return alike(cls, item, **{name: _local(getattr(item, name)) for name in ("created", "expires", "at")})


def _local(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")
