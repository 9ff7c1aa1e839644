"""A supervisor's escalations on their way into the queue: on the disk before anybody is told, taken back when over."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from stallkit_operator.item import ItemState, Who
from stallkit_operator.queue import Queue, claim_of
from stallkit_operator.queue_sync import LATE_S, Filing
from stallkit_supervisor.notification import NoticeSubject, Notify
from stallkit_supervisor.notify.notice import Notice
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER, has, named, run, shell
from terminals import Server, wait_for

from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.press.events import Event
from stallkit.press.policy import OBSERVE
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

SOON = WatchConfig(OBSERVE, EAGER, notify=Notify({"waits": 0.0}, remind_s=0.5))
ONCE = evolve(SOON, notify=Notify({"waits": 0.0}, remind_s=None))
ASKS = "read -p 'Delete all? [y/N] ' it; exec sleep 1000"


def supervisor(
    server: Server, queue: Queue, config: WatchConfig = SOON, target: str | None = "tmux:one", **more: Any
) -> Supervisor:
    """Of one target, or of all panes; it files into the queue."""
    filing = Filing(queue, server.options)
    targets = [] if target is None else [target]
    return Supervisor(
        targets, config, everything=target is None, options=server.options, **{"escalations": filing, **more}
    )


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
        [item] = queue.items()
        assert (queue.bury(), queue.item(item.id).open) == (0, True)
        server.tmux("kill-server")  # what was asked there is closed, whoever looks
        wait_for(lambda: queue.bury() == 1, "the end of the server")
        assert queue.item(item.id).how == ": gone with its session"


def test_the_next_supervisor_goes_on_with_it_and_takes_back_what_is_gone(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ASKS, "Delete")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        told = named(run(supervisor(server, queue), has("escalation")), "escalation")[0]
        [first] = queue.items()
        again = named(run(supervisor(server, queue), has("escalation")), "escalation")[0]
        assert (told.facts["times"], again.facts["times"]) == (1, 2)
        assert again.facts["waited_s"] > told.facts["waited_s"]
        [after] = queue.items()
        assert (after.id, after.created, after.told) == (first.id, first.created, 2)
        server.tmux("send-keys", "-t", "=one:", "n", "Enter")
        over = named(run(supervisor(server, queue), lambda seen: not queue.items() and has("cleared")(seen)), "cleared")
        assert (over[0].facts["by"], over[0].facts["told"]) == ("typed there", True)
        assert over[0].facts["blocked_s"] >= again.facts["waited_s"]
        [item] = queue.items(over=True)
        assert (item.id, item.state, item.how) == (first.id, ItemState.CANCELLED, ": typed there")


def test_what_a_person_was_told_is_not_told_again_by_the_next_supervisor(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ASKS, "Delete")
    shell(server, "other", "exec sleep 1000")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        for _ in range(2):
            watching = supervisor(server, queue, ONCE)

            def looked(seen: list[Event], watching: Supervisor = watching) -> bool:
                telling = watching.sessions["tmux:one"].state.notice.notification if named(seen, "detection") else None
                return telling is not None and telling.told == 1

            events = run(watching, looked)
        assert named(events, "escalation") == []
        server.tmux("kill-session", "-t", "=one:")
        watching = supervisor(server, queue, ONCE)
        over = named(run(watching, has("cleared")), "cleared")[0]
        assert (over.facts["by"], queue.items(over=True)[0].how) == (
            "gone with its session",
            ": gone with its session",
        )


def test_what_a_person_took_off_the_list_is_not_told_again_by_the_next_supervisor(
    server: Server, tmp_path: Path
) -> None:
    shell(server, "one", ASKS, "Delete")
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        run(supervisor(server, queue), has("escalation"))
        queue.close_item(queue.items()[0].id, ItemState.DECLINED, Who("ada", "a test"), "later")
        for name in ("still", "start"):
            watching = supervisor(server, queue, ONCE)
            seen = run(watching, lambda seen, name=name: has(name, "detection" if name == "still" else "gone")(seen))
            assert named(seen, "escalation") == named(seen, "cleared") == []
            server.tmux("kill-session", "-t", "=one:") if name == "still" else None


def test_what_is_asked_of_a_session_that_is_gone_is_taken_back(server: Server, tmp_path: Path) -> None:
    for number, kill in enumerate((("kill-session", "-t", "=one:"), ("kill-server",))):
        shell(server, "one", ASKS, "Delete")
        shell(server, "other", "exec sleep 1000")
        with closing(Queue(tmp_path / f"state{number}" / "queue.db")) as queue:
            ended: list[bool] = []

            def until(seen: list[Event], ended: list[bool] = ended, kill: tuple[str, ...] = kill) -> bool:
                if named(seen, "escalation") and not ended:
                    ended.append(True)
                    server.tmux(*kill)
                return bool(named(seen, "cleared"))

            over = named(run(supervisor(server, queue), until), "cleared")[0]
            [item] = queue.items(over=True)
            assert (over.facts["by"], item.state, item.how) == (
                "gone with its session",
                ItemState.CANCELLED,
                ": gone with its session",
            ), kill
        if number == 0:
            server.tmux("kill-session", "-t", "=other:")


def test_what_died_while_nobody_watched_is_closed_at_the_first_look_at_its_server(
    server: Server, tmp_path: Path
) -> None:
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    other = Server(other_folder)
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        try:
            for place in (server, other):
                shell(place, "one", ASKS, "Delete")
                run(supervisor(place, queue), has("escalation"))
            shell(server, "two", "exec sleep 1000")
            server.tmux("kill-session", "-t", "=one:")
            store = Store(tmp_path / "state" / "watch.db")
            watching = supervisor(server, queue, target="tmux:two", store=store)
            seen = run(watching, lambda seen: len(queue.items()) == 1 and has("gone")(seen))
            [over], [gone] = named(seen, "cleared"), named(seen, "gone")
            assert (over.target, over.facts["by"]) == ("tmux:one", "gone with its session")
            assert (gone.target, gone.facts["why"]) == ("tmux:one", "it ended while nobody watched")
            assert ['"state": "gone"' in row["status"] for row in store.sessions()] == [True, False]
            mine, others = queue.items(over=True)
            assert (mine.how, others.open) == (": gone with its session", True)
            other.tmux("kill-server")
            run(supervisor(other, queue, target=None), lambda seen: not queue.items())
        finally:
            other.end()


def test_who_answers_through_the_queue_is_named_in_the_event(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ASKS, "Delete")
    who: list[str] = []
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:

        def until(seen: list[Event]) -> bool:
            if named(seen, "escalation") and not who:
                id = queue.items()[0].id
                queue.claim(id, claim_of(Who("ada", "a test")))
                who.append("ada")
                server.tmux("send-keys", "-t", "=one:", "y", "Enter")
            return bool(named(seen, "cleared"))

        assert named(run(supervisor(server, queue), until), "cleared")[0].facts["by"] == "ada"


def test_a_prompt_that_goes_away_by_itself_was_answered_by_nobody(server: Server, tmp_path: Path) -> None:
    inner = f"echo $$ >{tmp_path}/pid; read -p 'Delete all? [y/N] ' it"
    shell(server, "one", f'bash -c "{inner.replace("$", chr(92) + "$")}"; clear; exec sleep 1000', "Delete")
    killer = threading.Timer(9.0, lambda: os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL))
    killer.start()
    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        over = named(run(supervisor(server, queue), has("cleared")), "cleared")[0]
        assert (over.facts["by"], queue.items(over=True)[0].how) == ("by itself", ": by itself")


def test_a_look_from_before_an_answer_is_not_filed_again(server: Server, tmp_path: Path) -> None:
    """As long as the answer is new; a prompt that looks the same may be asked again."""
    shell(server, "one", ASKS, "Delete")
    transport = TmuxTransport("one", server.options)
    for number, ago_s in enumerate((0.0, LATE_S)):
        path = tmp_path / f"state{number}" / "queue.db"
        with closing(Queue(path)) as queue, closing(Queue(path, now=lambda ago=ago_s: time.time() - ago)) as answers:
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

        def file(self, target: str, topic: NoticeSubject, verdict: Verdict, seen: Snapshot, since: float) -> int:
            order.append("filed")
            return super().file(target, topic, verdict, seen, since)

    with closing(Queue(tmp_path / "state" / "queue.db")) as queue:
        run(supervisor(server, queue, escalations=Overtaken(queue, server.options)), has("escalation"))
    assert order[:3] == ["overtaken"] * 3 and "filed" in order
