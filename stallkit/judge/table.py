"""The rules by which claims become a verdict: the first row that fits decides.

A row says which claims have to be there, what contradicts it, and whose claim the verdict then is.  Sources that claim
nothing decide nothing.  ``docs/judge.md`` is printed from these rows.
"""

from __future__ import annotations

from typing import Callable

from attrs import evolve, frozen

from stallkit.core.signature import Certainty, Kind, State
from stallkit.evidence.claim import Claim, Claims, Sign, Source, Weight

__all__ = ["ROWS", "Outcome", "Row", "contradicted", "decide", "refuted"]

SURE, MAYBE = Certainty.SURE, Certainty.MAYBE
_READS = {Sign.READS, Sign.LINE_EDITOR, Sign.COMPUTES}
_NOBODY = {Sign.NOBODY_READS, Sign.NOBODY_READS_RAW, Sign.NOBODY_SEEN}
_HIDDEN = {Sign.HIDDEN, Sign.NOBODY_SEEN}


@frozen
class Outcome:
    """What a row decides."""

    state: State
    certainty: Certainty
    kind: Kind | None = None
    keys: bool = False  # a key may follow
    by: Source | None = None  # whose claim it is; None: no source says so by itself


@frozen
class Row:
    """A rule: its name, when it fits, what comes out, and why, with what it rests on."""

    name: str
    fits: Callable[[Claims], bool]
    gives: Callable[[Claims], Outcome]
    why: str


def decide(claims: Claims) -> tuple[Outcome, Row]:
    """The outcome of the first row that fits; the last one always does."""
    row = next(row for row in ROWS if row.fits(claims))
    return row.gives(claims), row


# What may be asked of claims.


def _is(claim: Claim | None, *signs: Sign) -> bool:
    return claim is not None and claim.sign in signs


def _state(claim: Claim | None, *states: State) -> bool:
    return claim is not None and claim.state in states


def _at_least(claim: Claim | None, weight: Weight) -> bool:
    return claim is not None and claim.weight >= weight


def _matched(of: Claims) -> bool:
    """A signature matched."""
    return _is(of.screen, Sign.PROMPT, Sign.DIALOG, Sign.SHELL_LIKE, Sign.OTHER)


def _asks(of: Claims) -> bool:
    return _is(of.screen, Sign.PROMPT, Sign.DIALOG, Sign.SHELL_LIKE)


def refuted(of: Claims) -> bool:
    """The prompt is quoted or answered: nothing reads, the screen goes on below it, or who is in front asks nothing."""
    if _is(of.foreground, Sign.ASKS_NOTHING):
        return _asks(of) or (_matched(of) and _state(of.screen, State.ENDED))
    goes_on = _is(of.screen, Sign.PROMPT) and of.motion is not None and _is(of.kernel, Sign.READS_MOVING)
    return goes_on or (_asks(of) and _is(of.kernel, Sign.NOBODY_READS))


def _own_word(of: Claims) -> bool:
    """The program says something in its own name."""
    return _at_least(of.signal, Weight.SIGN)


def _opened(of: Claims) -> bool:
    """A dialog that a program at rest may show, as its signal does not name one that a person opened."""
    return of.signal_opens and of.screen_menu and _is(of.screen, Sign.DIALOG)


def contradicted(of: Claims) -> bool:
    """The program says in its own name something else than its screen."""
    if not _own_word(of) or of.screen is None or of.signal is None or of.signal.state is of.screen.state:
        return False
    at_rest = _state(of.screen, State.QUOTA, State.ENDED) and of.signal.state is State.IDLE  # no contradiction
    return not at_rest and not _opened(of)


def _needs_person(of: Claims) -> bool:
    """Anything that prints may have said that it waits: a doubt about what rests or works."""
    return of.signal is not None and of.signal.state is State.WAITING


def _reads_surely(of: Claims) -> bool:
    return _is(of.kernel, *_READS) and _at_least(of.kernel, Weight.SIGN)


def _known(of: Claims) -> bool:
    """Who is in front, whether the screen rests and whether anything reads is known, and something reads."""
    return _reads_surely(of) or (_is(of.kernel, Sign.READS_MOVING) and _at_least(of.kernel, Weight.SIGN))


