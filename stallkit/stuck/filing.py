"""What a supervisor escalates goes into the queue before anybody is told, and out of it when it is over."""

from __future__ import annotations

import os
import time
from pathlib import Path

from attrs import evolve

from stallkit.config import records_screens
from stallkit.core.signature import Certainty
from stallkit.core.topic import Topic
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.sessions.lifecycle import lasting
from stallkit.stuck.escalate import draft_of
from stallkit.stuck.item import OPEN, Item, ItemState, Source
from stallkit.stuck.queue import Queue
from stallkit.transports.base import Options

__all__ = ["Filing"]

LATE_S = 10.0  # after an answer, for which a look from before it is not believed


class Filing:
    """Files for one supervisor; `stallkit.supervise.escalations` says what each method is for.

    It remembers what is open, so that a look at a session that asks nothing costs nothing.  What an earlier supervisor
    filed is found again: it is cancelled where the first sure look no longer shows it.
    """

    def __init__(self, queue: Queue, options: Options | None = None) -> None:
        """`options` say which tmux server the sessions are on.  Raises StoreError."""
        self._queue, self._server, self._screens = queue, _server(options or Options()), records_screens()
        self._open: dict[str, dict[int, Item]] = {}
        for item in queue.items():
            if item.source is not Source.AGENT:
                self._open.setdefault(item.session, {})[item.id] = item

    def file(self, target: str, topic: Topic, verdict: Verdict, seen: Snapshot) -> int:
        """The number of what a person is about to be told; it is on the disk.  Raises StoreError."""
        draft = evolve(draft_of(target, topic, verdict, seen, self._screens), server=self._server)
        for item in self._open.get(target, {}).values():
            same = (item.about, item.identity, item.action) == (draft.about, draft.identity, draft.action)
            if same and self._queue.item(item.id).state in (*OPEN, ItemState.DECLINED):
                return item.id  # told again, also where a person has taken it off the list
        item = self._queue.file(draft)
        self._open.setdefault(target, {})[item.id] = item
        return item.id

    def overtaken(self, target: str, seen: Snapshot) -> bool:
        """Whether what this look shows was answered after it, a moment ago.  Raises StoreError."""
        held = self._open.get(target)
        if not held or seen.taken_at is None:
            return False
        now = time.time()
        looked = max(now - (time.monotonic() - seen.taken_at), now - LATE_S)
        over = self._queue.over(held).values()
        return any(item.state is ItemState.ANSWERED and (item.at or 0.0) > looked for item in over)

    def look(self, target: str, topic: Topic | None, verdict: Verdict, seen: Snapshot) -> None:
        """Cancel what a look shows no more; `topic` is what there is to tell of it.  Raises StoreError."""
        held = self._open.get(target)
        if not held or (topic is None and verdict.certainty is not Certainty.SURE):
            return
        for item in list(held.values()):
            if topic is not None and item.about == topic.key and item.identity == seen.identity:
                continue
            self._end(target, item, "its prompt went away")

    def _end(self, target: str, item: Item, why: str) -> None:
        if not self._queue.gone(item.id, why).open:  # else somebody's answer is under way: at the next look
            del self._open[target][item.id]


def _server(options: Options) -> str:
    """The socket of that tmux server, as it is called from any other terminal."""
    name, path = lasting(options.tmux_socket_name, options.tmux_socket_path)
    return path or str(Path("/tmp").resolve() / f"tmux-{os.getuid()}" / (name or "default"))
