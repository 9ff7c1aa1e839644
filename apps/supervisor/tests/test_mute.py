"""A person who knows of a prompt is told of it no more; of the next one, and after the time, again."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from stallkit_supervisor.notification import Notify
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.store import Muted, Store
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER, has, named, run, shell
from terminals import Server

from stallkit.press.events import Event
from stallkit.press.policy import CAREFUL

AGAIN = WatchConfig(CAREFUL, EAGER, notify=Notify({"waits": 0.0}, remind_s=0.5))
ONE, NEXT = "read -p 'Delete all? [y/N] ' it; ", "read -p 'Really delete all? [y/N] ' it; exec sleep 100"


def test_a_mute_is_of_what_was_there_or_of_a_time() -> None:
    now = Muted(since=100.0, until=None)
    assert now.holds(5000.0, appeared=90.0) and not now.holds(110.0, appeared=105.0)
    timed = Muted(since=100.0, until=200.0)
    assert timed.holds(150.0, appeared=140.0) and not timed.holds(200.0, appeared=90.0)


@pytest.mark.e2e
def test_who_mutes_a_session_is_told_of_its_next_prompt(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ONE + NEXT, "Delete")
    store = Store(tmp_path / "watch.db")
    supervisor = Supervisor(["tmux:one"], AGAIN, options=server.options, store=store)
    muted_at: list[int] = []

    def until(seen: list[Event]) -> bool:
        told = named(seen, "escalation")
        if len(told) == 2 and not muted_at:  # it was told, and told again
            store.mute("tmux:one")
            muted_at.append(len(told))
            time.sleep(2)  # four more reminders' time: the supervisor goes on in this thread afterwards
            server.tmux("send-keys", "-t", "=one:", "n", "Enter")
        return any("Really" in one.facts["line"] for one in told)

    events = run(supervisor, until)
    lines = [one.facts["line"] for one in named(events, "escalation")]
    assert lines == ["Delete all? [y/N]"] * 2 + ["Really delete all? [y/N]"]
    store.close()


@pytest.mark.e2e
def test_nobody_is_told_of_a_session_that_is_muted_for_a_time(server: Server, tmp_path: Path) -> None:
    shell(server, "one", ONE, "Delete")
    shell(server, "other", ONE, "Delete")
    store = Store(tmp_path / "watch.db")
    store.mute("tmux:one", time.time() + 3600)
    supervisor = Supervisor(["tmux:one", "tmux:other"], AGAIN, options=server.options, store=store)
    events = run(supervisor, lambda seen: len(named(seen, "escalation")) == 3)
    assert {one.target for one in named(events, "escalation")} == {"tmux:other"}
    store.unmute("tmux:one")
    supervisor = Supervisor(["tmux:one"], AGAIN, options=server.options, store=store)
    assert run(supervisor, has("escalation"))
    store.close()