def _is_end(of: Claims) -> bool:
    return (_matched(of) and _state(of.screen, State.ENDED) and not refuted(of)) or (
        not _matched(of) and _is(of.kernel, Sign.LINE_EDITOR) and not _is(of.foreground, Sign.PAGER)
    )


def _doubted(of: Claims) -> bool:
    """The form of the screen speaks against the signature, and the program says nothing."""
    return of.form is not None and not _own_word(of)


def _screen(certainty: Certainty, keys: bool = False) -> Callable[[Claims], Outcome]:
    def gives(of: Claims) -> Outcome:
        assert of.screen is not None
        kind = of.screen.kind or (of.signal.kind if of.signal and of.signal.state is of.screen.state else None)
        kind = Kind.SECRET if _asks(of) and _is(of.kernel, *_HIDDEN) else kind
        return Outcome(of.screen.state, certainty, kind, keys and of.screen.keys, Source.SCREEN)

    return gives


def _of(name: str, certainty: Certainty) -> Callable[[Claims], Outcome]:
    def gives(of: Claims) -> Outcome:
        claim: Claim = getattr(of, name)
        return Outcome(claim.state, certainty, claim.kind, False, claim.source)

    return gives


def _as(state: State, certainty: Certainty, kind: Kind | None = None) -> Callable[[Claims], Outcome]:
    return lambda of: Outcome(state, certainty, kind)


def _secret(of: Claims) -> Outcome:
    assert of.kernel is not None
    certainty = SURE if of.kernel.weight is Weight.PROOF else MAYBE
    return Outcome(State.WAITING, certainty, Kind.SECRET, False, Source.KERNEL)


def _read_blocks(of: Claims) -> Outcome:
    assert of.read is not None
    asks = of.screen if _asks(of) and not refuted(of) else of.form if _state(of.form, State.WAITING) else None
    against = _own_word(of) and not _state(of.signal, State.WAITING)
    kind = of.read.kind if of.read.kind is Kind.SECRET or asks is None else asks.kind or of.read.kind
    return Outcome(State.WAITING, MAYBE if against else SURE, kind, False, Source.READ)


def _guess(of: Claims) -> Kind | None:
    """The kind that who is in front, or the kernel, guesses."""
    pager = of.foreground.kind if of.foreground else None
    return pager or (of.kernel.kind if of.kernel and of.kernel.sign is Sign.READS else None)


def _signal(certainty: Certainty) -> Callable[[Claims], Outcome]:
    """As the program says; what the kernel guesses of the kind counts where its program names none, or anybody did."""

    def gives(of: Claims) -> Outcome:
        assert of.signal is not None
        kind = of.signal.kind
        if of.signal.state is State.WAITING and not _matched(of):
            guess = _guess(of)
            kind = (guess or kind) if certainty is MAYBE else (kind or guess)
        return Outcome(of.signal.state, certainty, kind, False, Source.SIGNAL)

    return gives


def _signal_agrees(of: Claims) -> Outcome:
    assert of.signal is not None and of.screen is not None
    return evolve(_screen(SURE)(of), by=Source.SIGNAL)


