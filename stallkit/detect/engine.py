"""The engine: ordered signatures over one screen, the first that matches wins.

Pure: the same packs and the same screen give the same detection, and no screen makes it raise.  Order of trial is
(tier, packs of a program first, priority, distribution, pack, place in the file).  A waiting match with a working or
idle one wholly below it is stale, and the next signature is tried.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cached_property
from typing import Any, Callable, Iterable, Mapping

import regex
from attrs import field, frozen

from stallkit.detect.agent import NO_WORDS, Vocabulary
from stallkit.detect.composer import said_by_person
from stallkit.detect.dialog_parser import Option, Reading, read_among
from stallkit.detect.layout import read_layout
from stallkit.detect.matcher import Budget, Found, Keywords, Span, compiled, find, find_in, region
from stallkit.detect.rows import is_prose
from stallkit.detect.signature import Clause, CursorState, Pack, Request, Severity, Signature, State
from stallkit.errors import DuplicateSignature, SignatureError, bad_argument
from stallkit.short_repr import short_repr
from stallkit.terminal.screen import LITTLE, Region, Screen, as_screen, moved
from stallkit.word_tables import INTERPRETERS

_LIVELY = frozenset({State.WORKING, State.IDLE})
_LIVE = frozenset({"dialog", "options", "hints"})  # parts of which the layout says that they are live
Finds = Callable[[Clause, Budget], Found]


@frozen
class SignatureRef:
    """The signature by its name, the line that it quotes, and what the prompt asks; without a signature all is None."""

    signature: str | None = None
    pack: str | None = None
    severity: Severity | None = None
    line: str | None = None
    request: Mapping[str, str] | None = field(default=None, hash=False)
    options: tuple[Option, ...] = ()
    ambiguity: str | None = None


@frozen
class DetectionRef(SignatureRef):
    """It, and the names of the signatures that a detection could not decide, ruled out, or did not ask for."""

    undecided: tuple[str, ...] = ()
    vetoed: tuple[str, ...] = ()
    left: str | None = None


@frozen
class Rule:
    """A signature and the pack it comes from."""

    pack: Pack
    signature: Signature

    @property
    def name(self) -> str:
        """``pack:signature``, unique in an engine."""
        return f"{self.pack.name}:{self.signature.id}"


@frozen
class Match:
    """A signature that holds on the screen, and where each of its clauses holds.

    >>> from stallkit import Engine
    >>> match = Engine.default().detect("Proceed? [y/N] ").match
    >>> match.pack.name, match.signature.id, match.line
    ('shell_yn', 'yes_no', 'Proceed? [y/N]')
    """

    signature: Signature
    pack: Pack
    spans: tuple[Span, ...]
    line: str

    def __repr__(self) -> str:
        return f"Match('{self.pack.name}:{self.signature.id}')"

    @property
    def top(self) -> float:
        """The highest row that a clause holds on; above all rows where only the title matched."""
        return min((span.line for span in self.spans if span.clause.where != "title"), default=-math.inf)

    @property
    def bottom(self) -> float:
        """The lowest row that a clause holds on; below all rows where only the title matched."""
        return max((span.last_line for span in self.spans if span.clause.where != "title"), default=math.inf)

    def stays(self, before: Screen, now: Screen) -> bool:
        """Whether its rows, and the cursor in them, are the same on two screens although a few other rows moved."""
        rows = moved(before, now)
        if rows is None or len(rows) > LITTLE or before.cursor != now.cursor:
            return False
        own = {row for span in self.spans for row in range(span.line, span.last_line + 1)}
        return rows.isdisjoint(own | {now.prompt_line.row})


@frozen
class Veto:
    """A signature whose `all_of` held, and what ruled it out: a clause of `none_of`, or a match below it."""

    rule: Rule
    by: Clause | Rule


@frozen
class Detection:
    """What the engine finds on a screen: a match or none, and the signatures it could not decide or ruled out.

    >>> from stallkit import Engine
    >>> Engine.default().detect("compiling main.c").match is None
    True
    """

    screen: Screen
    match: Match | None = None
    undecided: tuple[tuple[Rule, Clause], ...] = ()
    vetoed: tuple[Veto, ...] = ()
    executables: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False)
    not_asked: frozenset[str] = frozenset()  # packs whose programs are known not to be in the foreground
    left: Match | None = None  # what one of those packs would have found
    told: SignatureRef | None = None  # of one that was read back from JSON: what it said
    words: Vocabulary = field(default=NO_WORDS, eq=False)  # of the agents that the packs know

    __repr__ = short_repr("match", "screen")

    @cached_property
    def reading(self) -> Reading | None:
        """The whole dialog of the match, row by row; None if nothing matched, or its signature describes none."""
        if self.match is None or not self.match.signature.dialogs:
            return None
        signature = self.match.signature
        others = {one.id: one.dialogs for one in self.match.pack.signatures if one.id != signature.id}
        return read_among(signature.dialogs, others, self.screen)

    @property
    def dialog(self) -> Reading | None:
        """The reading of a dialog that was wholly recognised as one program's own; an answer is bound to its rows."""
        own = self.match is not None and self.match.pack.foreground and self.reading is not None and self.reading.whole
        return self.reading if own else None

    @property
    def agents(self) -> frozenset[str]:
        """The programs that packs name as their own."""
        return frozenset(self.executables)

    @property
    def ambiguity(self) -> str | None:
        """Why the prompt is not wholly recognised; None if it is."""
        if self.reading is None:
            return "its signature does not describe the whole dialog"
        return None if self.reading.whole else f"not wholly recognised: {self.reading.doubt}"

    @property
    def request(self) -> Request | None:
        """What is asked, field by field; None if the dialog was not wholly recognised, or says nothing."""
        reading = self.reading
        if reading is None or not reading.whole or not reading.fields:
            return None
        return Request(reading.fields, reading.specs, reading.options)

    @property
    def said(self) -> SignatureRef:
        """What it says by names and texts alone; of one that was read back, what it said."""
        if self.told is not None:
            return self.told
        names: dict[str, Any] = {
            "undecided": tuple(rule.name for rule, _ in self.undecided),
            "vetoed": tuple(veto.rule.name for veto in self.vetoed),
            "left": Rule(self.left.pack, self.left.signature).name if self.left else None,
        }
        match, request = self.match, self.request
        if match is None:
            return DetectionRef(**names)
        return DetectionRef(
            signature=match.signature.id,
            pack=match.pack.name,
            severity=match.signature.severity,
            line=match.line,
            request=request.fields if request else None,
            options=request.options if request else (),
            ambiguity=self.ambiguity,
            **names,
        )


