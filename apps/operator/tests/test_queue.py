"""The queue's file: two processes at once, kill -9, what expires, what is redacted."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from stallkit_operator.item import Choice, ChoiceKind, Delivery, Draft, ItemState, Source, Who
from stallkit_operator.queue import FETCHED_KEPT, NoItem, Queue

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


def test_secrets_of_what_is_asked_are_not_kept_and_replies_are_kept_verbatim(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        asked = queue.notify("web", "12345678", "export API_KEY=abcdef123456 was refused")
        assert "abcdef123456" not in queue.item(asked.id).words
        reply = "line one\n\tline \x1b[1mtwo\u202e\n"
        queue.close_item(asked.id, ItemState.ANSWERED, Who("ada", "a test"), reply)
        assert queue.item(asked.id).text == reply


def test_too_much_for_one_answer_is_refused_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        first = queue.notify("web", "k" * 8, "a" * 600_000)
        with pytest.raises(ValueError, match="1,000,000 bytes"):
            queue.notify("web", "l" * 8, "b" * 600_000)
        assert queue.known("web", "l" * 8) is None and "b" not in queue.item(first.id).words


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


@pytest.mark.parametrize(
    "change",
    ["options = 'no JSON'", "options = '[[1, 2]]'", "source = 'x'", "category = 'x'", "claim = '[1]'",
     "created = 'abc'", "words = x'ff00'", "at = 1e300, state = 'answered'", "delivery = 'x'"],
)  # fmt: skip
def test_a_row_that_is_not_ours_takes_no_other_one_with_it(tmp_path: Path, change: str) -> None:
    with closing(Queue(tmp_path / "queue.db")) as queue:
        foreign, own = (queue.notify(name, "key-00001", "help") for name in ("web", "db"))
        with closing(sqlite3.connect(tmp_path / "queue.db")) as other, other:
            other.execute(f"update item set {change} where id = ?", (foreign.id,))
        assert [item.id for item in queue.items(over=True)] == [own.id]
        assert queue.unreadable() == ([] if "answered" in change else [foreign.id])
        assert queue.over([foreign.id, own.id]) == {} and queue.kept() == [] and queue.expire() == 0
        with pytest.raises(StoreError, match="item 1: it is not as stallkit writes it"):
            queue.item(foreign.id)
        assert queue.close_item(own.id, ItemState.ANSWERED, Who("ada", "a test"), "yes").text == "yes"


def test_keys_without_words_do_not_fill_the_file(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "queue.db")) as queue:
        item = queue.notify("web", "denied-01", "a call was denied", delivery=Delivery.LATER)
        for number in range(FETCHED_KEPT + 50):
            found = queue.fetch("web", f"key-{number:06}")
            assert found is not None and found.id == item.id
        with queue.reading() as base:
            assert base.execute("select count(*) from message").fetchone()[0] == FETCHED_KEPT


def test_all_that_waits_is_listed_however_much_and_the_newest_of_what_is_over(tmp_path: Path) -> None:
    with closing(Queue(tmp_path / "queue.db")) as queue:
        ids = [queue.notify(f"s{number}", "12345678", "help").id for number in range(1_002)]
        assert [item.id for item in queue.items()] == ids
        for id in ids[:3]:
            queue.close_item(id, ItemState.DECLINED, Who("ada", "a test"))
        assert [item.id for item in queue.items()] == ids[3:]
        assert [item.id for item in queue.items(over=True, limit=2)] == ids[1:]
