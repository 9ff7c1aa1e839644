"""The queue: what is over never changes; two processes at once, kill -9, what expires, what is redacted; its orders."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from stallkit_operator.board import Board, rows
from stallkit_operator.item import (
    OPEN,
    Category,
    Choice,
    ChoiceKind,
    Claim,
    Delivery,
    Draft,
    Item,
    ItemState,
    NotOpen,
    Source,
    Who,
)
from stallkit_operator.orders import Elsewhere, Look, Order, Quit, Triage, Verb, chosen, read_line
from stallkit_operator.queue import FETCHED_KEPT, NoItem, Queue, claim_of
from stallkit_supervisor.notification import ClearedBy

from stallkit.errors import StoreError

PROMPT = Draft("tmux:one", Source.PROMPT, "confirm", "Proceed? [y/N]", action="a", about="b", identity="%1")


# Answers every open item, and prints the numbers of those of which it was told that it was the first.
ANSWERER = """
import sys
from pathlib import Path
from stallkit_operator.item import ItemState, NotOpen, Who
from stallkit_operator.queue import Queue
queue = Queue(Path(sys.argv[1]), busy_s=30)
print("ready", flush=True)
sys.stdin.readline()
for item in queue.items(over=True):
    try:
        queue.close_item(item.id, ItemState.ANSWERED, Who(sys.argv[2], "a test"), sys.argv[2])
        print(item.id)
    except NotOpen:
        pass
"""


# Files messages and acknowledges each on its standard output, once the queue said that it is written.
WRITER = """
import sys
from pathlib import Path
from stallkit_operator.queue import Queue
queue = Queue(Path(sys.argv[1]))
for number in range(1_000_000):
    queue.notify(f"s{number % 7}", f"{sys.argv[2]}-{number}", f"<{sys.argv[2]}-{number}>")
    print(number, flush=True)
