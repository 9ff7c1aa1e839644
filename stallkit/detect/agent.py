"""What a pack knows of one program beside its screens: its process, its title, the words of its turns, its commands.

Read from ``agent.toml`` (`packs.pack_file`).  Patterns are for `regex`, searched in one row; one that runs too long
finds nothing.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Collection, Iterable

import regex
from attrs import field, frozen

TIMEOUT_S = 0.01  # for one pattern on one row: ordinary ones take microseconds


def _patterns(values: Iterable[str]) -> tuple[str, ...]:
    """The patterns; each compiles, or regex.error says why not."""
    patterns = tuple(values)
    for one in patterns:
        regex.compile(one)
    return patterns


@frozen
class Process:
    """Which process is it: `names` without versions, and patterns of the path of the file that it runs.

    Without `executables` it runs a file of its own name.  `reports`: it writes to its terminal what it does (OSC 7501,
    9, 99, 777), so that its pane is worth listening to.
    """

    names: tuple[str, ...]
    executables: tuple[str, ...] = ()
    reports: bool = False


@frozen
class Title:
    """Patterns of the terminal's title, by the state that it tells."""

    waiting: tuple[str, ...] = field(default=(), converter=_patterns)
    working: tuple[str, ...] = field(default=(), converter=_patterns)
    idle: tuple[str, ...] = field(default=(), converter=_patterns)


@frozen
class Turn:
    """The words of its turns: patterns of rows on its screen.

    `retries`: it goes on on its own; `stays`: it does not, although it had said so.  `below`: rows between its last
    message and its composer.  `over`: one of those that ends a turn whose failure stands in a frame above it.
    `notices`: a message that only points at a failure above it.  `escape`: Escape, once, interrupts a turn.
    """

    escape: bool = True
    retries: tuple[str, ...] = field(default=(), converter=_patterns)
    stays: tuple[str, ...] = field(default=(), converter=_patterns)
    below: tuple[str, ...] = field(default=(), converter=_patterns)
    over: tuple[str, ...] = field(default=(), converter=_patterns)
    notices: tuple[str, ...] = field(default=(), converter=_patterns)


@frozen
class Resume:
    """Its command line, as far as a session of it goes on in a new process; what ``--help`` says."""

    resume: str  # what goes before the session's id
    latest: str = ""  # what goes on with the latest session of the directory
    text: str = ""  # what goes before a text that it is started with
    kept: str = ""  # the sessions of a directory in the program's own folder, as a glob with {directory}; "": unknown
    flags: frozenset[str] = frozenset()  # options without a value that a new start keeps
    valued: frozenset[str] = frozenset()  # options with one
    listed: frozenset[str] = frozenset()  # options with all words up to the next option
    dropped: frozenset[str] = frozenset()  # options that choose a session, without a value
    dropped_valued: frozenset[str] = frozenset()  # and those with one, which may be left out
    directory: bool = False  # its first argument is a directory, not a prompt


@frozen
class Agent:
    """One program that a pack knows, by the `name` that signals, policies and exit records have for it.

    >>> Agent("acme", Process(["acme"]), Title(waiting=["needs you"])).title.waiting
    ('needs you',)
    """

    name: str
    process: Process
    title: Title = Title()
    turn: Turn = Turn()
    resume: Resume | None = None


def _agents(values: Iterable[Agent]) -> tuple[Agent, ...]:
    return tuple(values)


@frozen(eq=False)
class Vocabulary:
    """What the programs of some packs write of themselves.

    >>> known = Vocabulary([Agent("acme", Process(["acme"]), Title(waiting=["needs you"]))])
    >>> known.titled("acme needs you")
    (('acme', 'waiting', 'needs you'),)
    """

    agents: tuple[Agent, ...] = field(default=(), converter=_agents)

    def titled(self, title: str) -> tuple[tuple[str, str, str], ...]:
        """Which agent says by a terminal's title that it is in which state, and the words that say so."""
        return _titled(self, title)

    def retries(self, row: str) -> bool:
        """Whether a row says that a program goes on on its own."""
        return _any(self._turns["retries"], row)

    def stays(self, row: str) -> bool:
        """Whether it says that a program does not go on, although it had said so."""
        return _any(self._turns["stays"], row)

    def is_below(self, row: str) -> bool:
        """Whether it stands between the last message of a program and its composer."""
        return _any(self._turns["below"], row) or self.is_over(row)

    def is_over(self, row: str) -> bool:
        """Whether it ends a turn whose failure stands in a frame above it."""
        return _any(self._turns["over"], row)

    def is_notice(self, text: str) -> bool:
        """Whether a message only points at a failure above it."""
        return _any(self._turns["notices"], text)

    @cached_property
    def reporters(self) -> frozenset[str]:
        """The names of the processes that report of themselves to their terminal."""
        return frozenset(name for one in self.agents if one.process.reports for name in one.process.names)

    def resumable(self, names: Collection[str]) -> list[Agent]:
        """The agents of these names whose sessions can go on in a new process, by name."""
        found = (one for one in self.agents if one.resume is not None and one.name in names)
        return sorted(found, key=lambda one: one.name)

    @cached_property
    def titles(self) -> list[tuple[str, str, regex.Pattern[str]]]:
        """The patterns of titles, each with its agent and the state that it tells."""
        return [
            (agent.name, state, regex.compile(pattern))
            for agent in self.agents
            for state in ("waiting", "working", "idle")
            for pattern in getattr(agent.title, state)
        ]

    @cached_property
    def _turns(self) -> dict[str, list[regex.Pattern[str]]]:
        words = ("retries", "stays", "below", "over", "notices")
        return {one: [regex.compile(row) for agent in self.agents for row in getattr(agent.turn, one)] for one in words}


NO_WORDS = Vocabulary()


@lru_cache(maxsize=512)  # a title stays, and is looked at every second
def _titled(words: Vocabulary, title: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((name, state, found[0]) for name, state, one in words.titles if (found := _search(one, title)))


def _any(patterns: list[regex.Pattern[str]], row: str) -> bool:
    return any(_search(one, row) for one in patterns)


def _search(pattern: regex.Pattern[str], text: str) -> regex.Match[str] | None:
    try:
        return pattern.search(text, timeout=TIMEOUT_S)
    except TimeoutError:
        return None