class Fate(StrEnum):
    """How one signature fared on one screen."""

    MATCH = "match"
    SHADOWED = "shadowed"  # it holds, but an earlier one matched first
    STALE = "stale"  # it holds, but the program went on below it
    VETOED = "vetoed"  # all_of holds, and so does a clause of none_of
    UNDECIDED = "undecided"  # a pattern ran out of its budget
    NO = "no"


@frozen
class Report:
    """How one signature fared, from `Engine.explain`; each clause comes with its role, ``all_of`` or ``none_of``."""

    rule: Rule
    fate: Fate
    clauses: tuple[tuple[str, Clause, Found], ...]
    cursor_fits: bool


@frozen
class Tried:
    """The result of trying one signature on one screen; `held` is None if it is undecided."""

    held: bool | None
    match: Match | None = None
    clause: Clause | None = None  # the undecided one, or the one that vetoed
    vetoed: bool = False


_NO = Tried(False)


class Engine:
    """Packs, compiled once: `detect` finds the first signature that matches a screen.

    Raises DuplicateSignature for two packs of one name, SignatureError for a pattern that `regex` does not accept; who
    says `checked` knows that there is none.
    """

    def __init__(self, packs: Iterable[Pack], *, checked: bool = False) -> None:
        self.packs = _packs(packs)
        names = [pack.name for pack in self.packs]
        for twice in (name for name in names if names.count(name) > 1):
            raise DuplicateSignature(twice, "the packs of one engine")
        rules = [Rule(pack, signature) for pack in self.packs for signature in pack.signatures]
        self.rules = tuple(sorted(rules, key=lambda rule: rule.pack.order(rule.signature)))
        for rule in () if checked else self.rules:
            _check_patterns(rule)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.packs)} packs, {len(self.rules)} signatures)"

    @cached_property
    def _keywords(self) -> Keywords:
        return Keywords(self.signatures)  # for the first look: some engines never look

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """Every signature in the order of trial."""
        return tuple(rule.signature for rule in self.rules)

    @cached_property
    def executables(self) -> Mapping[str, tuple[str, ...]]:
        """The programs that packs name, without interpreters and shells, with the patterns of their executables."""
        return {name: pack.executables.get(name, ()) for pack in self.packs for name in pack.own}

    @cached_property
    def agents(self) -> frozenset[str]:
        """The names of these programs."""
        return frozenset(self.executables)

    @cached_property
    def words(self) -> Vocabulary:
        """What the agents that the packs know write of themselves."""
        return Vocabulary(agent for pack in self.packs for agent in pack.agents)

    @cached_property
    def programs(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """The name of each pack that is for some programs only, and these."""
        return tuple((pack.name, pack.foreground) for pack in self.packs if pack.foreground)

    @cached_property
    def programs_themselves(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """The same without interpreters, which run any program."""
        named = ((name, programs - INTERPRETERS) for name, programs in self.programs)
        return tuple((name, programs) for name, programs in named if programs)

    def detect(
        self, screen: Screen | str, since: Detection | None = None, *, without: frozenset[str] = frozenset()
    ) -> Detection:
        """The first signature that matches the screen, or none; a text is a screen of these lines.

        `since`, an earlier detection, is returned as it is where the screen has not changed.  The packs named by
        `without` are not asked.  Raises TypeError for anything but a screen or a text, and nothing else.
        """
        screen = as_screen(screen)
        if since is not None and (since.screen is screen or since.screen == screen):
            return since
        candidates = [self.rules[number] for number in self._keywords.among(screen)]
        if without:
            candidates = [rule for rule in candidates if rule.pack.name not in without]
        look = _Look(screen)
        vetoed: list[Veto] = []
        for rule in candidates:
            tried = look.try_rule(rule)
            if tried.vetoed and tried.clause is not None:
                vetoed.append(Veto(rule, tried.clause))
            elif tried.match is not None:
                below = look.livelier_below(tried.match, candidates)
                if below is None:
                    return self._found(look, vetoed, tried.match)
                vetoed.append(Veto(rule, below))
        return self._found(look, vetoed, None)

    def _found(self, look: _Look, vetoed: list[Veto], match: Match | None) -> Detection:
        return Detection(look.screen, match, look.undecided, tuple(vetoed), self.executables, words=self.words)

    def explain(self, screen: Screen | str) -> tuple[Report, ...]:
        """For every signature, in order of trial: how it fared, which of its clauses held, and where."""
        screen = as_screen(screen)
        winner = self.detect(screen).match
        return tuple(self._report(rule, screen, winner) for rule in self.rules)

    def _report(self, rule: Rule, screen: Screen, winner: Match | None) -> Report:
        budget, signature = Budget(), rule.signature
        clauses = tuple(
            (role, clause, find(clause, screen, budget))
            for role, group in (("all_of", signature.all_of), ("none_of", signature.none_of))
            for clause in group
        )
        tried = try_rule(rule, screen, Budget())
        if tried.match is not None and tried.match == winner:
            fate = Fate.MATCH
        elif tried.match is not None:
            stale = _Look(screen).livelier_below(tried.match, self.rules)
            fate = Fate.STALE if stale else Fate.SHADOWED
        elif tried.held is None:
            fate = Fate.UNDECIDED
        else:
            fate = Fate.VETOED if tried.vetoed else Fate.NO
        return Report(rule, fate, clauses, _cursor_fits(signature.cursor, screen))


class _Look:
    """One look at a screen: each rule is tried at most once, and a pack that uses up its budget affects no other."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._regions: dict[str, Region | None] = {}
        self._budgets: dict[str, Budget] = {}
        self._tried: dict[int, tuple[Rule, Tried]] = {}  # by identity: hashing a rule costs more than a search

    @property
    def undecided(self) -> tuple[tuple[Rule, Clause], ...]:
        """Every rule that was tried but not decided, and the clause that could not be."""
        every = self._tried.values()
        return tuple((rule, tried.clause) for rule, tried in every if tried.held is None and tried.clause)

    def try_rule(self, rule: Rule) -> Tried:
        known = self._tried.get(id(rule))
        if known is None:
            budget = self._budgets.setdefault(rule.pack.name, Budget())
            known = self._tried[id(rule)] = (rule, try_rule(rule, self.screen, budget, self._find))
        return known[1]

    def _find(self, clause: Clause, budget: Budget) -> Found:
        if clause.where not in self._regions:
            self._regions[clause.where] = region(clause.where, self.screen)
        return find_in(clause, self._regions[clause.where], budget)

    def livelier_below(self, match: Match, rules: Iterable[Rule]) -> Rule | None:
        """A working or idle rule that holds wholly below a waiting match, or a composer around it; or None.

        The match is then no longer live: it was answered, is quoted, or is a draft.
        """
        if match.signature.state is not State.WAITING or any(span.clause.where in _LIVE for span in match.spans):
            return None
        for rule in rules:
            state = rule.signature.state
            other = self.try_rule(rule).match if state in _LIVELY else None
            below = other is not None and other.top > match.bottom and state not in match.signature.allow_below
            if other is not None and (below or _is_draft(match, other)):
                return rule
        return None


def _is_draft(match: Match, other: Match) -> bool:
    """Whether a match stands within a composer, below its first row: somebody writes it there.

    The last row of a composer's match may be the status line of what stands above it.
    """
    above_last = State.IDLE in match.signature.allow_below
    return other.signature.state is State.IDLE and any(
        span.line <= match.top and span.line < match.bottom <= span.last_line - above_last
        for span in other.spans
        if span.clause.where != "title"
    )


def try_rule(rule: Rule, screen: Screen, budget: Budget, search: Finds | None = None) -> Tried:
    """Whether one signature holds, judged by its own clauses alone; `search` finds them, by default on the screen."""
    search = search or (lambda clause, budget: find(clause, screen, budget))
    signature = rule.signature
    if not _cursor_fits(signature.cursor, screen):
        return _NO
    doubtful: Clause | None = None
    spans: list[Span] = []
    for clause in signature.all_of:
        found = search(clause, budget)
        if found.held is False:
            return _NO
        if found.span is None:
            doubtful = doubtful or clause
        else:
            spans.append(found.span)
    for clause in signature.none_of:
        found = search(clause, budget)
        if found.held:
            return Tried(False, clause=clause, vetoed=doubtful is None)
        if found.held is None:
            doubtful = doubtful or clause
    shown = [span.line for span in spans if span.clause.where != "title"] if signature.state is State.QUOTA else []
    if shown and all(said_by_person(screen, row) or is_prose(read_layout(screen).rows, row) for row in shown):
        return _NO  # who asks or tells about a limit has not reached one
    if doubtful is not None:
        return Tried(None, clause=doubtful)
    return Tried(True, Match(signature, rule.pack, tuple(spans), _line(spans[0], screen)))


def _cursor_fits(wanted: CursorState, screen: Screen) -> bool:
    """An unknown cursor fits both `hidden` and `visible`, but not `seen`."""
    visible = screen.cursor.visible if screen.cursor else None
    if wanted is CursorState.SEEN:
        return visible is True
    return wanted is CursorState.ANY or visible is None or visible is (wanted is CursorState.VISIBLE)


def _line(span: Span, screen: Screen) -> str:
    if span.clause.where == "title":
        return screen.title or ""
    return screen.lines[span.line].strip() if span.line < len(screen.lines) else span.text.strip()


def _packs(given: Iterable[Pack]) -> tuple[Pack, ...]:
    """The packs of an engine.  Raises TypeError for anything else."""
    packs = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for one in packs:
        if not isinstance(one, Pack):
            raise bad_argument(
                "an engine is made of packs", one, "Engine.default() has those installed, load_pack reads one"
            )
    return packs


def _check_patterns(rule: Rule) -> None:
    for clause in (*rule.signature.all_of, *rule.signature.none_of):
        try:
            compiled(clause)
        except (regex.error, OverflowError, RecursionError) as error:
            raise SignatureError(rule.name, clause.source, f"not a pattern: {error}") from error
