"""A signature's portrait: everything in it is read from the pack and its examples, and tried."""

from __future__ import annotations

import json

import pytest
from attrs import evolve
from click.testing import CliRunner
from stallkit_lab.portrait import Portrait, portrait, pressed

from stallkit.cli.main import cli
from stallkit.detect.signature import Dismissal, Kind, Signature
from stallkit.errors import StoreError
from stallkit.packs.registry import Engine, installed_engine

ASKS = Signature(id="asks", title="asks", state="waiting", kind="confirm", all_of=["Go on?"])


@pytest.fixture(scope="module")
def composer() -> Portrait:
    made = portrait(installed_engine(), "structural:composer", {})
    assert made is not None
    return made


def test_it_shows_a_hit_with_the_rows_that_its_clauses_hold_on(composer: Portrait) -> None:
    assert composer.example.startswith("hit-")
    held = [row for matches, row in composer.looks if matches]
    assert held and all(row.strip() for row in held)
    assert composer.looks[-1][1].strip(), "blank rows below are left out"


def test_its_figures_are_counted_on_its_examples(composer: Portrait) -> None:
    figures = composer.figures
    assert (figures.hits_won, figures.misses_told) == (figures.hits, figures.misses), "as its pack's tests say"
    assert len(composer.apart) == figures.misses > 0
    assert not any("structural:composer" in one.taken_for for one in composer.apart)
    assert figures.screens > figures.hits + figures.misses


def test_an_engine_without_it_has_none() -> None:
    assert portrait(Engine([]), "structural:composer", {}) is None


def test_what_is_pressed_or_why_nothing_is() -> None:
    wrong = [
        (signature, said)
        for signature, said in [
            (ASKS, "nothing: no safe answer is known"),
            (evolve(ASKS, kind=Kind.SECRET), "nothing: a machine never answers a secret"),
            (evolve(ASKS, state="idle", kind=None), "nothing: it asks for nothing"),
            (evolve(ASKS, dismissal=Dismissal("y", "it goes on")), "nothing: it does not describe the whole dialog"),
            (
                evolve(ASKS, dismissal=Dismissal("y"), preview=True),
                "nothing yet: it is a preview, which was not measured",
            ),
        ]
        if pressed(signature) != said
    ]
    assert wrong == []


def test_by_the_command() -> None:
    done = CliRunner().invoke(cli, ["pack", "show", "structural:composer", "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["name"], told["keys"]) == (0, "structural:composer", None)
    assert told["looks"] and told["all_of"] and told["figures"]["screens"] > 0
    wrong = CliRunner().invoke(cli, ["pack", "show", "nobody:knows"])
    assert isinstance(wrong.exception, StoreError) and "pack list --signatures" in str(wrong.exception)
