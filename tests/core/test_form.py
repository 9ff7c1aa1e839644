"""What is told by the form of a screen: never sure, never pressed, and not where more than the form is known."""

from __future__ import annotations

from itertools import product

import pytest
from acme import ENGINE
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from stallkit.core.classifier import SILENT, Classifier, Rows, parse, shipped
from stallkit.core.engine import Engine
from stallkit.core.facts import KernelFacts, TtyFacts
from stallkit.core.features import features, talks, tokens
from stallkit.core.keys import Keys
from stallkit.core.screen import Screen
from stallkit.core.signature import Certainty, Clause, Dismissal, Kind, Pack, Signature, State
from stallkit.core.verdict import ProcessFacts, Snapshot, Verdict
from stallkit.evidence import form
from stallkit.evidence.form import SORTS, STATES, _read
from stallkit.judging.judge import judge
from stallkit.press.decisions import Press
from stallkit.press.policy_file import PROFILES

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


def saying(state: State, sort: str = "line") -> Classifier:
    """A classifier that is all but certain, whatever it sees."""
    classes = (*map(str, STATES), *SORTS)
    return Classifier(classes, tuple(900 if one in (state, sort) else 0 for one in classes), {})


def look(
    shown: str, kernel: KernelFacts | None = POLLS, tty: TtyFacts = RAW, cursor: tuple[int, int] = (4, 4)
) -> Snapshot:
    screen = Screen.from_text(shown, cursor=cursor, size=(80, 24), cursor_visible=True)
    process = ProcessFacts(kernel.foreground) if kernel else None
    return Snapshot(screen=screen, process=process, kernel=kernel, tty=tty if kernel else None, quiet_s=1.0)


def told(now: Snapshot, by: Classifier, engine: Engine = ENGINE) -> Verdict:
    return judge(engine.detect(now.screen), now, classifier=by)


def engine(**of: object) -> Engine:
    return Engine([Pack(name="forms", signatures=[FORM], **of)])  # type: ignore[arg-type]


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
    unlike = Classifier(tuple(map(str, STATES)), (50, 0, 0, 0), {})
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
def test_any_screen_has_features_and_the_shipped_classifier_says_something_of_them(text: str, alternate: bool) -> None:
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
    classifier = shipped()
    assert isinstance(classifier.weights, Rows)
    table = classifier.weights.table()
    assert set(classifier.classes) == {*STATES, *SORTS} and len(table) > 1000
    assert all(one.count("\t") + 1 == len(classifier.classes) for one in table.values())


def test_a_table_is_read_as_it_is_written() -> None:
    read = parse("\ton\toff\n\t0\t-50\nhot\t100\t0\n")
    assert isinstance(read.weights, Rows)
    assert (read.classes, read.start, read.weights.table()) == (("on", "off"), (0, -50), {"hot": "100\t0"})


@given(st.dictionaries(st.text("ab \x08\x7f", max_size=3), st.just("1\t2")), st.text("ab \x08\x7f", max_size=3))
def test_a_row_is_found_before_and_after_the_table_is_read(table: dict[str, str], key: str) -> None:
    rows = Rows(f"{key}\t{row}" for key, row in table.items())
    for one in (key, *table):
        assert rows.get(one) == table.get(one)
    searched = rows.get
    while rows.get == searched:
        searched(key)
    for one in (key, *table):
        assert rows.get(one) == table.get(one)


def test_what_is_remembered_of_a_look_is_all_that_its_features_come_from() -> None:
    """Looks that are taken for the same one have the same features, whatever else differs."""
    known: dict[object, frozenset[str]] = {}
    screens = [Screen.from_text(text) for text in (CHAT, "one\n> ", "12:34:56 works\n> ")]
    screens += [
        Screen.from_text(CHAT, cursor=(2, 4)),
        evolve(screens[1], alternate=True),
        evolve(screens[1], title="t"),
    ]
    kernels = [None, READS_NOT, POLLS, evolve(POLLS, running=3), evolve(POLLS, how="read"), evolve(POLLS, pid=7)]
    for screen, kernel, tty, name in product(screens, kernels, (None, RAW, LINES), (None, "bash", "node")):
        process = None if name is None else ProcessFacts(name)
        first = Snapshot(screen, process=process, kernel=kernel, tty=tty)
        for now in (first, evolve(first, target="other", taken_at=3.0, quiet_s=2.0, alive=True, identity="x")):
            verdict = judge(ENGINE.detect(screen), now, classifier=SILENT)
            for one in (verdict, evolve(verdict, state=State.IDLE), evolve(verdict, kind=Kind.SECRET)):
                for rests in (None, True, False):
                    found = features(now, one, rests)
                    assert known.setdefault(_read(one, now, rests), found) == found
    assert len(set(known.values())) > 200


def test_the_same_look_is_told_the_same_when_it_is_remembered() -> None:
    now = Snapshot(Screen.from_text(CHAT))
    form._known.clear()
    first = judge(ENGINE.detect(now.screen), now)
    assert len(form._known) >= 1
    assert judge(ENGINE.detect(now.screen), evolve(now, target="other")) == first
    assert judge(ENGINE.detect(now.screen), now, classifier=shipped()) == first
