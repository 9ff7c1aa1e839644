"""What each clause is good for: mutants as values, their figures on real cases, and clauses without use."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from stallkit_lab.corpus_lines import Case, Label
from stallkit_lab.evaluate.prediction import judge_case
from stallkit_lab.tune import Mutant, Tuning, mutants, replaced, tune
from strategies import Case as Packs
from strategies import cases as packs_and_screens

from stallkit.detect.dialog import Dialog
from stallkit.detect.engine import Engine, Rule
from stallkit.detect.signature import Clause, Kind, Pack, Signature, State
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.screen import Screen
from stallkit.testing import Example

ASK = Signature(
    id="ask", title="", state="waiting", kind="confirm",
    all_of=["Deploy", Clause(pattern=r"\?$"), "Dep"], none_of=["Done", "Never seen"],
)  # fmt: skip


def case(id: str, text: str, state: str) -> Case:
    kind = Kind.CONFIRM if state == "waiting" else None
    return Case(id, "acme", Snapshot(screen=Screen.from_text(text)), Label(State(state), kind))


CASES = [
    case("asked", "Deploy now?", "waiting"),
    case("asked with more", "Deploy now? (it takes long)", "waiting"),
    case("printed", "Deploying", "working"),
    case("other", "Restart?", "working"),
    case("answered", "Deploy now?\nDone", "working"),
]


def idle_clauses(tuning: Tuning) -> list[Mutant]:
    """The clauses that can be dropped without a change."""
    return [e.mutant for e in tuning.effects if e.mutant.change == "dropped" and e.without_use]


def rule(signature: Signature = ASK) -> Rule:
    return Rule(Pack("acme", signatures=[signature]), signature)


def test_the_figures_of_each_clause() -> None:
    found = tune(rule(), [rule().pack], CASES)
    assert (found.matched, found.state.precision, found.state.recall) == (1, 1.0, 0.5)
    told = {(e.mutant.name, e.mutant.change): (e.adds, e.costs, e.changed) for e in found.effects}
    assert told["all_of[1]", "dropped"] == (0.0, 0.0, ())  # the third clause says the same
    assert told["all_of[2]", "dropped"] == (0.3333, 0.5, ("asked with more", "printed"))
    assert told["all_of[2]", "without $"] == (0.0, 0.5, ("asked with more",))
    assert told["none_of[1]", "dropped"] == (0.5, 0.0, ("answered",))
    assert [mutant.name for mutant in idle_clauses(found)] == ["all_of[1]", "all_of[3]", "none_of[2]"]


def test_an_example_makes_a_clause_useful() -> None:
    miss = Example("ask", "misses[1]", Screen.from_text("Deploy now? Never seen\nDeploy?"), wanted=False)
    found = tune(rule(), [rule().pack], CASES, [miss])
    assert "none_of[2]" not in [mutant.name for mutant in idle_clauses(found)]
    assert [e.broken for e in found.effects if e.mutant.name == "none_of[2]"] == [("ask misses[1]",)]


ASKS = Signature(
    id="asks", title="", state="waiting", kind="confirm", hits=["Deploy to staging? [y/n] "],
    all_of=[Clause(pattern=r"^Deploy to \S+\? \[y/n\] *$", where="prompt_line"), "staging"],
    none_of=[Clause(text="Never seen")], dialog=Dialog(["Deploy to {place}? [y/n]"], "any", {"place": "word"}),
)  # fmt: skip


def test_what_is_made_of_a_hit_is_evidence_and_only_a_corpus_calls_a_clause_without_use() -> None:
    hit = Example("asks", "hits[1]", Screen.from_text(ASKS.hits[0]), wanted=True)
    pack = Pack("acme", signatures=[ASKS])
    found = tune(Rule(pack, ASKS), [pack], [], [hit])
    told = {(e.mutant.name, e.mutant.change): e.broken for e in found.effects}
    assert any("as a mention: prose" in one for one in told["all_of[1]", "dropped"])
    assert any("as a mention: busy below" in one for one in told["all_of[1]", "anywhere"])
    assert not any(effect.without_use for effect in found.effects)
    with_cases = tune(Rule(pack, ASKS), [pack], CASES, [hit])
    assert [mutant.name for mutant in idle_clauses(with_cases)] == ["all_of[2]", "none_of[1]"]


def test_a_screen_without_a_label_counts_for_what_changes_alone() -> None:
    unknown = Case("shot", "acme", Snapshot(screen=Screen.from_text("Deploying")), Label(State.UNKNOWN))
    found = tune(rule(), [rule().pack], [CASES[0], unknown])
    (dropped,) = [e for e in found.effects if (e.mutant.name, e.mutant.change) == ("all_of[2]", "dropped")]
    assert dropped.changed == ("shot",)
    assert (found.state.precision, dropped.state.precision, dropped.wrong_keys) == (1.0, 1.0, 0)


def test_mutants_keep_the_tier_and_the_only_clause() -> None:
    only = Signature(
        id="a", title="", state="waiting", kind="text", all_of=[Clause(pattern="^a b$", where="prompt_line")]
    )
    found = list(mutants(only))
    assert [mutant.change for mutant in found] == ["anywhere", "without ^", "without $"]
    assert {mutant.signature.tier for mutant in found} == {only.tier}
    words = Signature(id="a", title="", state="working", all_of=["Esc to interrupt"])
    assert [mutant.signature.all_of[0].text for mutant in mutants(words)] == ["Esc", "to interrupt"]


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(packs_and_screens())
def test_only_what_can_change_is_judged_again(drawn: Packs) -> None:
    """The shortcut is none for the answer: judging every case again gives the same."""
    labelled = [
        Case(str(number), "", Snapshot(screen=screen), Label(State.WORKING))
        for number, screen in enumerate(drawn.screens)
    ]
    one = Engine(drawn.packs).rules[0]
    found = tune(one, drawn.packs, labelled)
    before = [judge_case(case, Engine(drawn.packs)) for case in labelled]
    for effect in found.effects:
        pack = replaced(one.pack, effect.mutant.signature)
        engine = Engine([pack if other is one.pack else other for other in drawn.packs])
        after = [judge_case(case, engine) for case in labelled]
        judged = [[(one.state, one.kind, one.certainty, one.signature) for one in told] for told in (before, after)]
        moved = [case.id for case, old, new in zip(labelled, *judged, strict=True) if old != new]
        assert list(effect.changed) == moved
