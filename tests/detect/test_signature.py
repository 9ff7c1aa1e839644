"""Clauses, signatures and packs as values: tiers, converters, and what contradicts itself."""

from __future__ import annotations

from typing import Any

import pytest

from stallkit.detect.composer import Composer
from stallkit.detect.dialog import Dialog
from stallkit.detect.signature import (
    Certainty,
    Clause,
    CursorState,
    Dismissal,
    Expect,
    Kind,
    Pack,
    Severity,
    Signature,
    State,
    Tier,
)
from stallkit.errors import DuplicateSignature, SignatureError
from stallkit.terminal.keys import Keys


def signature(**given: Any) -> Signature:
    return Signature(**{"id": "one", "title": "one", "state": "waiting", "all_of": ["Allow?"]} | given)


AT_CURSOR = Clause(pattern=r"\[y/N\]", where="prompt_line")


@pytest.mark.parametrize(
    ("given", "tier"),
    [
        ({"state": "ended", "all_of": [AT_CURSOR]}, Tier.ENDED),
        ({}, Tier.DIALOG),
        ({"all_of": [Clause(text="x", where="tail(3)"), Clause(text="y", where="block")]}, Tier.DIALOG),
        ({"state": "quota"}, Tier.QUOTA),
        ({"state": "working"}, Tier.WORKING),
        ({"state": "idle", "all_of": [AT_CURSOR]}, Tier.COMPOSER),
        ({"all_of": ["Proceed?", AT_CURSOR]}, Tier.PROMPT_LINE),
        ({"none_of": [AT_CURSOR]}, Tier.DIALOG),  # only what must hold places it
        ({"certainty": "maybe"}, Tier.MAYBE),
        ({"certainty": "maybe", "state": "ended"}, Tier.MAYBE),
        ({"tier": "dialog", "all_of": [AT_CURSOR]}, Tier.DIALOG),
        ({"tier": Tier.QUOTA, "certainty": "maybe"}, Tier.QUOTA),
    ],
)
def test_tier(given: dict[str, Any], tier: Tier) -> None:
    assert signature(**given).tier is tier


def test_the_order_of_tiers() -> None:
    assert [tier.name for tier in sorted(Tier)] == [
        "ENDED", "DIALOG", "QUOTA", "WORKING", "COMPOSER", "PROMPT_LINE", "MAYBE",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "clause", "why"),
    [
        ({"id": "Upper"}, "id", "lower-case"),
        ({"id": ""}, "id", "lower-case"),
        ({"id": "1st"}, "id", "lower-case"),
        ({"id": "a-b"}, "id", "lower-case"),
        ({"id": "a\n"}, "id", "lower-case"),
        ({"id": "a" * 65}, "id", "lower-case"),
        ({"all_of": []}, "all_of", "every screen"),
        ({"state": "gone"}, "state", "not seen on a screen"),
        ({"state": "unknown"}, "state", "not seen on a screen"),
        ({"state": "working", "kind": "confirm"}, "kind", "asks for nothing"),
        ({"kind": "secret", "dismissal": Dismissal("Enter")}, "dismissal", "never answers secret"),
        ({"kind": "login", "dismissal": Dismissal("Enter")}, "dismissal", "never answers login"),
        ({"kind": "permission", "dismissal": Dismissal("Enter")}, "dismissal", "never answers permission"),
        ({"kind": "plan_approval", "dismissal": Dismissal("Enter")}, "dismissal", "never answers plan_approval"),
        ({"kind": "question", "dismissal": Dismissal("Enter")}, "dismissal", "never answers question"),
        ({"state": "idle", "dismissal": Dismissal("Enter")}, "dismissal", "never answers idle"),
        ({"state": "ended", "dismissal": Dismissal("Enter")}, "dismissal", "never answers ended"),
        (
            {"dialog": Dialog(["{x}"], "any", {"x": "line"}), "dismissal": Dismissal("y")},
            "dialog",
            "x may say anything",
        ),
        ({"composer": Composer("> ")}, "composer", "typed into an idle agent, not one that is waiting"),
    ],
)
def test_a_signature_that_contradicts_itself(given: dict[str, Any], clause: str, why: str) -> None:
    with pytest.raises(SignatureError, match=why) as caught:
        signature(**given)
    assert caught.value.clause == clause
    assert caught.value.signature == given.get("id", "one")


