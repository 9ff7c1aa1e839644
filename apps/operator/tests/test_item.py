"""The queue against a model, over reopening: the first answer wins, what is over never changes, nothing is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from stallkit_operator.item import (
    OPEN,
    Choice,
    Claim,
    Draft,
    Item,
    ItemState,
    NotOpen,
    Source,
    Who,
    appended,
    claimed,
    closed,
    let_go,
    prompt_gone,
)
from stallkit_operator.queue import Queue, claim_of
from stallkit_supervisor.notification import ClearedBy

ENDS = st.sampled_from(sorted(set(ItemState) - OPEN))
PEOPLE = st.builds(Who, st.sampled_from(["ada", "bea"]), st.just("a test"))
DEAD = Claim(Who("ada", "a test"), 999_999_999, 1, "an earlier boot", "t")


def item(**changes: Any) -> Item:
    made = Item(
        *(1, "tmux:one", Source.PROMPT, "confirm", "Proceed?", (), "a", "b", "%1", 0.0, None),
        ItemState.INPUT_REQUIRED,
    )
    return evolve(made, **changes)


@given(ENDS, ENDS, PEOPLE)
def test_what_is_over_never_changes(first: ItemState, second: ItemState, who: Who) -> None:
    over = closed(item(), first, who, 5.0, "so")
    with pytest.raises(NotOpen, match=f"it is {first} already"):
        closed(over, second, who, 6.0)
    with pytest.raises(NotOpen):
        claimed(over, DEAD, other_lives=False)
    with pytest.raises(NotOpen):
        appended(over, "more")
    assert prompt_gone(over, 6.0, claim_lives=False, by="") == over == let_go(over, DEAD)


def test_several_options_are_named_at_once_only_where_they_may_be() -> None:
    options = tuple(Choice(str(number), name) for number, name in enumerate(("Lint", "Types, strict", "Tests"), 1))
    several = item(options=options, several=True)
    both = several.option("1, tests")
    assert both is not None and (both.id, both.name) == ("1,3", "Lint, Tests")
    assert several.option("Types, strict") == options[1]
    assert several.option("1,4") is None is item(options=options).option("1,3")


def test_a_secret_is_never_answered_here() -> None:
    secret = item(state=ItemState.AUTH_REQUIRED)
    with pytest.raises(NotOpen, match="a secret or a login"):
        closed(secret, ItemState.ANSWERED, DEAD.who, 1.0, "hunter2")
    with pytest.raises(NotOpen, match="a secret or a login"):
        claimed(secret, DEAD, other_lives=False)
    assert closed(secret, ItemState.DECLINED, DEAD.who, 1.0).state is ItemState.DECLINED


def test_a_claim_keeps_others_out_while_its_process_lives() -> None:
    first, second = evolve(DEAD, token="1"), evolve(DEAD, who=Who("bea", "a test"), token="2")
    held = claimed(item(), first, other_lives=False)
    with pytest.raises(NotOpen, match="ada is answering it now"):
        claimed(held, second, other_lives=True)
    with pytest.raises(NotOpen, match="ada is answering it now"):
        closed(held, ItemState.DECLINED, second.who, 1.0, other_lives=True)
    assert prompt_gone(held, 1.0, claim_lives=True, by="") == held
    assert claimed(held, second, other_lives=False).claim == second


def test_a_prompt_that_went_away_was_answered_elsewhere_unless_a_dead_process_claimed_it() -> None:
    gone = prompt_gone(item(), 1.0, False, ClearedBy.GONE)
    assert f"{gone.state}{gone.how}" == "cancelled: gone with its session"
    perhaps = prompt_gone(item(claim=DEAD), 1.0, False, ClearedBy.TYPED)
    assert (perhaps.state, perhaps.by, perhaps.claim) == (ItemState.ANSWERED, "ada", None)


class TheQueue(RuleBasedStateMachine):
    """Several answer, decline, claim, look and append in any order; the model is what each was told."""

    items = Bundle("items")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "state" / "queue.db"
        self.queue = Queue(self.path, now=lambda: 100.0)
        self.ends: dict[int, Item] = {}
        self.claims: dict[int, Claim] = {}
        self.messages: dict[tuple[str, str], tuple[int, str]] = {}

    @rule(target=items, about=st.sampled_from("abc"), secret=st.booleans())
    def file(self, about: str, secret: bool) -> int:
        draft = Draft("tmux:one", Source.PROMPT, "confirm", about, about=about, action=about, secret=secret)
        return self.queue.file(draft).id

    @rule(target=items, sandbox=st.sampled_from(["web", "db"]), key=st.sampled_from("123456"))
    def notify(self, sandbox: str, key: str) -> int:
        words = f"{sandbox} asks {key}."
        found = self.queue.notify(sandbox, key, words).id
        before = self.messages.setdefault((sandbox, key), (found, words))
        assert before == (found, words)  # the same key always finds its item
        return found

    @rule(id=items, state=ENDS, who=PEOPLE, text=st.text(max_size=20))
    def close(self, id: int, state: ItemState, who: Who, text: str) -> None:
        try:
            after = self.queue.close_item(id, state, who, text)
        except NotOpen as error:
            secret = error.item.state is ItemState.AUTH_REQUIRED and state is ItemState.ANSWERED
            assert id in self.ends or id in self.claims or secret
            return
        assert id not in self.ends and id not in self.claims
        self.ends[id] = after

    @rule(id=items, who=PEOPLE)
    def claim(self, id: int, who: Who) -> None:
        claim = claim_of(who)
        try:
            self.queue.claim(id, claim)
        except NotOpen as error:
            assert id in self.ends or id in self.claims or error.item.state is ItemState.AUTH_REQUIRED
            return
        assert id not in self.ends and id not in self.claims
        self.claims[id] = claim

    @rule(id=items, presses=st.booleans())
    def finish(self, id: int, presses: bool) -> None:
        claim = self.claims.pop(id, None)
        if claim is not None and presses:
            self.ends[id] = self.queue.close_item(id, ItemState.ANSWERED, claim.who, "y", claim)
        elif claim is not None:
            assert self.queue.release(id, claim).open

    @rule(id=items)
    def look(self, id: int) -> None:
        after = self.queue.gone(id, "typed there")
        assert after.open == (id in self.claims)
        self.ends.setdefault(id, after) if not after.open else None

    @rule()
    def reopen(self) -> None:
        self.queue.close()
        self.queue = Queue(self.path, now=lambda: 100.0)

    @invariant()
    def what_is_over_stays_as_it_was_said(self) -> None:
        kept = {one.id: one for one in self.queue.items(over=True)}
        assert {id: kept[id] for id in self.ends} == self.ends
        assert {id for id, one in kept.items() if not one.open} == set(self.ends)
        for (sandbox, key), (id, words) in self.messages.items():
            assert kept[id].session == sandbox and kept[id].words.count(words) == 1, key

    def teardown(self) -> None:
        self.queue.close()
        self.folder.cleanup()


TheQueue.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestTheQueue = TheQueue.TestCase
