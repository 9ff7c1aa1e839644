"""The index that is kept from one start to the next: the same as one made anew, and never that of other packs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Callable

import pytest
from attrs import evolve
from hypothesis import given
from strategies import Case, cases

from stallkit.cache import Cache
from stallkit.core.engine import Engine, Rule
from stallkit.core.index import Index, index_of
from stallkit.core.prefilter import Prefilter
from stallkit.core.screen import Screen
from stallkit.core.signature import Pack
from stallkit.packs import kept_index, load
from stallkit.packs.compiled import plain_value
from stallkit.packs.registry import installed_engine

ONE = b"""format = 1
[[signature]]
id = "one"
title = "one"
state = "waiting"
kind = "confirm"
all_of = [{ pattern = "Proceed[?] $", where = "prompt_line" }]
"""
OTHER = ONE.replace(b"Proceed", b"Continue")
MADE_BY = b"a" * 32


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    (tmp_path / "home").mkdir(mode=0o700)
    return Cache(tmp_path / "home" / "packs")


@pytest.fixture
def read(cache: Cache) -> Callable[[bytes], Pack]:
    return lambda content: load.through(cache, MADE_BY, content, "/somewhere/signatures.toml", "acme")


def kept(cache: Cache) -> Path:
    (file,) = cache.folder.glob("index-*")
    return file


def rules(*packs: Pack) -> tuple[Rule, ...]:
    return Engine(packs).rules


def lay(cache: Cache, payload: bytes) -> None:
    """Put another payload under the key of the index that is there."""
    file = kept(cache)
    Cache(cache.folder).write(file.name, file.read_bytes()[17:49], payload)


@given(cases())
def test_an_index_is_the_same_after_it_was_kept(case: Case) -> None:
    signatures = Engine(case.packs).signatures
    made = index_of(signatures)
    again = plain_value(pickle.dumps(made, 5))
    assert again == made
    one, other = Prefilter(signatures), Prefilter(signatures, index=again)
    for screen in case.screens:
        assert one.candidates(screen) == other.candidates(screen)


def test_that_of_the_installed_packs_finds_what_theirs_finds() -> None:
    signatures = installed_engine().signatures
    kept, made = (Prefilter(signatures, index=one) for one in (_installed(), index_of(signatures)))
    shown = [Screen.from_text(hit) for one in signatures for hit in one.hits]
    assert len(shown) > 300
    for screen in shown:  # the numbers of the bits may differ: sets have another order in each process
        assert kept.candidates(screen) == made.candidates(screen)


def _installed() -> Index:
    return kept_index.installed_index(installed_engine().rules)


def test_it_is_read_where_the_same_packs_are_in_one_engine(cache: Cache, read: Callable[[bytes], Pack]) -> None:
    own = rules(read(ONE))
    made = kept_index.through(cache, MADE_BY, own)
    assert made == index_of([rule.signature for rule in own])
    decoy = made._replace(always=[7])
    lay(cache, pickle.dumps(decoy))
    assert kept_index.through(cache, MADE_BY, own) == decoy
    assert kept_index.through(cache, MADE_BY, rules(read(ONE))) == decoy, "read again, the same content"


def test_never_of_another_content_code_order_or_pack(cache: Cache, read: Callable[[bytes], Pack]) -> None:
    first = read(ONE)
    lay_decoy = index_of([])._replace(always=[7], wanted=[[]])
    kept_index.through(cache, MADE_BY, rules(first))
    for others, made_by in (
        ((read(OTHER),), MADE_BY),
        ((first,), b"b" * 32),
        ((Pack("acme", signatures=first.signatures[:0]),), MADE_BY),
        ((evolve(first, name="other"),), MADE_BY),
        ((evolve(first, signatures=[evolve(first.signatures[0], id="two")]),), MADE_BY),
    ):
        kept_index.through(cache, MADE_BY, rules(first))
        file = kept(cache)
        lay(cache, pickle.dumps(lay_decoy))
        own = rules(*others)
        assert kept_index.through(cache, made_by, own) == index_of([rule.signature for rule in own])
        for one in cache.folder.glob("index-*"):
            if one != file:
                one.unlink()


def test_a_file_cut_short_or_of_something_else_is_not_taken(cache: Cache, read: Callable[[bytes], Pack]) -> None:
    own = rules(read(ONE))
    made = kept_index.through(cache, MADE_BY, own)
    whole = kept(cache).read_bytes()
    for end in range(0, len(whole), 11):
        kept(cache).write_bytes(whole[:end])
        assert kept_index.through(cache, MADE_BY, own) == made, end
    for payload in (b"", b"x", pickle.dumps(3), pickle.dumps(made._replace(wanted=[])), pickle.dumps(Path("/"))):
        lay(cache, payload)
        assert kept_index.through(cache, MADE_BY, own) == made, payload
    kept(cache).chmod(0o644)
    assert kept_index.through(cache, MADE_BY, own) == made
