"""The rules of a policy: conditions on what is asked and where, and an act.  Pure."""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Iterable, Mapping

from attrs import field, fields, frozen

from stallkit.core.ended_turn import How
from stallkit.core.request import Request
from stallkit.core.signature import Kind, Severity, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.press.asked import Asked

__all__ = ["CONDITIONS", "WORDS", "Act", "Rule", "Scene"]


class Act(StrEnum):
    """What a rule of a policy may ask for."""

    PRESS = "press"
    ESCALATE = "escalate"
    WAIT = "wait"
    RESTART = "restart"
    SEND = "send"
    STOP = "stop"
    IGNORE = "ignore"


@frozen
class Scene:
    """Where a verdict holds: the session's name, the foreground process, and the folder that an operator named.

    None is unknown.
    """

    session: str = ""
    foreground: str | None = None
    started_in: str | None = None
    present: frozenset[str] = frozenset()  # the programs in the foreground, by name: a loop or npm may have started it

    @classmethod
    def of(cls, snapshot: Snapshot) -> Scene:
        """The scene of a look."""
        members = snapshot.kernel.members if snapshot.kernel else ()
        present = frozenset(name for one in members if not one.ended for name in one.names)
        return cls(snapshot.target, snapshot.foreground, snapshot.started_in, present)


def _several(given: Iterable[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _patterns(given: Mapping[str, Iterable[str] | str]) -> dict[str, tuple[str, ...]]:
    return {name: _several(patterns) for name, patterns in given.items()}


WORDS: dict[str, tuple[str, ...]] = {
    "state": tuple(State),
    "kind": tuple(Kind),
    "severity": tuple(Severity),
    "turn": tuple(How),
}


@frozen(kw_only=True)
class Rule:
    """A condition and an act; a condition left out always holds, and one of several values is enough.

    Values are shell patterns: ``signature = "claude_code:*"``, ``session = "tmux:work-*"``.  An unknown fact matches
    nothing.  `turn` is how an agent's turn ended (``asks``, ``failed``, ``done``), `error` the class of its failure,
    `message` its last one; `text` is what ``do = "send"`` types into its composer.  `request` are patterns for the
    fields of a dialog that asks to be allowed something (``command``, ``path``, ``tool``); where one of the patterns in
    `never` fits any of its texts, or the message, the rule does not hold.  Raises ValueError for an unknown state,
    kind, severity or turn, and for a text without ``do = "send"`` or the other way round.

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
    turn: tuple[str, ...] = field(default=(), converter=_several)
    error: tuple[str, ...] = field(default=(), converter=_several)
    message: tuple[str, ...] = field(default=(), converter=_several)
    request: Mapping[str, tuple[str, ...]] = field(factory=dict, converter=_patterns, hash=False)
    never: tuple[str, ...] = field(default=(), converter=_several)
    text: str = ""

    def __attrs_post_init__(self) -> None:
        for name, words in WORDS.items():  # a rule with an unknown word would never apply
            for pattern in getattr(self, name):
                if not any(fnmatchcase(word, pattern) for word in words):
                    raise ValueError(f"{name} is one of {', '.join(words)}, not {pattern!r}")
        if (self.do is Act.SEND) != bool(self.text.strip()):
            raise ValueError('do = "send" and its text belong together: the rule has one of them')
        if not self.text.isprintable():
            raise ValueError("text is one line, without control characters")

    def holds(self, verdict: Verdict | Asked, scene: Scene | None = None) -> bool:
        """Whether the rule applies to this verdict in this session; without a scene, both of its facts are unknown."""
        asked = Asked.of(verdict)
        facts: dict[str, str | None] = {
            "state": asked.state,
            "kind": asked.kind,
            "severity": asked.severity,
            "signature": asked.name,
            "session": scene.session if scene else None,
            "foreground": scene.foreground if scene else None,
            "turn": asked.turn.how if asked.turn else None,
            "error": asked.turn.error if asked.turn else None,
            "message": asked.turn.message if asked.turn else None,
        }
        if asked.turn and any(fnmatchcase(asked.turn.message.casefold(), one.casefold()) for one in self.never):
            return False
        return all(_one_of(facts[name], getattr(self, name)) for name in CONDITIONS) and self._asks(asked.request)

    def _asks(self, request: Request | None) -> bool:
        if not self.request and (not self.never or self.do is Act.SEND):
            return True
        if request is None or request.mentions(self.never):
            return False
        return all(request.fits(name, patterns) for name, patterns in self.request.items())

    def __str__(self) -> str:
        conditions = [f"{name} {' or '.join(given)}" for name in CONDITIONS if (given := getattr(self, name))]
        conditions += [f"request.{name} {' or '.join(given)}" for name, given in self.request.items()]
        conditions += [f"never {' or '.join(self.never)}"] if self.never else []
        act = f"{self.do} {self.text!r}" if self.text else str(self.do)
        return f"{act} where {', '.join(conditions)}" if conditions else f"{act} always"


CONDITIONS = tuple(name.name for name in fields(Rule) if name.name not in ("do", "why", "text", "request", "never"))


def _one_of(fact: str | None, patterns: tuple[str, ...]) -> bool:
    return not patterns or (fact is not None and any(fnmatchcase(fact, pattern) for pattern in patterns))
