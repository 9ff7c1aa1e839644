"""The only way to a key press: decide, confirm, commit.

A request is a value: what a policy decided (`Press`, `Resume`), a person's answer (`Answer`, `Pick`), text for an
agent's composer, or forced text.  `confirm` looks again and refuses on every doubt; `commit` presses once and verifies;
`press` does both, and `answer` all of it for a person.  The transport checks again at the moment of pressing.
Nothing is ever pressed twice.  A machine's press needs the same signature in the same place in two looks, a sure
verdict, and the foreground process that the pack names.  Outside canonical mode keys go one at a time (`strokes`), each
after a look that passes all of that.  Escape for an agent that hangs is the one key for a screen that moves.
"""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Callable, Self

from attrs import evolve, field, frozen

from stallkit.detect.engine import Detection, Engine, Match
from stallkit.detect.menu import menu_of
from stallkit.detect.signature import Certainty, Expect, Kind, State
from stallkit.errors import KeysRefused, SessionGone, TransportError
from stallkit.evidence.snapshot import KEYS_ALONE_S, Snapshot
from stallkit.json_form import json_form
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.press.policy import Choose, Decision, Interrupt, Press, Resume
from stallkit.press.reader_check import UNREAD, came_later, doubt_of_reader, unproven
from stallkit.press.strokes import Compose, Strokes, Typing, choosing, doubt_of_interrupt, draft_at_prompt
from stallkit.redact.redact import redact
from stallkit.short_repr import short_repr
from stallkit.terminal.keys import Key, Keys
from stallkit.transports.base import Below, Clicks, Moving, Transport, look


@frozen
class Answer:
    """Keys that a person gives; `text` where they type text, `secret` where that must not be shown."""

    keys: Keys
    text: bool = False
    secret: bool = False


@frozen
class Pick:
    """An option that a person chooses, by its label; several: these are ticked, no other, and then sent."""

    option: str | tuple[str, ...]


@frozen
class Forced:
    """Keys that a person wants pressed, whatever the session shows."""

    keys: Keys


class End(StrEnum):
    """How a press ended."""

    CLEARED = "cleared"  # the prompt went away
    REPLACED = "replaced"  # by another prompt
    UNCHANGED = "unchanged"  # it is still there
    GONE = "gone"  # the session has ended
    REFUSED = "refused"  # nothing was pressed
    UNKNOWN = "unknown"  # perhaps pressed; the effect could not be seen


@frozen
class Outcome:
    """The outcome of a press; true if the answered prompt is no longer there.

    A false outcome may have pressed a key as well: see `pressed`.

    >>> outcome = Outcome(End.REFUSED, "the screen changed between two looks")
    >>> bool(outcome), outcome.pressed
    (False, False)
    """

    end: End
    why: str
    keys: Keys | None = None  # the keys that were pressed, once; None: none were
    match: Match | None = None  # of the prompt that replaced the answered one
    after: Snapshot | None = field(default=None, eq=False)  # the look that shows it

    __repr__ = short_repr("end", "why", "match", of_text=redact)  # without its keys: they may be a secret

    def __bool__(self) -> bool:
        return self.end in (End.CLEARED, End.REPLACED)

    @property
    def pressed(self) -> bool:
        """Whether a key was sent, or may have been."""
        return self.keys is not None


@json_form(Outcome)
@frozen
class OutcomeJson:
    """How a press ended."""

    end: End
    keys: str | None
    why: str

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        return cls(outcome.end, str(outcome.keys) if outcome.keys is not None else None, outcome.why)

    @property
    def value(self) -> Outcome:
        return Outcome(self.end, self.why, None if self.keys is None else Keys.parse(self.keys))


