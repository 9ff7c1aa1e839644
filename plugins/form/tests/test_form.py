"""What is told by the form of a screen: never sure, never pressed, and not if more than the form is known."""

from __future__ import annotations

from functools import partial

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from stallkit_form.claim import SORTS, STATES, form_claim
from stallkit_form.features import features, tokens
from stallkit_form.regression import Regression, parse, shipped

from stallkit.detect.composer import talks
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, Clause, Dismissal, Kind, Pack, Signature, State
from stallkit.evidence.claim import SILENT, Classifier, Sign, installed_classifier
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot, TtyFacts
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.press.policy import Press
from stallkit.press.policy_file import PROFILES
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen

RAW, LINES = TtyFacts(False, False), TtyFacts(True, True)
POLLS = KernelFacts(listening=True, how="epoll", foreground="newcomer")
READS_NOT = KernelFacts(listening=False, foreground="newcomer")
CHAT = "A new agent v1\nmodel: large  12k tokens\n\n  Go on and change the file?\n  > it is up to you"
FORM = Signature(
    id="form",
    title="a form",
    state=State.WAITING,
    kind=Kind.CONFIRM,
    all_of=[Clause(text="Go on and change the file?")],
    dismissal=Dismissal(keys=Keys.parse("Enter"), because="a test"),
    hits=["Go on and change the file?"],
)
NOTHING = Engine([])


def by(regression: Regression) -> Classifier:
    return partial(form_claim, regression=regression)


def saying(state: State, sort: str = "line") -> Classifier:
    """A classifier that is all but certain, whatever it sees."""
    classes = (*map(str, STATES), *SORTS)
    return by(Regression(classes, tuple(900 if one in (state, sort) else 0 for one in classes), {}))


def look(
    shown: str, kernel: KernelFacts | None = POLLS, tty: TtyFacts = RAW, cursor: tuple[int, int] = (4, 4)
) -> Snapshot:
    screen = Screen.from_text(shown, cursor=cursor, size=(80, 24), cursor_visible=True)
    process = ProcessFacts(kernel.foreground) if kernel else None
    return Snapshot(screen=screen, process=process, kernel=kernel, tty=tty if kernel else None, quiet_s=1.0)


def told(now: Snapshot, classifier: Classifier | None, engine: Engine = NOTHING) -> Verdict:
    return judge(engine.detect(now.screen), now, classifier=classifier)


def engine(**of: object) -> Engine:
    return Engine([Pack(name="forms", signatures=[FORM], **of)])  # type: ignore[arg-type]


def test_it_is_the_installed_classifier() -> None:
    assert str(installed_classifier()).startswith("stallkit-form ")
    now = look(CHAT, kernel=None)
    assert told(now, None) == told(now, by(shipped())) != told(now, SILENT)
    claims = told(now, None).claims
    assert claims is not None and claims.form is not None and claims.form.sign is Sign.LOOKS


@pytest.mark.parametrize("state", STATES)
def test_what_nothing_matches_is_told_by_its_form_and_never_surely(state: State) -> None:
    found = told(look(CHAT), saying(state))
    assert (found.state, found.certainty) == (state, Certainty.MAYBE), found.reasons


def test_a_silent_classifier_changes_nothing() -> None:
    assert told(look(CHAT), SILENT).state is State.WAITING  # since something reads, and no signature says what


@pytest.mark.parametrize(("sort", "kind"), SORTS.items())
def test_the_kind_is_that_of_the_sort(sort: str, kind: Kind) -> None:
    found = told(look(CHAT, kernel=None), saying(State.WAITING, sort))
    assert (found.state, found.kind) == (State.WAITING, kind)


def test_a_secret_is_never_taken_for_text() -> None:
    shown = CHAT.replace("> it is up to you", "Password:")
    assert told(look(shown, kernel=None, cursor=(12, 4)), saying(State.WAITING, "line")).kind is Kind.SECRET


