"""A supervisor's escalations on their way into the queue: on the disk before anybody is told, taken back when over."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from supervised import EAGER, has, named, run, shell
from terminals import Server

from stallkit.notify.notice import Notice
from stallkit.press.events import Event
from stallkit.press.policy import OBSERVE
from stallkit.stuck.filing import Filing
from stallkit.stuck.item import ItemState
from stallkit.stuck.queue import Queue
from stallkit.supervise.session_state import WatchConfig
from stallkit.supervise.supervisor import Supervisor
from stallkit.supervise.telling import Notify

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
