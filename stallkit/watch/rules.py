"""One rule of a policy: which verdicts in which sessions it is about, and what is to be done."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Iterable

from attrs import field, fields, frozen

from stallkit.core.signature import Kind, Severity, State
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.watch.decision import Act

__all__ = ["Rule", "Scene"]


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