MOVED = "the screen changed between two looks"
PRESSED = "a key was pressed at this very screen a moment ago"
SEALED = "it is sealed: nothing goes in but replies to its own notices (stallkit stuck list)"
POLL_S = 0.05  # between looks while a press takes effect: too short for a person to notice
# Seconds without a second press at an unchanged screen: longer than programs take to react, so that two checks of one
# session at the same time press once.
REST_S = 10.0
MOVES_S = 0.57  # between two looks that tell which rows of a screen move: no whole turn of a usual spinner
VERIFY_TIMEOUT_S = 3.0  # for a program to show that it took an answer
INTERRUPT_TIMEOUT_S = 10.0  # for an agent to end its turn
REACT_S = 0.3  # a prompt stands so long with what was typed before the next key, if nothing but a key has it go on
# For which an answer is tried again: while the program draws at the very moment of each try, or what asks looks as what
# was answered less than `REST_S` ago.
TRIES_S = 12.0
AGAIN_S = 10.0  # in which a key is tried again that the program's own output kept back: many write now and then
SURE_S = 2.0  # for an answered prompt's terminal to rest, so that the next key is beyond doubt
COMPOSE_TIMEOUT_S = 15.0  # for an agent to show a long text, or to take it, on a busy machine


Request = Decision | Answer | Pick | Forced | Compose  # what may be asked of the gate


