"""The engine says what a plain loop over ordered signatures says (`plain_loop`), however it gets there."""

from __future__ import annotations

import os
import time
from itertools import product

import attrs
import pytest
import strategies
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from plain_loop import SEARCHES, engines, reference, said

from stallkit.detect.engine import Engine, Fate
from stallkit.detect.matcher import Keywords
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.terminal.screen import Screen

THOROUGH = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
EXAMPLES = int(os.environ.get("STALLKIT_EXAMPLES", "200"))  # 50,000 before a release


@settings(THOROUGH, max_examples=EXAMPLES)
@given(case=strategies.cases())
def test_same_signature_as_the_plain_loop(case: strategies.Case) -> None:
    made = engines(case.packs)
    for screen in case.screens:
        expected = reference(case.packs, screen)
        assert [said(engine, screen) for engine in made] == [expected] * len(made)


@settings(THOROUGH, max_examples=60)
@given(case=strategies.cases(), data=st.data())
def test_so_it_does_where_a_line_is_longer_than_its_bound(case: strategies.Case, data: st.DataObject) -> None:
    made = engines(case.packs)
    for screen in case.screens:
        wide, by = data.draw(st.integers(0, len(screen.lines))), data.draw(st.sampled_from([490, 3_000]))
        lines = tuple("a " * (by // 2) + line if row == wide else line for row, line in enumerate(screen.lines))
        at = screen.cursor
        if at is not None and at.row == wide:
            at = attrs.evolve(at, column=at.column + by)
        long = attrs.evolve(screen, lines=lines, cursor=at, title=screen.title and "t" * 490 + screen.title)
        # A random pattern may be quadratic, and take too long on a line of 500 characters.
        assume(not any(engine.detect(long).undecided for engine in made))
        expected = reference(case.packs, long)
        assert [said(engine, long) for engine in made] == [expected] * len(made)


def test_so_it_does_where_a_text_is_longer_than_its_bound() -> None:
    places = ("screen", "tail(80)", "block", "down_to_cursor(80)")
    for where, pattern in product(places, ("Allow", "^Allow", "x\nx", r"\AAllow")):
        packs = (pack("one", Clause(pattern=pattern, where=where)),)
        for row in (0, 30, 31, 32, 33, 60):
            lines = ["x" * 480] * 70
            lines[row], lines[69] = "x" * 480 + "Allow", "❯"
            screen = Screen.from_text("\n".join(lines), cursor=(1, 69))
            assert said(Engine(packs), screen) == reference(packs, screen), (where, pattern, row)


@settings(THOROUGH, max_examples=30)
@given(case=strategies.cases())
def test_explain_and_detect_name_the_same_winner(case: strategies.Case) -> None:
    engine = Engine(case.packs)
    for screen in case.screens:
        won = [report.rule.name for report in engine.explain(screen) if report.fate is Fate.MATCH]
        assert won == [name for name in [said(engine, screen)] if name]


@settings(THOROUGH, max_examples=30)
@given(case=strategies.cases(), data=st.data())
def test_colour_and_repetition_change_nothing(case: strategies.Case, data: st.DataObject) -> None:
    engine = Engine(case.packs)
    for screen in case.screens:
        text = data.draw(strategies.decorated("\n".join(screen.lines) + "\n"))
        cursor = screen.cursor
        again = Screen.from_text(
            text,
            cursor=(cursor.column, cursor.row) if cursor else None,
            cursor_visible=cursor.visible if cursor else None,
            title=screen.title,
        )
        assert again == screen
        first = engine.detect(screen)
        assert engine.detect(again) == first == engine.detect(screen)
        assert engine.detect(again, since=first) is first


@settings(THOROUGH, max_examples=30)
@given(
    case=strategies.cases(),
    text=strategies.anything(),
    cursor=st.none() | st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)),
)
def test_no_text_makes_detect_raise(case: strategies.Case, text: str, cursor: tuple[int, int] | None) -> None:
    engine = Engine(case.packs)
    for screen in (Screen.from_text(text, cursor, title=text), Screen(lines=(text,)), Screen(lines=())):
        assert engine.detect(screen).screen is screen