ROWS: tuple[Row, ...] = (
    Row(
        "stopped job",
        lambda of: _is(of.kernel, Sign.STOPPED),
        _as(State.UNKNOWN, MAYBE),
        "it needs a signal, not a key",
    ),
    Row("secret", lambda of: _is(of.kernel, Sign.SECRET), _secret, "echo is off and something reads"),
    Row(
        "agent ended, and says something else",
        lambda of: of.left is not None and of.signal is not None and not _state(of.signal, State.IDLE),
        _of("left", MAYBE),
        "it may say it for another one",
    ),
    Row(
        "agent ended, and a command runs",
        lambda of: (
            of.left is not None and of.signal is None and _is(of.shell, Sign.RUNNING) and not of.shell_is_back
        ),
        _of("left", MAYBE),
        "the shell says that a command runs",
    ),
    Row(
        "agent ended",
        lambda of: _is(of.left, Sign.OUTLIVED),
        _of("left", SURE),
        "what started it lives on: what stands there is its last screen",
    ),
    Row(
        "only the picture of an agent",
        lambda of: of.left is not None,
        _of("left", MAYBE),
        "none of its programs is there",
    ),
    Row(
        "an end, and a program says something else",
        lambda of: _is_end(of) and of.signal is not None and not _state(of.signal, State.IDLE),
        _as(State.ENDED, MAYBE),
        "it may say it for another one",
    ),
    Row(
        "a shell's prompt, and a command runs",
        lambda of: (
            _matched(of) and _is_end(of) and of.signal is None and _is(of.shell, Sign.RUNNING) and not of.shell_is_back
        ),
        _screen(MAYBE),
        "the shell says that a command runs",
    ),
    Row(
        "the form says another state",
        lambda of: _doubted(of) and _is(of.form, Sign.LOOKS) and _state(of.form, State.IDLE) and not of.signal,
        _of("form", MAYBE),
        "screens of this form are so",
    ),
    Row(
        "the form is a doubt",
        lambda of: _doubted(of) and _is(of.form, Sign.DOUBTS),
        lambda of: (_screen(MAYBE) if _matched(of) else _of("form", MAYBE))(of),
        "screens of this form are rarely so",
    ),
    Row(
        "a dialog of the program's own",
        lambda of: (
            _at_least(of.screen, Weight.OWN_WORD)
            and not refuted(of)
            and not contradicted(of)
            and not _is(of.kernel, Sign.NOBODY_READS_RAW, *_HIDDEN)
        ),
        _screen(SURE, keys=True),
        "a whole dialog of the program in front needs no other proof",
    ),
    Row(
        "a prompt that is read",
        lambda of: (
            _asks(of)
            and _at_least(of.screen, Weight.SIGN)
            and not refuted(of)
            and not contradicted(of)
            and (_reads_surely(of) or (_is(of.screen, Sign.DIALOG, Sign.SHELL_LIKE) and _known(of)))
            and not _is(of.form, Sign.LOOKS)
        ),
        _screen(SURE, keys=True),
        "screen and kernel agree",
    ),
    Row(
        "a read that blocks",
        lambda of: of.read is not None and not (_is(of.screen, Sign.OTHER) and _state(of.screen, State.IDLE, State.QUOTA)),
        _read_blocks,
        "nothing of it can go on before somebody types, whatever it asks",
    ),
    Row(
        "at rest, at a limit or at its end, and it reads",
        lambda of: (
            _is(of.screen, Sign.OTHER)
            and _state(of.screen, State.IDLE, State.QUOTA, State.ENDED)
            and _at_least(of.screen, Weight.SIGN)
            and _known(of)
            and not contradicted(of)
            and not refuted(of)
            and not (_state(of.screen, State.IDLE) and _needs_person(of))
            and not _is(of.form, Sign.LOOKS)
        ),
        _screen(SURE),
        "screen and kernel agree",
    ),
    Row(
        "works, and nothing reads or the screen changes",
        lambda of: (
            _is(of.screen, Sign.OTHER)
            and _state(of.screen, State.WORKING)
            and not contradicted(of)
            and not _needs_person(of)
            and not _is(of.form, Sign.LOOKS)
            and _at_least(of.kernel, Weight.SIGN)
            and (
                _is(of.kernel, *_NOBODY)
                or (_is(of.kernel, Sign.READS_MOVING) and _at_least(of.screen, Weight.SIGN))
            )
        ),
        _screen(SURE),
        "screen and kernel agree",
    ),
    Row(
        "the program says what its screen shows",
        lambda of: (
            _matched(of)
            and _at_least(of.signal, Weight.OWN_WORD)
            and of.screen is not None
            and _state(of.signal, of.screen.state)
            and not refuted(of)
        ),
        _signal_agrees,
        "bound to its process, it is the program's own word",
    ),
    Row(
        "a refuted prompt, and the program says what it does",
        lambda of: refuted(of) and _own_word(of) and of.read is None,
        _of("signal", SURE),
        "the prompt is quoted or answered",
    ),
    Row(
        "a dialog or a limit against the program's word",
        lambda of: (
            _matched(of)
            and not _is(of.screen, Sign.SHELL_LIKE)
            and contradicted(of)
            and not refuted(of)
            and (
                _is(of.screen, Sign.DIALOG)
                or _state(of.screen, State.QUOTA)
                or (_asks(of) and not _at_least(of.signal, Weight.OWN_WORD))
            )
        ),
        _screen(MAYBE),
        "both are told",
    ),
    Row(
        "the program's word against its screen",
        lambda of: _matched(of) and not _is(of.screen, Sign.SHELL_LIKE) and contradicted(of) and not refuted(of),
        _of("signal", MAYBE),
        "both are told",
    ),
    Row(
        "the program says what nothing else shows",
        lambda of: (
            (not _matched(of) or (_is(of.screen, Sign.SHELL_LIKE) and not _state(of.signal, State.WAITING)))
            and _own_word(of)
            and not _is(of.kernel, Sign.LINE_EDITOR)
        ),
        _signal(SURE),
        "no signature says anything else",
    ),
    Row(
        "nothing on the screen, and nothing reads",
        lambda of: (
            (of.screen is None or _is(of.screen, Sign.DRAWN, Sign.EMPTY))
            and not _is(of.foreground, Sign.PAGER)
            and _is(of.kernel, *_NOBODY)
            and _at_least(of.kernel, Weight.SIGN)
            and not _needs_person(of)
            and not _is(of.form, Sign.LOOKS)
        ),
        _as(State.WORKING, SURE),
        "318 of 320 screens",
    ),
    Row(
        "somebody says so",
        lambda of: (
            not _matched(of)
            and of.signal is not None
            and not _is(of.kernel, Sign.LINE_EDITOR)
            and not (_is(of.kernel, *_NOBODY) and _at_least(of.kernel, Weight.SIGN))
        ),
        _signal(MAYBE),
        "anything that prints can have said it",
    ),
    Row(
        "a shell that awaits a command",
        lambda of: not _matched(of) and of.signal is None and _is(of.shell, Sign.AWAITS),
        _of("shell", MAYBE),
        "it says so, and is in front",
    ),
    Row(
        "the form says another state, and nothing else is sure",
        lambda of: _is(of.form, Sign.LOOKS) and of.signal is None and not (of.progress and _state(of.form, State.WAITING)),
        _of("form", MAYBE),
        "screens of this form are so",
    ),
    Row(
        "quoted or answered",
        refuted,
        _as(State.WORKING, MAYBE),
        "nothing reads, or who is in front asks nothing: 33 of 37 and 34 of 37",
    ),
    Row("the screen alone", _matched, _screen(MAYBE), "a screen can be a picture of a prompt"),
    Row(
        "undecided, and it reads",
        lambda of: _is(of.screen, Sign.UNDECIDED) and _is(of.kernel, *_READS),
        lambda of: Outcome(State.WAITING, MAYBE, of.kernel.kind if of.kernel else None, False, Source.KERNEL),
        "it may be the prompt itself",
    ),
    Row("undecided", lambda of: _is(of.screen, Sign.UNDECIDED), _of("screen", MAYBE), "it may be anything"),
    Row(
        "a progress bar",
        lambda of: of.progress is not None and _is(of.kernel, Sign.READS) and of.signal is None,
        _of("progress", MAYBE),
        "it says that it works",
    ),
    Row(
        "the screen changes",
        lambda of: of.motion is not None and not _is(of.kernel, *_READS),
        _of("motion", MAYBE),
        "something is at work",
    ),
    Row(
        "a pager that nothing reads for",
        lambda of: _is(of.foreground, Sign.PAGER) and _is(of.kernel, Sign.NOBODY_READS),
        _as(State.WORKING, MAYBE),
        "quoted or answered",
    ),
    Row("a pager at rest", lambda of: _is(of.foreground, Sign.PAGER), _of("foreground", MAYBE), "it waits for a key"),
    Row(
        "it reads and rests",
        lambda of: _is(of.kernel, *_READS) and of.rests,
        _of("kernel", MAYBE),
        "65 of 91 screens",
    ),
    Row("a program runs", lambda of: of.foreground is not None, _of("foreground", MAYBE), "and shows no prompt"),
    Row("the screen as a whole", lambda of: of.screen is not None, _of("screen", MAYBE), "by its look alone"),
    Row("nothing is known", lambda of: True, _as(State.WORKING, MAYBE), "no signature matches"),
)