def press(
    transport: Transport,
    request: Request,
    seen: Snapshot,
    engine: Engine,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Press what was decided in the session that was `seen`, once, and report the outcome.

    Every doubt refuses, as does a decision without keys; a session or server that fails is an outcome, not an error.
    A person's answer, and a machine's key at a dialog that was wholly recognised, is tried again for some seconds if
    the program did something at the very moment of the press, or did not read just then: for a person the dialog's own
    rows must be as they were seen, whatever moves above them, for a machine the whole screen.
    `clock` and `sleep` are in seconds.
    """
    if isinstance(request, Interrupt):
        sleep(MOVES_S)
    until, persons = clock() + TRIES_S, isinstance(request, Answer | Pick)
    recognised = isinstance(request, Press | Choose) and judged(engine, seen).detection.dialog is not None
    while True:
        now = confirm(transport, request, seen, engine)
        outcome = now if isinstance(now, Outcome) else commit(transport, request, now, engine, clock, sleep)
        passes = not isinstance(now, Outcome) or _passes(now, seen, engine, persons)
        if not (passes and outcome.end is End.REFUSED and (persons or recognised)):
            return outcome
        if clock() >= until:
            return evolve(outcome, why=f"{outcome.why}; it was tried again for {TRIES_S:g} s")
        sleep(POLL_S)


def answer(
    transport: Transport,
    given: str | Keys,
    seen: Snapshot,
    engine: Engine,
    *,
    secret: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Answer the prompt that was `seen`: with the label of an option, with a text and Enter, or with keys.

    An option is chosen by its own key, or by moving to it.  A text is typed as one line in canonical mode, else one
    character at a time as long as the prompt stands and shows it, and Enter follows only then.  Refused, with nothing
    pressed, where the session is not waiting or has changed since, where somebody typed ahead, where a `secret` would
    be shown, and where other text would be typed into a prompt for a secret.  `clock` and `sleep` are in seconds.
    Raises ValueError for a text that is not one line or cannot be typed; a session or server that fails is an outcome.

    >>> import sys
    >>> from stallkit import Engine
    >>> from stallkit.transports.pty import PtyTransport
    >>> session = PtyTransport.spawn([sys.executable, "-c", "input('Proceed? [y/N] '); input('Sure? [y/N] ')"])
    >>> while "Proceed" not in session.capture().screen.text: pass
    >>> outcome = answer(session, "y", session.capture(), Engine.default())
    >>> str(outcome.end), outcome.match.line
    ('replaced', 'Sure? [y/N]')
    >>> session.close()
    """
    request: Answer | Pick
    if isinstance(given, Keys):
        request = Answer(given)
    else:
        keys, named = Keys.line(given), not secret and _names_option(given, engine.detect(seen.screen))
        request = Pick(given) if named else Answer(keys, text=True, secret=secret)
    return press(transport, request, seen, engine, clock, sleep)


def _names_option(given: str, detection: Detection) -> bool:
    menu, dialog = menu_of(detection), detection.dialog
    if dialog is not None and dialog.button(given) is not None:
        return True
    return menu is not None and menu.place(given) is not None


def _passes(refused: Outcome, seen: Snapshot, engine: Engine, persons: bool) -> bool:
    """Whether what kept the key back may be over in a moment."""
    now = refused.after
    if now is None:  # it could not be looked at
        return False
    if refused.why == MOVED:
        return _still_asks(seen, now, engine, persons)
    if refused.why == PRESSED:
        return persons
    # An agent that draws reads nothing meanwhile; somebody else who reads is no matter of a moment.
    match, nobody = judged(engine, seen).match, now.kernel is not None and not now.kernel.readers
    return nobody and refused.why in (UNREAD, unproven(match.pack, None) if match else None)


def _still_asks(seen: Snapshot, now: Snapshot, engine: Engine, persons: bool) -> bool:
    """Whether the same prompt stands on a screen that moved, or may: what blinks is soon again as it was seen."""
    was, found = judged(engine, seen).detection, judged(engine, now).detection
    if was.match is None or found.match is None:
        return False
    if was.dialog and found.dialog:  # a person's answer is bound to its rows: they are others
        same = seen.below(was.dialog.first).screen.fingerprint == now.below(found.dialog.first).screen.fingerprint
        return same and not persons
    return (found.match.signature, found.match.line) == (was.match.signature, was.match.line)


def confirm(transport: Transport, request: Request, seen: Snapshot, engine: Engine) -> Snapshot | Outcome:
    """Look again: the look to press at, or why nothing is pressed.  Errors of the transport are outcomes."""
    if (without := _without_keys(request)) is not None:
        return without
    moves = isinstance(request, Interrupt)
    try:
        now = transport.capture_moving() if moves and isinstance(transport, Moving) else look(transport)
    except SessionGone as error:
        return Outcome(End.GONE, str(error))
    except TransportError as error:
        return Outcome(End.REFUSED, str(error))
    verdict = _judged(request, engine, now, seen)
    row, was_row = _first_row(request, verdict), _first_row(request, judged(engine, seen))
    doubt = _changed(seen.below(was_row), now.below(row), moves) or _doubt(request, seen, now, verdict)
    doubt = doubt or _switched(seen, now) or _typed_ahead(request, now, verdict)
    if doubt is None and row:
        doubt = came_later(now, seen)
    if doubt is None and isinstance(plan := _strokes(request, now.below(row), verdict), str):
        doubt = plan
    return Outcome(End.REFUSED, doubt, after=now) if doubt else now


def commit(
    transport: Transport,
    request: Request,
    now: Snapshot,
    engine: Engine,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Press each key once, the first at the look that `confirm` gave, and verify.  Transport errors are outcomes."""
    if (without := _without_keys(request)) is not None:
        return without
    verdict = _judged(request, engine, now, now)
    row = _first_row(request, verdict)
    plan = _strokes(request, now.below(row), verdict)
    if isinstance(plan, str):
        return Outcome(End.REFUSED, plan, after=now)
    first = before = now
    done, pressed, until, missed = plan, None, 0.0, 0
    while True:
        try:
            _send(transport, request, plan.keys, now, row)
        except KeysRefused as error:
            if pressed is None:
                return Outcome(End.REFUSED, error.why, after=now)
            if clock() >= until:
                why = f"{pressed} was pressed, and {plan.keys} was not: {error.why}"
                return Outcome(End.UNCHANGED, why, pressed, after=now)
            missed += 1
            sleep(missed * POLL_S)  # what blinks must not meet each try
        except SessionGone as error:
            return Outcome(End.GONE, str(error), pressed)
        except TransportError as error:
            return Outcome(End.UNKNOWN, f"the keys may have been pressed: {error}", _and(pressed, plan.keys))
        else:
            done, before, pressed = plan, now, _and(pressed, plan.keys)
            until, missed = clock() + AGAIN_S, 0
        ended = _verify(transport, request, done, pressed, first, before, row, engine, clock, sleep)
        if isinstance(ended, Outcome):
            return ended
        plan, now = ended


def _and(pressed: Keys | None, more: Keys) -> Keys:
    """All that was pressed; what was typed one character at a time is one text."""
    joined: list[Key] = []
    for key in (*(pressed.sequence if pressed else ()), *more.sequence):
        before = joined.pop().literal if key.name is None and joined and joined[-1].name is None else ""
        joined.append(Key(literal=before + key.literal) if before else key)
    return Keys(tuple(joined))


def _send(transport: Transport, request: Request, keys: Keys, now: Snapshot, row: int) -> None:
    if keys.clicks and not (isinstance(transport, Clicks) and transport.takes_clicks(now)):
        raise KeysRefused(transport.target, "its program takes no clicks of the mouse, or that is not known")
    if row and isinstance(transport, Below):
        transport.send_below(keys, now, row)
    elif not isinstance(request, Interrupt):
        transport.send(keys, now)
    elif isinstance(transport, Moving):
        transport.send_moving(keys, now)
    else:
        raise KeysRefused(transport.target, "its transport presses no key at a screen that moves")


# --- what is to be pressed ---


def _keys(request: Request) -> Keys | None:
    match request:
        case Press(signature, given):
            return given or (signature.dismissal.keys if signature.dismissal else None)
        case Resume() | Answer() | Forced() | Compose() | Interrupt():
            return request.keys
    return None


def _strokes(request: Request, now: Snapshot, verdict: Verdict) -> Strokes | str:
    """The keys that are pressed first, and what may follow them; or why there are none."""
    if isinstance(request, Choose | Pick):
        return choosing(request.option, verdict, now, exactly=isinstance(request, Choose))
    keys = _keys(request)
    assert keys is not None  # `_without_keys` has said so
    if isinstance(request, Press | Answer):
        return Typing.of(keys, now, isinstance(request, Answer) and request.secret)
    return Typing(keys, (), now.screen)


def _first_row(request: Request, verdict: Verdict) -> int:
    """The first row of what the request is bound to: of a dialog that a person answers, else of the whole screen."""
    dialog = verdict.detection.dialog if isinstance(request, Answer | Pick) else None
    return dialog.first if dialog else 0


def _judged(request: Request, engine: Engine, now: Snapshot, before: Snapshot) -> Verdict:
    if isinstance(request, Compose):
        return judged(engine, request.beneath(now), request.beneath(before))
    return judged(engine, now, before)


def _without_keys(request: Request) -> Outcome | None:
    """The outcome of a request that presses nothing; None of one that does."""
    if isinstance(request, Choose | Pick) or _keys(request) is not None:
        return None
    match request:
        case Press():
            return Outcome(End.REFUSED, "the signature gives no keys")
        case Resume():
            return Outcome(End.REFUSED, "nothing is configured for it")
    return Outcome(End.REFUSED, getattr(request, "why", "nothing is to be pressed"))


def _answers(request: Request, verdict: Verdict) -> bool:
    """Whether this verdict is about the prompt to answer; only a machine's press names one."""
    match = verdict.match
    return isinstance(request, Press | Choose) and match is not None and match.signature == request.signature


def _verify_timeout_s(request: Request) -> float:
    """How long the request's effect may take."""
    match request:
        case Press(signature) | Choose(signature) if signature.dismissal is not None:
            return signature.dismissal.verify_timeout_s
        case Compose():
            return COMPOSE_TIMEOUT_S
        case Interrupt():
            return INTERRUPT_TIMEOUT_S
    return VERIFY_TIMEOUT_S


def _must_go(request: Request) -> bool:
    """Whether the prompt has to go away; for other requests any change of the screen is enough."""
    match request:
        case Press(signature) | Choose(signature) if signature.dismissal is not None:
            return signature.dismissal.expect is Expect.GONE
    return False


# --- reasons against it at the second look ---


def _changed(seen: Snapshot, now: Snapshot, moves: bool) -> str | None:
    """What is different at the second look, or forbids any key; or None.  `moves`: its rows may."""
    if now.identity != seen.identity:
        return "it is another session now"
    if now.alive is False:
        return "its program ended"
    if now.sealed:
        return SEALED
    if now.accepts_keys is False:
        return "it takes no keys now: it is in copy mode, or would type into other panes as well"
    if rests(now, now.taken_at):
        return PRESSED
    if not moves and now.screen.fingerprint != seen.screen.fingerprint:
        return MOVED
    if now.foreground != seen.foreground:
        return f"{now.foreground} took the foreground from {seen.foreground}"
    return None


def rests(seen: Snapshot, at: float | None) -> bool:
    """Whether a key was pressed at this very screen so shortly before that none is pressed again."""
    return seen.pressed_at is not None and at is not None and at - seen.pressed_at < REST_S


def _switched(seen: Snapshot, now: Snapshot) -> str | None:
    """Whether the terminal takes input in another way at the second look, where both know."""
    if seen.tty is None or now.tty is None or evolve(seen.tty, unread=now.tty.unread) == now.tty:
        return None
    return "its terminal takes input in another way now: echo or canonical mode changed"


def _doubt(request: Request, seen: Snapshot, now: Snapshot, verdict: Verdict) -> str | None:
    """The reason against the request at what the session shows now; or None."""
    match request:
        case Press() | Choose():
            return _doubt_of_press(request, now, verdict) or doubt_of_reader(verdict, now, seen)
        case Answer() | Pick():
            return _doubt_of_answer(request, now, verdict)
        case Compose():
            return request.doubt(verdict, now)
        case Interrupt():
            return doubt_of_interrupt(verdict, now, seen)
        case Resume():
            lifted = f"it is {verdict.state} now: no limit holds it up"
            return lifted if verdict.state is not State.QUOTA else doubt_of_reader(verdict, now, seen)
    return None


def _doubt_of_press(request: Press | Choose, now: Snapshot, verdict: Verdict) -> str | None:
    match = verdict.match
    if match is None or not _answers(request, verdict):
        return "the prompt is no longer there"
    if verdict.state is not State.WAITING or not verdict.sure_by_screen:
        return "doubtful: " + "; ".join(verdict.reasons[1:])
    if doubt := unproven(match.pack, now.kernel):
        return doubt
    return verdict.detection.ambiguity if isinstance(request, Press) else None  # a menu is read by its rows


def _doubt_of_answer(request: Answer | Pick, now: Snapshot, verdict: Verdict) -> str | None:
    if verdict.state not in (State.WAITING, State.IDLE, State.ENDED):
        return f"nothing waits for it: it is {verdict.state} ({verdict.reasons[-1]})"
    asks_secret, secret = is_secret(verdict, now), isinstance(request, Answer) and request.secret
    if secret and not asks_secret:
        return "it does not ask for a secret, and would show what is typed"
    if asks_secret and not secret and (isinstance(request, Pick) or request.text):
        return "what it asks for is a secret, and the answer was not given as one"
    return None


def _typed_ahead(request: Request, now: Snapshot, verdict: Verdict) -> str | None:
    """Why somebody else's keys would be a part of the answer; None if none are known."""
    if isinstance(request, Forced):
        return None
    if now.tty is not None and now.tty.unread:
        return "keys wait unread in its terminal: somebody typed ahead"
    if isinstance(request, Press | Choose | Answer) and (text := draft_at_prompt(verdict, now.screen)) is not None:
        return f"somebody's text stands before the cursor: {text!r}"
    return None


def is_secret(verdict: Verdict, seen: Snapshot) -> bool:
    """Whether the prompt asks for a secret: by its kind, or because the terminal hides what is typed."""
    hides = seen.tty is not None and seen.tty.echo is False and seen.tty.canonical is True
    return hides or verdict.kind is Kind.SECRET


# --- the effect ---


def _verify(
    transport: Transport,
    request: Request,
    plan: Strokes,
    pressed: Keys,
    first: Snapshot,
    before: Snapshot,
    row: int,
    engine: Engine,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Outcome | tuple[Strokes, Snapshot]:
    """Look until the next key may follow, or the effect of the press is seen for sure, or its time is over.

    `first` is the look before any key, `before` the one before the latest; what is asked begins at `row`.
    """
    begun = clock()
    deadline = begun + _verify_timeout_s(request)
    stands_s, rests_s = REACT_S, REACT_S if plan.more else 0.0
    outcome: Outcome | None = None
    standing: float | None = None
    previous, since = before, begun
    while True:
        try:
            after = look(transport)
        except SessionGone as error:
            return Outcome(End.GONE, f"its session ended: {error.why}", pressed)
        except TransportError as error:
            return Outcome(End.UNKNOWN, f"pressed, then {error}", pressed)
        if after.alive is False:
            return Outcome(End.GONE, "its program ended", pressed, after=after)
        earlier, follows = outcome, plan.follows(after.screen.below(row))
        if follows is not None:
            standing = clock() if standing is None else standing
            doubt = _doubt_between(request, first, previous, after, engine)
            alone = after.kernel is None or after.kernel.keys_alone is not False
            stands_s = REACT_S if alone else KEYS_ALONE_S
            if doubt is None and clock() >= standing + stands_s:
                return follows, after
            why = f"{pressed} was pressed, and nothing after it: {doubt or 'it did not stay as it is'}"
            outcome = Outcome(End.UNCHANGED, why, pressed, after=after)
        else:
            verdict, standing = _judged(request, engine, after, previous), None
            outcome = _effect(request, pressed, before, after, row, verdict, plan)
            since = since if earlier is not None and earlier.end is outcome.end else clock()
            agreed = earlier is not None and earlier.end is outcome.end and clock() >= since + rests_s
            if agreed and outcome.end is not End.UNCHANGED and not _may_wait(verdict):
                return outcome
        if clock() >= (deadline if standing is None else max(deadline, standing + stands_s + SURE_S)):
            return outcome
        previous = after
        sleep(POLL_S)


def _doubt_between(
    request: Request, first: Snapshot, previous: Snapshot, after: Snapshot, engine: Engine
) -> str | None:
    """The reason against the next key, judged without what the keys before it left on the screen."""
    beneath, before = evolve(after, screen=first.screen), evolve(previous, screen=first.screen)
    doubt = _changed(first, beneath, moves=False) or _switched(first, after)
    if doubt is None and after.tty is not None and after.tty.unread:
        doubt = "it has not read them yet"
    return doubt or _doubt(request, before, beneath, judged(engine, beneath, before))


def _effect(
    request: Request, keys: Keys, before: Snapshot, after: Snapshot, row: int, verdict: Verdict, plan: Strokes
) -> Outcome:
    """The effect of a press, as one look shows it."""
    waits, match = verdict.state is State.WAITING, verdict.match
    there = not _must_go(request) or (match is not None and match.line in before.screen.text)
    same = there and _answers(request, verdict)
    if isinstance(request, Interrupt) and verdict.state in (State.WORKING, State.UNKNOWN):
        why = f"it still says that it works, {INTERRUPT_TIMEOUT_S:g} s after Escape"
        return Outcome(End.UNCHANGED, why, keys, after=after)
    was, shown = before.screen.below(row), after.screen.below(row)
    moved = shown.fingerprint != was.fingerprint or after.foreground != before.foreground
    if isinstance(request, Compose) and not request.took_effect(after):
        still = "typed, but the text does not stand alone in the composer, and Enter was not pressed"
        what = still if request.after else "Enter was pressed, and the text still stands in the composer"
        return Outcome(End.UNCHANGED, f"{what}, after {COMPOSE_TIMEOUT_S:g} s", keys, after=after)
    if plan.more and not moved:
        return Outcome(End.UNCHANGED, f"{keys} was pressed, and nothing after it: {plan.unmoved}", keys, after=after)
    if not moved or (waits and same and not plan.more and _must_go(request)):
        why = f"the prompt is still there after {_verify_timeout_s(request):g} s"
        return Outcome(End.UNCHANGED, why, keys, after=after)
    if plan.more and plan.still_there(shown):
        why = f"{keys} was pressed, and nothing after it: the prompt stands there otherwise than was to be expected"
        return Outcome(End.UNCHANGED, why, keys, after=after)
    if waits and not same:
        return Outcome(End.REPLACED, "another prompt is there now", keys, verdict.match, after)
    return Outcome(End.CLEARED, "the prompt went away", keys, after=after)


def _may_wait(verdict: Verdict) -> bool:
    """Whether the screen may be half drawn, and needs another look."""
    return verdict.state is State.WAITING and verdict.certainty is Certainty.MAYBE
