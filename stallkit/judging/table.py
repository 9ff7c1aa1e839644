"""The rules by which claims become a verdict: the first row that fits decides.

A source that claims nothing decides nothing.  ``scripts/rules_page.py`` writes these rows into docs/judge.md.
"""

from __future__ import annotations

from operator import attrgetter
from types import MappingProxyType
from typing import Callable, Iterator, Mapping

from attrs import evolve, frozen

from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.claim import MATCHED, NOBODY, READS, Claim, Claims, Sign, Source, Weight

SURE, MAYBE = Certainty.SURE, Certainty.MAYBE


@frozen
class Outcome:
    """What a row decides."""

    state: State
    certainty: Certainty
    kind: Kind | None = None
    keys: bool = False  # a key may follow
    by: Source | None = None  # whose claim it is; None: no source says so by itself


@frozen
class When:
    """A condition, in words and as a function of the claims; `no` are the words for its contrary.

    >>> front, rest = claims(Source.FOREGROUND), claims(Source.KERNEL, Sign.READS)
    >>> str(front & ~rest), (front & ~rest)(Claims())
    ('a program is in front; not: something reads, and the screen rests', False)
    """

    words: str
    holds: Callable[[Claims], bool]
    no: str = ""

    def __call__(self, of: Claims) -> bool:
        return self.holds(of)

    def __str__(self) -> str:
        return self.words

    def __and__(self, other: When) -> When:
        one, two = self.holds, other.holds
        return When(f"{self}; {other}", lambda of: one(of) and two(of))

    def __or__(self, other: When) -> When:
        one, two = self.holds, other.holds
        return When(f"{self}, or {other}", lambda of: one(of) or two(of))

    def __invert__(self) -> When:
        one = self.holds
        return When(self.no or f"not: {self}", lambda of: not one(of), self.words)

    def called(self, words: str, no: str = "") -> When:
        """The same condition by a name, and by one for its contrary."""
        return When(words, self.holds, no)


_ANY = {
    Source.SCREEN: "the screen says something",
    Source.MOTION: "the screen changes",
    Source.FOREGROUND: "a program is in front",
    Source.READ: "a read blocks, and nothing else can go on",
    Source.LEFT: "an agent is gone",
    Source.PROGRESS: "a progress bar runs",
}


def claims(source: Source, *signs: Sign) -> When:
    """That a source claims something, or one of these things."""
    if not signs:
        return _of_claim(source, _ANY.get(source, f"{source} claims something"), lambda claim: True)
    return _of_claim(source, " or ".join(signs), lambda claim: claim.sign in signs)


def state(source: Source, *states: State) -> When:
    """That a source claims one of these states."""
    return _of_claim(source, f"{source} says {' or '.join(states)}", lambda claim: claim.state in states)


def weighs(source: Source, weight: Weight) -> When:
    """That the claim of a source weighs so much, or more."""
    return _of_claim(source, f"{source}'s claim is {weight.word} or more", lambda claim: claim.weight >= weight)


def _of_claim(source: Source, words: str, holds: Callable[[Claim], bool]) -> When:
    claimed = attrgetter(source)
    return When(words, lambda of: (claim := claimed(of)) is not None and holds(claim))


@frozen
class Gives:
    """What comes out of a row, in words and as a function of the claims."""

    words: str
    of: Callable[[Claims], Outcome]


@frozen
class Row:
    """A rule: its name, when it fits, what comes out, and why."""

    name: str
    when: When
    gives: Gives
    why: str


def decide(of: Claims) -> tuple[Outcome, Row]:
    """The outcome of the first row that fits; the last one always does."""
    row = next(row for row in ROWS if row.when.holds(of))
    return row.gives.of(of), row


def otherwise(of: Claims) -> Iterator[tuple[Source, Outcome, Row]]:
    """What would come out without the claim of one source, if that is another row: whose claim is wrong?"""
    _, decided = decide(of)
    for claim in of:
        outcome, row = decide(of.without(claim.source))
        if row is not decided:
            yield claim.source, outcome, row