"""


def test_of_two_processes_one_answers(tmp_path: Path) -> None:
    path = tmp_path / "state" / "queue.db"
    with closing(Queue(path)) as queue:
        ids = {queue.notify(f"s{number}", "12345678", "help").id for number in range(100)}
        command = [sys.executable, "-c", ANSWERER, str(path)]
        both = [
            subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for name in ("ada", "bea")
        ]
        for one in both:
            assert one.stdout is not None and one.stdout.readline() == "ready\n"
        for one in both:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        first, second = ({int(line) for line in one.communicate(timeout=60)[0].split()} for one in both)
        assert not first & second and first | second == ids
        assert {item.id for item in queue.items(over=True) if item.text == "ada"} == first


def test_what_was_said_to_be_written_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "state" / "queue.db"
    acknowledged: set[str] = set()
    for run in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(run)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(30 * run + 5):
            acknowledged.add(f"<{run}-{writer.stdout.readline().strip()}>")
        writer.kill()
        acknowledged |= {f"<{run}-{line.strip()}>" for line in writer.stdout if line.endswith("\n")}
        writer.wait()
        writer.stdout.close()
    with closing(Queue(path)) as queue:
        words = "\n".join(item.words for item in queue.items())
    assert all(words.count(one) == 1 for one in acknowledged)


def test_the_same_prompt_is_one_item_bound_to_how_it_looks_now(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        first = queue.file(PROMPT)
        options = (Choice("1", "Yes", ChoiceKind.ALLOW_ONCE), Choice("2", "No", ChoiceKind.REJECT_ONCE))
        again = Draft("tmux:one", Source.PROMPT, "confirm", "as it is now", options, "c", "b", "%1")
        second = queue.file(again)
        assert (second.id, second.action, second.words) == (first.id, "c", "as it is now")
        assert second.option("yes") == second.choice(ChoiceKind.ALLOW_ONCE) == options[0]
        other = Draft("tmux:one", Source.PROMPT, "confirm", "Proceed? [y/N]", about="b", identity="%2")
        assert queue.file(other).id != first.id
        with pytest.raises(NoItem, match="no item 99"):
            queue.item(99)


def test_what_nobody_answers_in_time_is_over_and_the_next_message_is_a_new_one(tmp_path: Path) -> None:
    at = [100.0]
    with closing(Queue(tmp_path / "state" / "queue.db", now=lambda: at[0])) as queue:
        first = queue.notify("web", "12345678", "help", expires=200.0)
        assert queue.expire() == 0
        at[0] = 200.0
        second = queue.notify("web", "87654321", "help!", expires=300.0)
        assert queue.expire() == 1 and queue.item(first.id).state is ItemState.EXPIRED
        assert second.id != first.id and queue.item(second.id).open
        assert set(queue.over([first.id, second.id])) == {first.id}


def test_what_is_asked_is_kept_without_secrets_replies_verbatim_and_neither_without_end(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        asked = queue.notify("web", "12345678", "export API_KEY=abcdef123456 was refused")
        assert "abcdef123456" not in queue.item(asked.id).words
        reply = "line one\n\tline \x1b[1mtwo\u202e\n"
        queue.close_item(asked.id, ItemState.ANSWERED, Who("ada", "a test"), reply)
        assert queue.item(asked.id).text == reply
        first = queue.notify("web", "k" * 8, "a" * 600_000)
        with pytest.raises(ValueError, match="1,000,000 bytes"):
            queue.notify("web", "l" * 8, "b" * 600_000)
        assert queue.known("web", "l" * 8) is None and "b" not in queue.item(first.id).words
        item = queue.notify("db", "denied-01", "a call was denied", delivery=Delivery.LATER)
        with queue.reading() as base:
            before = base.execute("select count(*) from message").fetchone()[0]
        for number in range(FETCHED_KEPT + 50):
            found = queue.fetch("db", f"key-{number:06}")
            assert found is not None and found.id == item.id
        with queue.reading() as base:  # keys without words do not fill the file
            assert base.execute("select count(*) from message").fetchone()[0] <= before + FETCHED_KEPT


def test_who_waits_after_a_hook_asked_gets_that_reply_and_nobody_elses(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "queue.db")) as queue:
        assert queue.fetch("web", "key-00000") is None
        item = queue.notify("web", "denied-01", "a call was denied", delivery=Delivery.LATER)
        assert queue.fetch("db", "key-00001") is None, "another sandbox has none"
        again = queue.notify("web", "denied-02", "another one", delivery=Delivery.LATER)
        assert (again.id, again.delivery) == (item.id, Delivery.LATER)
        assert queue.notify("web", "key-00002", "I wait").delivery is Delivery.FETCHED
        fetched = queue.fetch("web", "key-00003")
        assert fetched is not None and (fetched.id, fetched.delivery) == (item.id, Delivery.FETCHED)
        queue.close_item(item.id, ItemState.ANSWERED, Who("ada", "a test"), "yes")
        late = queue.notify("web", "denied-03", "a third one", delivery=Delivery.LATER)
        assert late.id != item.id
        assert [(queue.fetch("web", key) or late).id for key in ("key-00003", "key-00004")] == [item.id, late.id]
        assert queue.notify("db", "key-00005", "held").delivery is Delivery.HELD
        assert queue.fetch("db", "key-00006") is None, "nothing of it was asked by a hook"


FOREIGN = [
    *("options = 'no JSON'", "options = '[[1, 2]]'", "source = 'x'", "category = 'x'", "claim = '[1]'"),
    *("created = 'abc'", "words = x'ff00'", "at = 1e300, state = 'answered'", "delivery = 'x'"),
]


def test_a_row_that_is_not_ours_takes_no_other_one_with_it(tmp_path: Path) -> None:
    for number, change in enumerate(FOREIGN):
        path = tmp_path / str(number) / "queue.db"
        with closing(Queue(path)) as queue:
            foreign, own = (queue.notify(name, "key-00001", "help") for name in ("web", "db"))
            with closing(sqlite3.connect(path)) as other, other:
                other.execute(f"update item set {change} where id = ?", (foreign.id,))
            assert [item.id for item in queue.items(over=True)] == [own.id], change
            assert queue.unreadable() == ([] if "answered" in change else [foreign.id])
            assert queue.over([foreign.id, own.id]) == {} and queue.kept() == [] and queue.expire() == 0
            with pytest.raises(StoreError, match="item 1: it is not as stallkit writes it"):
                queue.item(foreign.id)
            assert queue.close_item(own.id, ItemState.ANSWERED, Who("ada", "a test"), "yes").text == "yes"


def test_all_that_waits_is_listed_however_much_and_the_newest_of_what_is_over(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "queue.db")) as queue:
        ids = [queue.notify(f"s{number}", "12345678", "help").id for number in range(1_002)]
        assert [item.id for item in queue.items()] == ids
        for id in ids[:3]:
            queue.close_item(id, ItemState.DECLINED, Who("ada", "a test"))
        assert [item.id for item in queue.items()] == ids[3:]
        assert [item.id for item in queue.items(over=True, limit=2)] == ids[1:]


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
    over = item().closed(first, who, 5.0, "so")
    with pytest.raises(NotOpen, match=f"it is {first} already"):
        over.closed(second, who, 6.0)
    with pytest.raises(NotOpen):
        over.claimed(DEAD, other_lives=False)
    with pytest.raises(NotOpen):
        over.appended("more")
    assert over.prompt_gone(6.0, claim_lives=False, by="") == over == over.let_go(DEAD)


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
        secret.closed(ItemState.ANSWERED, DEAD.who, 1.0, "hunter2")
    with pytest.raises(NotOpen, match="a secret or a login"):
        secret.claimed(DEAD, other_lives=False)
    assert secret.closed(ItemState.DECLINED, DEAD.who, 1.0).state is ItemState.DECLINED


def test_a_claim_keeps_others_out_while_its_process_lives() -> None:
    first, second = evolve(DEAD, token="1"), evolve(DEAD, who=Who("bea", "a test"), token="2")
    held = item().claimed(first, other_lives=False)
    with pytest.raises(NotOpen, match="ada is answering it now"):
        held.claimed(second, other_lives=True)
    with pytest.raises(NotOpen, match="ada is answering it now"):
        held.closed(ItemState.DECLINED, second.who, 1.0, other_lives=True)
    assert held.prompt_gone(1.0, claim_lives=True, by="") == held
    assert held.claimed(second, other_lives=False).claim == second


def test_a_prompt_that_went_away_was_answered_elsewhere_unless_a_dead_process_claimed_it() -> None:
    gone = item().prompt_gone(1.0, False, ClearedBy.GONE)
    assert f"{gone.state}{gone.how}" == "cancelled: gone with its session"
    perhaps = item(claim=DEAD).prompt_gone(1.0, False, ClearedBy.TYPED)
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


LINES: dict[str, object] = {
    "r 3 try again": Order(Verb.REPLY, 3, "try again"),
    "stallkit stuck reply 3 'as  it is'": Order(Verb.REPLY, 3, "'as  it is'"),
    "approve 3": Order(Verb.APPROVE, 3),
    "decline 3": Order(Verb.DECLINE, 3),
    "decline 3 --why not": Order(Verb.DECLINE, 3, "--why not"),
    "answer 3 2": Order(Verb.ANSWER, 3, "2"),
    "triage 3 egress": Triage(3, Category.EGRESS),
    "triage 3 none": Triage(3, None),
    "show 3": Look(3),
    "routes edit web --reply 4 'try again'": Elsewhere(
        ("sandbox", "routes", "edit", "web", "--reply", "4", "try again")
    ),
    "pipelock edit web": Elsewhere(("sandbox", "egress", "edit", "web")),
    "rebuild 3": Elsewhere(("sandbox", "rebuild", "3")),
    "q": Quit(),
}
NO_ORDERS = ["", "r", "r 3", "r x yes", "r 0 y", "approve 3 4", "answer 3", "triage 3 all", "rebuild", "rm x", "r ² y"]


def test_a_line_is_read_as_the_command_line_is_or_refused_in_words() -> None:
    assert {line: read_line(line) for line in LINES} == LINES
    for line in NO_ORDERS:
        with pytest.raises(ValueError, match=r"give|write|takes"):
            read_line(line)


@given(st.text(max_size=60))
def test_any_line_is_read_or_refused(line: str) -> None:
    try:
        order = read_line(line)
    except ValueError:
        return
    assert isinstance(order, (Order, Triage, Elsewhere, Look, Quit))


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
    found = rows([noted, live], [], {"web": "main", "db": None}, [item])
    board = Board(tuple(found), (item,))
    assert [(one.row.name, one.state, one.row.branch, one.key) for one in board.entries] == [
        ("web", "waiting", "main", "1"),
        ("a", "waiting?", "", "/a"),
        ("b", "(gone?)", "", "/b"),
        ("db", "not started", "", "/db"),
    ]
    assert board.entries[0].asks == "403 again" and board.entries[0].since == item.created
    live_row = board.entries[1].row
    assert (live_row.agent, live_row.since) == ("vim", 1767225600.0)