def test_a_form_gives_way_and_a_signature_of_the_program_does_not() -> None:
    idle = saying(State.IDLE)
    assert told(look(CHAT), idle, engine(general=True)).state is State.IDLE
    assert told(look(CHAT), idle, engine()).state is State.WAITING
    assert told(look(CHAT), idle, engine(foreground=["newcomer"])).state is State.WAITING
    assert told(look(CHAT), idle, engine(foreground=["another"])).state is State.IDLE


def test_a_form_that_is_unlike_what_waits_is_doubtful() -> None:
    unlike = by(Regression(tuple(map(str, STATES)), (50, 0, 0, 0), {}))
    sure = told(look(CHAT), SILENT, engine(general=True))
    found = told(look(CHAT), unlike, engine(general=True))
    assert (sure.state, sure.certainty) == (State.WAITING, Certainty.SURE)
    assert (found.state, found.certainty) == (State.WAITING, Certainty.MAYBE)


@pytest.mark.parametrize(
    "now",
    [
        look("Go on?", cursor=(6, 0)),  # one row has no form
        look(CHAT, evolve(POLLS, foreground="cat")),  # it asks nothing
        look(CHAT, evolve(POLLS, foreground="vim")),  # it is being edited
        look(CHAT, READS_NOT, LINES),  # nobody reads
        look(CHAT, evolve(POLLS, stopped=True)),
        look(f"{CHAT}\n", None, cursor=(0, 5)),  # it was printed, and the next row comes
    ],
)
def test_what_is_known_otherwise_is_not_told_by_form(now: Snapshot) -> None:
    assert told(now, saying(State.IDLE)).state is told(now, SILENT).state


@given(
    state=st.sampled_from(STATES),
    general=st.booleans(),
    kernel=st.sampled_from([POLLS, READS_NOT, None]),
    tty=st.sampled_from([RAW, LINES]),
)
def test_no_policy_presses_what_a_form_says(
    state: State, general: bool, kernel: KernelFacts | None, tty: TtyFacts
) -> None:
    now = look(CHAT, kernel, tty)
    before, found = (told(now, one, engine(general=general)) for one in (SILENT, saying(state)))
    if found.reasons != before.reasons:
        assert found.certainty is Certainty.MAYBE
        assert not any(isinstance(policy.decide(found), Press) for policy in PROFILES.values())


@given(st.text(max_size=400), st.booleans())
def test_any_screen_has_features_and_the_shipped_weights_say_something_of_them(text: str, alternate: bool) -> None:
    now = Snapshot(screen=Screen.from_text(text, size=(80, 24), alternate=alternate))
    odds = shipped().odds(features(now, told(now, SILENT), None), STATES)
    assert set(odds) == set(STATES) and sum(odds.values()) == pytest.approx(1.0)


def test_what_is_drawn_in_other_ways_has_the_same_tokens() -> None:
    assert tokens("│ ❯ 1. Yes (12s)  │") == tokens("┃ › 7. yes (3s)   ┃")
    assert tokens("⠋ Thinking… 12s") == tokens("✻ thinking... 9s")


def test_a_feature_stands_twice_where_the_screen_talks() -> None:
    now = look(CHAT)
    found = features(now, told(now, SILENT), True)
    assert talks(now.screen) and {f"talks, {one}" for one in found if not one.startswith("talks, ")} < found


def test_no_feature_that_has_a_weight_names_a_program_alone() -> None:
    """The file is made of what several programs have: `scripts/train_classifier.py` leaves out the rest."""
    regression = shipped()
    assert set(regression.classes) == {*STATES, *SORTS} and len(regression.weights) > 1000
    assert all(len(row) == len(regression.classes) for row in regression.weights.values())


def test_a_table_is_read_as_it_is_written() -> None:
    read = parse("\ton\toff\n\t0\t-50\nhot\t100\t0\n")
    assert (read.classes, read.start, read.weights) == (("on", "off"), (0, -50), {"hot": (100, 0)})
    assert read.odds(["hot", "unknown"], ["on", "no class"]) == {"on": 1.0}