def printed(counts: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """The rows as a table of Markdown; `counts` say by a row's name how often it was right."""
    yield from ("| row | if | then | because | right |", "| --- | --- | --- | --- | --- |")
    for row in ROWS:
        yield f"| {row.name} | {row.when} | {row.gives.words} | {row.why} | {counts.get(row.name, '')} |"


# What conditions are made of.

_screen, _kernel, _signal, _form = Source.SCREEN, Source.KERNEL, Source.SIGNAL, Source.FORM
_dialog = claims(_screen, Sign.DIALOG, Sign.MENU).called("a whole dialog is shown")
_prompt = claims(_screen, Sign.PROMPT).called("a one-line prompt is shown")
_shell_like = claims(_screen, Sign.SHELL_LIKE).called(
    "a shell's prompt is shown, of no shell", "it is no shell's prompt of another program"
)
_asks = (_dialog | _prompt | _shell_like).called("a prompt or dialog is shown")
_other = claims(_screen, Sign.OTHER).called("another signature matches")
_matched = claims(_screen, *MATCHED).called("a signature matches", "no signature matches")
_undecided = claims(_screen, Sign.UNDECIDED).called("a signature is undecided", "none is undecided")
_ends = (state(_screen, State.ENDED) & _other).called("a shell's prompt is shown")
_rests = (state(_screen, State.IDLE, State.QUOTA, State.ENDED) & _other).called("rest, a limit or an end is shown")
_works = (state(_screen, State.WORKING) & _other).called("work is shown")
_stays = (state(_screen, State.IDLE, State.QUOTA) & _other).called("rest or a limit", "no rest and no limit is shown")
_facts = weighs(_kernel, Weight.SIGN).called("who is in front and whether it rests is known")
_line_editor = claims(_kernel, Sign.LINE_EDITOR).called(
    "a shell's line editor reads", "no line editor of a shell reads"
)
_reads = claims(_kernel, *READS).called("it reads", "nothing is known to read")
_at_rest = claims(_kernel, Sign.READS, Sign.LINE_EDITOR, Sign.COMPUTES).called("something reads at rest")
_moving = claims(_kernel, Sign.READS_MOVING).called("something reads while the screen changes")
_nobody = claims(_kernel, *NOBODY)
_unread = (_nobody & _facts).called("nothing is known to read", "something may read")
_hidden = claims(_kernel, Sign.NOBODY_SEEN, Sign.HIDDEN)
_sleeps = claims(_kernel, Sign.NOBODY_MOVES).called("it takes single keys and sleeps", "it takes lines, or computes")
_unseen = (claims(_kernel, Sign.NOBODY_READS_KEYS, Sign.NOBODY_MOVES) | _hidden).called(
    "none is seen to read", "the kernel is not against it"
)
_read = (_reads & _facts).called("it is known to be read, at rest")
_known = (_read | (_moving & _facts)).called("it is known to be read")
_asks_nothing = claims(Source.FOREGROUND, Sign.ASKS_NOTHING)
_pager = claims(Source.FOREGROUND, Sign.PAGER).called("a pager is in front", "no pager is in front")
_undoubted = weighs(_screen, Weight.SIGN).called("no doubt about it")
_silent = (~claims(_signal)).called("the program says nothing", "somebody says something")
_own_name = weighs(_signal, Weight.SIGN).called("the program names its state", "the program names no state")
_own_word = weighs(_signal, Weight.OWN_WORD).called("it says so bound to its process", "not bound to its process")
_says_waiting = state(_signal, State.WAITING).called("somebody says that it waits", "nobody says that it waits")
_says_else = (claims(_signal) & ~state(_signal, State.IDLE)).called("somebody says that it does not rest")
_by_form = claims(_form, Sign.LOOKS).called("the form says another state", "the form says no other state")
_running = claims(Source.SHELL, Sign.RUNNING).called("the shell runs a command")
_same = When(
    "the program says the state that its screen shows",
    lambda of: of.signal is not None and of.screen is not None and of.signal.state is of.screen.state,
)
_goes_on = _prompt & claims(Source.MOTION) & _moving
refuted = (
    (_asks_nothing & (_asks | _ends)) | (~_asks_nothing & (_goes_on | (_asks & claims(_kernel, Sign.NOBODY_READS))))
).called("the prompt is quoted or answered", "not quoted")
_no_contradiction = (state(_screen, State.QUOTA, State.ENDED) & state(_signal, State.IDLE)) | (
    claims(_screen, Sign.MENU) & claims(_signal, Sign.RESTS)
)
contradicted = (_own_name & claims(_screen) & ~_same & ~_no_contradiction).called(
    "the program says another state", "the program says no other state"
)
_stronger = (_dialog | state(_screen, State.QUOTA) | (_prompt & ~_own_word)).called(
    "it is a dialog or a limit, or a prompt of a program not bound to its process"
)
_read_or_dialog = (_read | ((_dialog | _shell_like) & _known)).called(
    "it is known to be read, a prompt on one line at rest"
)
_not_its_own = (~_matched | (_shell_like & ~_says_waiting)).called("no signature of its own matches")
_bar_over_form = (claims(Source.PROGRESS) & state(_form, State.WAITING)).called(
    "a bar", "no progress bar runs if it says waiting"
)
_waits_at_rest = (state(_screen, State.IDLE) & _says_waiting).called("it waits", "nobody says that it waits")
_unread_or_moving = (_unread | (_moving & _facts & _undoubted)).called(
    "nothing is known to read, or the screen changes"
)
_own_dialog = weighs(_screen, Weight.OWN_WORD).called("a whole dialog of the program in front is shown")
_end = ((_ends & ~refuted) | (~_matched & _line_editor & ~_pager)).called("a shell is at its prompt")


# What comes out.


def _of(source: Source, certainty: Certainty, words: str = "") -> Gives:
    def gives(of: Claims) -> Outcome:
        claim = of.by(source)
        assert claim is not None
        return Outcome(claim.state, certainty, claim.kind, by=source)

    return Gives(words or f"what {source} claims, {certainty}", gives)


def _as(state: State, certainty: Certainty) -> Gives:
    return Gives(f"{state}, {certainty}", lambda of: Outcome(state, certainty))


def _of_screen(certainty: Certainty, keys: bool = False) -> Gives:
    def gives(of: Claims) -> Outcome:
        assert of.screen is not None
        kind = of.screen.kind or (of.signal.kind if of.signal and _same(of) else None)
        kind = Kind.SECRET if _asks(of) and _hidden(of) else kind  # whatever it asks, what is typed is not shown
        return Outcome(of.screen.state, certainty, kind, keys and of.screen.keys, _screen)

    return Gives(f"what the screen shows, {certainty}{', and a key may follow' if keys else ''}", gives)


def _of_signal(certainty: Certainty) -> Gives:
    def gives(of: Claims) -> Outcome:
        assert of.signal is not None
        kind, guess = of.signal.kind, _guessed(of)
        if _says_waiting(of) and not _matched(of):
            kind = (guess or kind) if certainty is MAYBE else (kind or guess)
        return Outcome(of.signal.state, certainty, kind, by=_signal)

    return Gives(f"what the program says, {certainty}", gives)


def _guessed(of: Claims) -> Kind | None:
    """The kind that who is in front, or the kernel, guesses."""
    pager = of.foreground.kind if of.foreground else None
    return pager or (of.kernel.kind if of.kernel and of.kernel.state is State.WAITING else None)


def _secret(of: Claims) -> Outcome:
    assert of.kernel is not None
    return Outcome(State.WAITING, SURE if of.kernel.weight is Weight.PROOF else MAYBE, Kind.SECRET, by=_kernel)


def _blocked(of: Claims) -> Outcome:
    assert of.read is not None
    asks: Claim | None = None
    if _asks(of) and not refuted(of):
        asks = of.screen
    elif state(_form, State.WAITING)(of):
        asks = of.form
    kind = asks.kind if asks and asks.kind and of.read.kind is not Kind.SECRET else of.read.kind
    against = _own_name(of) and not _says_waiting(of)
    return Outcome(State.WAITING, MAYBE if against else SURE, kind, by=Source.READ)


_BY_SIGNAL = Gives(
    "what the screen shows, sure, and no key follows", lambda of: evolve(_of_screen(SURE).of(of), by=_signal)
)
_DOUBT = Gives("what was shown, maybe", lambda of: (_of_screen(MAYBE) if _matched(of) else _of(_form, MAYBE)).of(of))
_UNDECIDED = Gives(
    "waiting, maybe", lambda of: Outcome(State.WAITING, MAYBE, of.kernel.kind if of.kernel else None, by=_kernel)
)
_SECRET = Gives("waiting for a secret, sure; maybe if who or whether it rests is unknown", _secret)
_BLOCKED = Gives("waiting, sure, and no key follows; maybe if the program says something else", _blocked)

ROWS: tuple[Row, ...] = (
    Row("stopped", claims(_kernel, Sign.STOPPED), _as(State.UNKNOWN, MAYBE), "it needs a signal, not a key"),
    Row("secret", claims(_kernel, Sign.SECRET), _SECRET, "a terminal hides only a secret"),
    # What is left where an agent ended
    Row(
        "ended, and something speaks",
        claims(Source.LEFT) & (_says_else | (_silent & _running).called("only the shell: it runs a command")),
        _of(Source.LEFT, MAYBE),
        "another program may be there",
    ),
    Row(
        "ended below what started it",
        claims(Source.LEFT, Sign.OUTLIVED),
        _of(Source.LEFT, SURE),
        "the screen is its last one",
    ),
    Row("a picture", claims(Source.LEFT), _of(Source.LEFT, MAYBE), "none of its programs is there"),
    Row(
        "at a shell, and something speaks",
        _end & (_says_else | (_silent & _matched & _running).called("only the shell: it runs a command")),
        _as(State.ENDED, MAYBE),
        "another program may be there",
    ),
    # What screen and kernel agree on
    Row(
        "rests by its form",
        _by_form & state(_form, State.IDLE).called("that is rest") & _silent,
        _of(_form, MAYBE),
        "a chat's prompt blocks in a read as well",
    ),
    Row("doubted by its form", claims(_form, Sign.DOUBTS) & ~_own_name, _DOUBT, "screens of this form are rarely so"),
    Row(
        "its own dialog",
        _own_dialog & ~refuted & ~contradicted & ~_unseen,
        _of_screen(SURE, keys=True),
        "it needs no other proof",
    ),
    Row(
        "read",
        _asks & _undoubted & ~refuted & ~contradicted & _read_or_dialog & ~_by_form,
        _of_screen(SURE, keys=True),
        "somebody has to type there",
    ),
    Row(
        "a read that blocks",
        claims(Source.READ) & ~_stays,
        _BLOCKED,
        "it goes on only once somebody types",
    ),
    Row(
        "rest, limit or end, and it reads",
        _rests & _undoubted & _known & ~contradicted & ~refuted & ~_waits_at_rest & ~_by_form,
        _of_screen(SURE),
        "screen and kernel agree",
    ),
    Row(
        "works",
        _works & _unread_or_moving & ~contradicted & ~_says_waiting & ~_by_form,
        _of_screen(SURE),
        "screen and kernel agree",
    ),
    # What the program says
    Row("says what it shows", _matched & _own_word & _same & ~refuted, _BY_SIGNAL, "it is the program's own word"),
    Row("says what it does, below a quotation", refuted & _own_name, _of_signal(SURE), "the prompt is an old one"),
    Row(
        "a dialog or a limit against its word",
        _matched & ~_shell_like & contradicted & _stronger,
        _of_screen(MAYBE),
        "screen and program disagree",
    ),
    Row(
        "its word against its screen",
        _matched & ~_shell_like & contradicted,
        _of_signal(MAYBE),
        "screen and program disagree",
    ),
    Row(
        "says what nothing else shows",
        _not_its_own & _own_name & ~_line_editor,
        _of_signal(SURE),
        "no signature says anything else",
    ),
    Row(
        "nothing is shown, and nothing reads",
        ~_matched & ~_undecided & ~_pager & _unread & ~_sleeps & ~_says_waiting & ~_by_form,
        _as(State.WORKING, SURE),
        "it computes, or waits for something else",
    ),
    Row(
        "somebody says so",
        ~_matched & ~_silent & ~_line_editor & ~_unread,
        _of_signal(MAYBE),
        "anything that prints can say it",
    ),
    # Guesses
    Row(
        "a shell awaits a command",
        ~_matched & _silent & claims(Source.SHELL, Sign.AWAITS),
        _of(Source.SHELL, MAYBE),
        "it says so, and is in front",
    ),
    Row("by its form", _by_form & _silent & ~_bar_over_form, _of(_form, MAYBE), "screens of other programs look so"),
    Row("quoted or answered", refuted, _as(State.WORKING, MAYBE), "what it asks is text, or is over"),
    Row("the screen alone", _matched, _of_screen(MAYBE), "it can be a picture of a prompt"),
    Row("undecided, and it reads", _undecided & _at_rest, _UNDECIDED, "it may be the prompt itself"),
    Row("undecided", _undecided, _of(_screen, MAYBE), "it may be anything"),
    Row(
        "a progress bar",
        claims(Source.PROGRESS) & claims(_kernel, Sign.READS) & _silent,
        _of(Source.PROGRESS, MAYBE),
        "it says that it works",
    ),
    Row("changes", claims(Source.MOTION) & ~_reads, _of(Source.MOTION, MAYBE), "something is at work"),
    Row(
        "a pager that does not read",
        _pager & claims(_kernel, Sign.NOBODY_READS),
        _as(State.WORKING, MAYBE),
        "its text is printed, or was left",
    ),
    Row("a pager", _pager, _of(Source.FOREGROUND, MAYBE), "at rest it waits for a key"),
    Row("reads and rests", _at_rest, _of(_kernel, MAYBE), "most programs that read at rest ask"),
    Row("runs", claims(Source.FOREGROUND), _of(Source.FOREGROUND, MAYBE), "it shows no prompt"),
    Row("the look of the screen", claims(_screen), _of(_screen, MAYBE), "nothing else is known"),
    Row("nothing", When("nothing else fits", lambda of: True), _as(State.WORKING, MAYBE), "no signature matches"),
)
