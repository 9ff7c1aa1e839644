"""What a person types is read as the command line reads it; an answer to what was not shown is none."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_operator.answering import Result, carry_out
from stallkit_operator.board import Branch, rows
from stallkit_operator.item import Category, Who
from stallkit_operator.orders import Elsewhere, Look, Order, Quit, Triage, Verb, chosen, read_line
from stallkit_operator.queue import Queue

ME = Who("ada", "test")


def never(*_: Any) -> NoReturn:
    raise AssertionError("a notice needs no session")


@pytest.mark.parametrize(
    ("line", "order"),
    [
        ("r 3 try again", Order(Verb.REPLY, 3, "try again")),
        ("stallkit stuck reply 3 'as  it is'", Order(Verb.REPLY, 3, "'as  it is'")),
        ("approve 3", Order(Verb.APPROVE, 3)),
        ("decline 3", Order(Verb.DECLINE, 3)),
        ("decline 3 --why not", Order(Verb.DECLINE, 3, "--why not")),
        ("answer 3 2", Order(Verb.ANSWER, 3, "2")),
        ("triage 3 egress", Triage(3, Category.EGRESS)),
        ("triage 3 none", Triage(3, None)),
        ("show 3", Look(3)),
        ("routes edit web --reply 4 'try again'", Elsewhere(("routes", "edit", "web", "--reply", "4", "try again"))),
        ("pipelock edit web", Elsewhere(("pipelock", "edit", "web"))),
        ("rebuild 3", Elsewhere(("stuck", "rebuild", "3"))),
        ("q", Quit()),
    ],
)
def test_a_line_is_read_as_the_command_line_is(line: str, order: object) -> None:
    assert read_line(line) == order


@pytest.mark.parametrize(
    "line",
    ["", "r", "r 3", "r x yes", "r 0 y", "approve 3 4", "answer 3", "triage 3 all", "rebuild", "rm x", "r ² y"],
)
def test_what_is_no_order_is_refused_in_words(line: str) -> None:
    with pytest.raises(ValueError, match=r"give|write|takes"):
        read_line(line)


@given(st.text(max_size=60))
def test_any_line_is_read_or_refused(line: str) -> None:
    try:
        order = read_line(line)
    except ValueError:
        return
    assert isinstance(order, (Order, Triage, Elsewhere, Look, Quit))


def test_an_answer_to_what_was_not_shown_is_none(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "queue.db")) as queue:
        seen = queue.notify("web", "key-00001", "may I?")
        queue.notify("web", "key-00002", "may I delete it all?")
        order = Order(Verb.APPROVE, seen.id)
        done = carry_out(queue, order, ME, never, never, seen.revision)
        assert done.result is Result.CHANGED and queue.item(seen.id).open
        again = carry_out(queue, order, ME, never, never, queue.item(seen.id).revision)
        assert again.result is Result.DONE and queue.item(seen.id).text == "approved"
        late = carry_out(queue, order, ME, never, never, seen.revision)
        assert late.result is Result.OVER


def test_an_option_that_it_lacks_is_refused(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "queue.db")) as queue:
        item = queue.notify("web", "key-00001", "may I?")
    with pytest.raises(ValueError, match="it has none: stallkit stuck reply"):
        chosen(Order(Verb.ANSWER, item.id, "2"), item)
    assert chosen(Order(Verb.DECLINE, item.id, "no"), item) is None


def test_the_rows_join_what_the_sources_know(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "queue.db")) as queue:
        item = queue.notify("web", "key-00001", "403\nagain")
    needs = {"what": "waits", "since": "2026-01-01T00:00:00+00:00"}
    live = {"target": "tmux:a", "state": "waiting", "certainty": "maybe", "needs": needs, "foreground": "vim",
            "signature": None, "kind": "confirm", "supervisor": 7}  # fmt: skip
    noted = {**live, "target": "tmux:b", "state": "gone", "needs": None, "supervisor": None, "seen_at": 5.0}
    found = rows([noted, live], [], [Branch("web", "main"), Branch("db", None)], [item])
    assert [(one.name, one.state, one.branch, one.item) for one in found] == [
        ("web", "not started", "main", item.id),
        ("a", "waiting?", "", None),
        ("db", "not started", "", None),
        ("b", "(gone?)", "", None),
    ]
    assert (found[0].kind, found[0].asks) == ("notice", "403 again")
    assert (found[1].agent, found[1].since) == ("vim", 1767225600.0)