def pack(name: str, *clauses: Clause | str, state: str = "waiting", **rest: object) -> Pack:
    kind = "confirm" if state == "waiting" else None
    signature = Signature(id="only", title="", state=state, kind=kind, all_of=clauses, **rest)  # type: ignore[arg-type]
    return Pack(name=name, signatures=[signature])


FOLDED = [("K", "\u212a"), ("kiss", "ki\u017fs"), ("Titan", "T\u0130tan"), ("SIT", "s\u0131t")]


def test_what_folds_alike_is_found() -> None:
    for (wanted, shown), search in product(FOLDED, SEARCHES):
        for clause in (
            Clause(text=wanted, ignore_case=True),
            Clause(pattern=wanted, ignore_case=True),
            Clause(pattern=f"(?i){wanted}"),
            Clause(pattern=f"(?i:{wanted})"),
        ):
            engine = Engine([pack("one", clause)])
            engine._keywords = Keywords(engine.signatures, search)
            assert said(engine, Screen.from_text(shown)) == "one:only", (clause, search)


RUNAWAY = Clause(pattern="(a|aa)+!$")
HOSTILE = "a" * 60 + " !"  # which has all that the pattern needs


def test_a_runaway_pattern_is_undecided_and_another_pack_is_not_touched() -> None:
    hostile = Pack(
        name="hostile",
        priority=1,
        signatures=[Signature(id=f"s{n}", title="", state="waiting", kind="text", all_of=[RUNAWAY]) for n in range(50)],
    )
    honest = pack("honest", Clause(pattern=r"^Proceed\? \[y/N\]"))
    screen = Screen.from_text(f"{HOSTILE}\nProceed? [y/N] ")
    found = Engine([hostile, honest]).detect(screen)
    assert found.match is not None
    assert found.match == Engine([honest]).detect(screen).match
    assert {rule.name for rule, _ in found.undecided} == {f"hostile:s{n}" for n in range(50)}


@pytest.mark.parametrize("many", [1, 2, 20])
def test_a_runaway_leaves_the_other_signatures_of_its_pack_decided(many: int) -> None:
    """The prompt is named, so that a person can be told; it is not sure, since what came first is unknown."""
    bad = [Signature(id=f"s{n}", title="", state="waiting", kind="text", all_of=[RUNAWAY]) for n in range(many)]
    good = Signature(id="good", title="", state="waiting", kind="confirm", all_of=[Clause(pattern=r"^Proceed\?")])
    screen = Screen.from_text(f"{HOSTILE}\nProceed? ")
    found = Engine([Pack(name="acme", signatures=[*bad, good])]).detect(screen)
    assert found.match is not None
    assert found.match.signature is good
    assert {rule.name for rule, _ in found.undecided} == {f"acme:s{n}" for n in range(many)}


def test_a_runaway_below_a_prompt_is_told() -> None:
    """It might have been what makes the prompt stale, so nobody may rely on the prompt."""
    engine = Engine([pack("dialog", "Allow?"), pack("busy", RUNAWAY, state="working")])
    found = engine.detect(Screen.from_text(f"Allow?\n{HOSTILE}"))
    assert found.match is not None
    assert [rule.name for rule, _ in found.undecided] == ["busy:only"]


def test_a_runaway_is_cut_short() -> None:
    """Generous, for a busy machine: unbounded, this pattern would take longer than the universe has lasted."""
    engine = Engine([pack("hostile", RUNAWAY)])
    engine.detect(Screen.from_text("warm"))
    begun = time.process_time()
    engine.detect(Screen.from_text("\n".join([HOSTILE] * 40)))
    assert time.process_time() - begun < 2