@pytest.mark.parametrize("given", [{"all_of": "Allow?"}, {"hits": "a"}])
def test_a_text_is_no_list(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="not the text"):
        signature(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"state": "bored"},
        {"kind": "dance"},
        {"severity": "huge"},
        {"cursor": "blue"},
        {"certainty": "very"},
        {"allow_below": ["asleep"]},
        {"tier": "ground"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_an_unknown_word_is_a_value_error(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not a valid|unknown"):
        signature(**given)


def test_words_become_enums_and_lists_become_tuples() -> None:
    made = signature(
        kind="confirm",
        severity="low",
        cursor="hidden",
        certainty="maybe",
        allow_below=["idle"],
        hits=["a"],
        misses=["b"],
        dismissal=Dismissal(keys="1 Enter", expect="changed"),
    )
    assert (made.state, made.kind, made.severity) == (State.WAITING, Kind.CONFIRM, Severity.LOW)
    assert (made.cursor, made.certainty, made.allow_below) == (CursorState.HIDDEN, Certainty.MAYBE, {State.IDLE})
    assert (made.all_of, made.hits, made.misses) == ((Clause(text="Allow?"),), ("a",), ("b",))
    assert made.dismissal == Dismissal(Keys.parse("1 Enter"), expect=Expect.CHANGED)
    assert hash(made) == hash(signature(kind="confirm", severity="low", cursor="hidden", certainty="maybe",
        allow_below=["idle"], hits=["a"], misses=["b"], dismissal=made.dismissal))  # fmt: skip


def test_what_is_left_out_is_the_careful_choice() -> None:
    made = signature()
    assert (made.severity, made.dismissal) == (Severity.HIGH, None)


@pytest.mark.parametrize("kind", [Kind.SECRET, Kind.LOGIN])
def test_secrets_and_logins_without_keys_are_fine(kind: Kind) -> None:
    assert signature(kind=kind).dismissal is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "either a text or a pattern"),
        ({"text": "a", "pattern": "b"}, "either a text or a pattern"),
        ({"text": ""}, "nothing but blanks"),
        ({"text": "  "}, "nothing but blanks"),
        ({"pattern": " "}, "nothing but blanks"),
        ({"text": "a", "where": "footer"}, "unknown region"),
        ({"text": "a", "where": "tail"}, "unknown region"),
        ({"text": "a", "where": "tail(0)"}, "unknown region"),
        ({"text": "a", "where": "tail(1000)"}, "unknown region"),
        ({"text": "a", "where": "tail(-1)"}, "unknown region"),
    ],
)
def test_a_clause_that_says_nothing(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Clause(**given)


def test_a_clause_names_itself() -> None:
    assert str(Clause(text="Allow?")) == "text 'Allow?' in screen"
    assert str(Clause(pattern="a|b", where="tail(3)", ignore_case=True)) == "pattern 'a|b' in tail(3), any case"


@pytest.mark.parametrize("keys", ["Entre", "", "\x03"])
def test_a_dismissal_wants_keys_that_are_known(keys: str) -> None:
    with pytest.raises(ValueError):
        Dismissal(keys=keys)


def test_an_id_stands_once_in_a_pack() -> None:
    with pytest.raises(DuplicateSignature, match="one") as caught:
        Pack(name="p", signatures=[signature(), signature()])
    assert caught.value.name == "one"


def test_a_priority_is_a_number() -> None:
    with pytest.raises(TypeError):
        Pack(name="p", priority="50")  # type: ignore[arg-type]


def test_packs_of_a_program_precede_generic_ones_and_no_priority_crosses_a_tier() -> None:
    dialog, working = signature(), signature(state="working")
    agent, generic = Pack(name="b", foreground=["claude"]), Pack(name="a")
    early = Pack(name="z", priority=1)
    assert agent.order(dialog) < generic.order(dialog)
    assert early.order(dialog) < generic.order(dialog)
    assert generic.order(dialog) < early.order(working)
    assert Pack(name="a", distribution="x").order(dialog) < Pack(name="a", distribution="y").order(dialog)
