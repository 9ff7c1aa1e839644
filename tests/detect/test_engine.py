"""What the engine refuses, and what it says of a screen besides the signature that matches."""

from __future__ import annotations

import pytest

from stallkit.detect.dialog import Dialog, Element
from stallkit.detect.engine import Detection, Engine, Fate
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.errors import DuplicateSignature, SignatureError
from stallkit.terminal.screen import Screen

RUNAWAY = Clause(pattern="(a|aa)+!$")
HOSTILE = "a" * 60 + " !"
RUNS = Dialog(["Run {command}?", Element(option="Yes"), Element(option="No")], "any", {"command": "command"})
ASKS = Signature("asks", "", "waiting", ["Run "], dialog=RUNS)
OWN, ANY = Pack("acme", foreground=["acme"], signatures=[ASKS]), Pack("any", signatures=[ASKS])
SHOWN = "Run ls?\n❯ Yes\n  No"


def test_an_engine_is_made_of_packs_of_different_names_and_of_patterns() -> None:
    with pytest.raises(DuplicateSignature, match="acme"):
        Engine([OWN, OWN])
    bad = Pack("bad", signatures=[Signature("asks", "", "waiting", [Clause(pattern="(")])])
    with pytest.raises(SignatureError, match="not a pattern"):
        Engine([bad])
    for wrong in ("acme", None, [OWN, "acme"]):
        with pytest.raises(TypeError, match="an engine is made of packs"):
            Engine(wrong)  # type: ignore[arg-type]


def test_a_match_and_an_engine_show_themselves_in_short() -> None:
    engine = Engine([Pack("any", signatures=[ASKS])])
    assert repr(engine) == "Engine(1 packs, 1 signatures)"
    assert repr(engine.detect(SHOWN).match) == "Match('any:asks')"


def test_a_clause_that_runs_away_leaves_its_signature_undecided_wherever_it_stands() -> None:
    screen = Screen.from_text(f"{HOSTILE}\nAllow?")
    for clauses in ({"all_of": ["Allow?", RUNAWAY]}, {"all_of": ["Allow?"], "none_of": [RUNAWAY]}):
        engine = Engine([Pack("acme", signatures=[Signature("asks", "", "waiting", **clauses)])])  # type: ignore[arg-type]
        found = engine.detect(screen)
        assert found.match is None and [clause for _, clause in found.undecided] == [RUNAWAY], clauses
        assert [report.fate for report in engine.explain(screen)] == [Fate.UNDECIDED], clauses


def test_a_dialog_is_a_programs_own_where_its_pack_names_the_program() -> None:
    own, anybodys = (Engine([pack]).detect(SHOWN) for pack in (OWN, ANY))
    assert own.dialog is own.reading is not None and own.dialog.whole
    assert anybodys.dialog is None and anybodys.reading is not None and anybodys.reading.whole
    assert Engine([OWN]).detect(f"{SHOWN}\nand more").dialog is None


def test_what_is_said_of_a_screen_is_said_again_of_what_was_read_back() -> None:
    nothing, asks = Engine([OWN]).detect("text").said, Engine([OWN]).detect(SHOWN).said
    assert (nothing.signature, nothing.pack, nothing.request) == (None, None, None)
    assert (asks.signature, asks.pack, asks.line, asks.ambiguity) == ("asks", "acme", "Run ls?", None)
    assert asks.request == {"command": "ls"} and [one.text for one in asks.options] == ["Yes", "No"]
    left_over = Engine([OWN]).detect(f"{SHOWN}\nand more").said
    assert left_over.request is None and left_over.options == () and "left over" in (left_over.ambiguity or "")
    assert Detection(Screen.from_text(""), told=asks).said is asks  # type: ignore[arg-type]
