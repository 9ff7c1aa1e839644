"""A supervisor's escalations on their way into the queue: on the disk before anybody is told, taken back when over."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from supervised import EAGER, has, named, run, shell
from terminals import Server

from stallkit.core.topic import Topic
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.notify.notice import Notice
from stallkit.press.events import Event
from stallkit.press.policy import OBSERVE
from stallkit.stuck.filing import LATE_S, Filing
from stallkit.stuck.item import ItemState, Who
from stallkit.stuck.queue import Queue
from stallkit.supervise.session_state import WatchConfig
from stallkit.supervise.supervisor import Supervisor
from stallkit.supervise.telling import Notify
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

SOON = WatchConfig(OBSERVE, EAGER, notify=Notify({"waits": 0.0}, remind_s=0.5))
ASKS = "read -p 'Delete all? [y/N] ' it; exec sleep 1000"


def supervisor(server: Server, queue: Queue, **options: object) -> Supervisor:
    filing = Filing(queue, server.options)
    return Supervisor(["tmux:one"], SOON, options=server.options, escalations=filing, **options)  # type: ignore[arg-type]


def test_it_is_on_the_disk_before_anybody_is_told_and_told_again_is_the_same(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ASKS, "Delete")
    seen_there: list[int] = []
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue, closing(Queue(queue.path)) as other:

        def told(event: Event) -> None:
            if event.name == "escalation":
                seen_there.append(other.item(event.facts["item"]).id)

        events = run(supervisor(server, queue, hooks=[told]), lambda seen: len(named(seen, "escalation")) == 3)
        assert len(seen_there) == 3 and set(seen_there) == {one.id for one in queue.items(over=True)}
        assert f"stallkit stuck show {seen_there[0]}" in Notice.of(named(events, "escalation")[0]).body


def test_the_next_supervisor_goes_on_with_it_and_takes_back_what_is_gone(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ASKS, "Delete")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        run(supervisor(server, queue), has("escalation"))
        [first] = queue.items()
        run(supervisor(server, queue), has("escalation"))
        assert queue.items() == [first]
        server.tmux("send-keys", "-t", "=one:", "n", "Enter")
        run(supervisor(server, queue), lambda seen: not queue.items())
        assert queue.item(first.id).state is ItemState.CANCELLED
        assert len(queue.items(over=True)) == 1


def test_what_is_asked_of_a_session_that_is_gone_is_taken_back(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ASKS, "Delete")
    shell(server, "other", "exec sleep 1000")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        ended: list[bool] = []

        def until(seen: list[Event]) -> bool:
            if named(seen, "escalation") and not ended:
                ended.append(True)
                server.tmux("kill-session", "-t", "=one:")
            return bool(named(seen, "gone"))

        run(supervisor(server, queue), until)
        assert [one.state for one in queue.items(over=True)] == [ItemState.CANCELLED]


@pytest.mark.parametrize("ago_s", [0.0, LATE_S])
def test_a_look_from_before_an_answer_is_not_filed_again(server: Server, tmp_path: Path, ago_s: float) -> None:
    """As long as the answer is new; a prompt that looks the same may be asked again."""
    shell(server, "one", ASKS, "Delete")
    transport = TmuxTransport("one", server.options)
    path = tmp_path / "state" / "queue.db"
    with closing(Queue(path)) as queue, closing(Queue(path, now=lambda: time.time() - ago_s)) as answers:
        run(supervisor(server, queue), has("escalation"))
        [first] = queue.items()
        filing = Filing(queue, server.options)  # of the next supervisor
        seen = transport.capture()
        assert not filing.overtaken("tmux:one", seen)
        answers.close_item(first.id, ItemState.ANSWERED, Who("ada", "a test"), "y")
        assert filing.overtaken("tmux:one", seen) is (ago_s == 0.0)
        assert not filing.overtaken("tmux:other", seen)
        assert not filing.overtaken("tmux:one", transport.capture())


def test_nothing_is_made_of_a_look_that_an_answer_has_overtaken(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ASKS, "Delete")
    order: list[str] = []

    class Overtaken(Filing):
        def overtaken(self, target: str, seen: Snapshot) -> bool:
            order.append("overtaken" if len(order) < 3 else "not")
            return order[-1] == "overtaken"

        def file(self, target: str, topic: Topic, verdict: Verdict, seen: Snapshot) -> int:
            order.append("filed")
            return super().file(target, topic, verdict, seen)

    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        filing = Overtaken(queue, server.options)
        run(Supervisor(["tmux:one"], SOON, options=server.options, escalations=filing), has("escalation"))
    assert order[:3] == ["overtaken"] * 3 and "filed" in order
