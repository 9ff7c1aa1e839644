"""What a screen is by its form, if no signature of its own program knows it.

Signatures of form are written by hand, and few; a regression that has learnt from labelled screens of many programs
sees what they do not.  It is a guess: never sure, so that no key follows from it.
"""

from __future__ import annotations

import re

from stallkit.detect.composer import talks
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.claim import Claim, Shown, Sign, Source
from stallkit.evidence.look import Kernel, Look, guessed_kind, names_secret
from stallkit.evidence.snapshot import Snapshot, plain
from stallkit.evidence.turn import retrying
from stallkit.terminal.screen import Screen
from stallkit.word_tables import ANY_PROGRAM, ASKS_NOTHING, EDITORS, PAGERS, SHELLS
from stallkit_form.features import features
from stallkit_form.regression import Regression, shipped

STATES = (State.WAITING, State.IDLE, State.WORKING, State.ENDED)  # a limit is told by words alone
# What sort of answer a prompt calls for, and the kind that stands for it.
SORTS = {"secret": Kind.SECRET, "choice": Kind.SELECT, "line": Kind.TEXT, "key": Kind.TUI}

# How likely another state has to be: measured on programs that it had not learnt from (docs/accuracy.md).
_AGAINST_NOTHING = 0.8  # where no signature matched
_AGAINST_NOTHING_TALKING = 0.0  # ... on a screen that `talks`: signatures of form know little of those
_AGAINST_FORM = 0.86  # where a signature of form, or one of another program's, matched
_AGAINST_A_PROMPT = 0.95  # that it works, where a signature says that it asks, or something reads and nothing moves
_KEPT_SURE = 0.97  # the state of a signature of form, on a screen that talks
_WRITTEN = re.compile(r"^[^\n]*\S", re.MULTILINE)
_ROWS = 2  # with text: one alone has no form
_SECRET = 0.3  # a wrong guess must not turn a secret into text


def form_claim(look: Look, shown: Shown, regression: Regression | None = None) -> Claim | None:
    """Another state than the one so far, or a doubt about it; `regression` is the shipped one, or another.

    None if more than the form is known.
    """
    snapshot, facts = look.snapshot, look.facts
    found = asked(look, shown)
    regression = regression or shipped()
    odds = regression.odds(found, STATES) if found else None
    if not odds:
        return None
    state = State(max(odds, key=lambda one: odds[one]))
    other = state is not shown.state and odds[state] >= _needed(state, shown, snapshot.screen, facts)
    if other and _may_become(state, shown, snapshot, facts):
        kind = _kind(regression.odds(found, SORTS), snapshot, facts) if state is State.WAITING else None
        why = f"by its form it is {state} ({odds[state]:.0%}), as screens of other programs are"
        return Claim(Source.FORM, Sign.LOOKS, state, kind, why=(why,))
    doubtful = shown.certainty is Certainty.SURE and odds.get(shown.state, 1.0) < _KEPT_SURE
    if doubtful and talks(snapshot.screen):
        why = f"screens of its form are {shown.state} in {odds[shown.state]:.0%} only"
        return Claim(Source.FORM, Sign.DOUBTS, shown.state, why=(why,))
    return None


def asked(look: Look, shown: Shown) -> frozenset[str]:
    """The features by which a look is judged; none if more than its form is known."""
    if _is_settled(shown, look.snapshot, look.facts):
        return frozenset()
    return features(look.snapshot, shown, look.facts.rests)


def _is_settled(shown: Shown, snapshot: Snapshot, facts: Kernel) -> bool:
    """Whether more than the form is known: a signature of the program itself, or an agent that a pack names."""
    name = snapshot.foreground
    if shown.state not in (*STATES, State.UNKNOWN) or len(_WRITTEN.findall(snapshot.screen.text)) < _ROWS:
        return True
    if name is not None and (name in ASKS_NOTHING | EDITORS | PAGERS or name in shown.detection.agents):
        return True
    if name in SHELLS and shown.state is State.ENDED:  # at its prompt, below whatever was there
        return True
    if shown.state is State.WORKING and shown.certainty is Certainty.MAYBE and _nothing_waits(facts):
        return True
    match = shown.match
    if match is None:
        return facts.hides or bool(shown.detection.undecided)
    pack = match.pack
    if pack.general:
        return False
    if name is None or not pack.foreground:
        return True
    return name in pack.own or plain(name) in pack.foreground - ANY_PROGRAM


def _needed(state: State, shown: Shown, screen: Screen, facts: Kernel) -> float:
    """How likely a state has to be to take the place of the verdict's."""
    if shown.match is None and talks(screen):
        return _AGAINST_NOTHING_TALKING
    asks = shown.state is State.WAITING and shown.match is not None
    if state is State.WORKING and (asks or (facts.listening and facts.rests)):
        return _AGAINST_A_PROMPT
    return _AGAINST_NOTHING if shown.match is None else _AGAINST_FORM


def _nothing_waits(facts: Kernel) -> bool:
    """Whether no key is waited for: nothing reads, and the terminal is as a shell leaves it."""
    return facts.listening is False and facts.canonical is not False


def _may_become(state: State, shown: Shown, snapshot: Snapshot, facts: Kernel) -> bool:
    """Whether what is known allows that state."""
    if _nothing_waits(facts):
        return state is State.WORKING
    if shown.state is State.WORKING and _goes_on(shown, snapshot.screen, facts):
        return False  # it says so itself, and moves
    if shown.state is State.IDLE and shown.match is not None and shown.match.signature.certainty is Certainty.MAYBE:
        return False  # at the prompt of a program that chats
    if state is State.WAITING and facts.relayed and not talks(snapshot.screen):  # what reads behind it is not seen
        return False
    return not _was_printed(snapshot.screen) or state is State.WORKING


def _goes_on(shown: Shown, screen: Screen, facts: Kernel) -> bool:
    """Whether it says that it works, and moves or tries again."""
    return bool(retrying(screen, shown.detection.words) or (shown.match and facts.rests is False))


def _was_printed(screen: Screen) -> bool:
    """Whether the cursor stands at the start of an empty row below all text: what is above was printed, and goes on."""
    at = screen.cursor
    if at is None or at.column or screen.alternate or at.visible is False:
        return False
    return not any(line.strip() for line in screen.lines[at.row :])


def _kind(odds: dict[str, float], snapshot: Snapshot, facts: Kernel) -> Kind:
    """The kind of what waits, by the odds of each sort."""
    guess = guessed_kind(snapshot.screen, facts.canonical)
    if guess is Kind.SECRET or names_secret(snapshot.screen.paragraph.text) or odds.get("secret", 0.0) >= _SECRET:
        return Kind.SECRET
    return SORTS[max(odds, key=lambda one: odds[one])] if odds else guess
