"""What a person was shown of the queue, by the terminal session in which a command showed it.

An answer that is typed there as a bare number is to that, and to nothing newer.  It is in the queue's own file.
"""

from __future__ import annotations

import os
import sqlite3
import time
from typing import Iterable

from stallkit.probes.procfs import Process, boot_id
from stallkit_operator.item import Item
from stallkit_operator.queue import Queue

__all__ = ["here", "note_shown", "revision_shown"]

KEPT_S = 30 * 86_400.0  # longer than a message waits


def here() -> str:
    """The terminal session of this process, which a shell shares with all that is started in it."""
    leader = os.getsid(0)
    started = Process.of(leader) or Process(leader, 0)
    return f"{boot_id()} {started.pid} {started.started}"


def note_shown(queue: Queue, place: str, items: Iterable[Item], as_json: bool = False) -> None:
    """Note that these items were shown there as they are.  Raises StoreError.

    What was shown to a program (`as_json`) takes the place of nothing that a person was shown: a prompt of a shell that
    counts what waits is read by nobody.
    """
    with queue.reading() as base:
        rows = base.execute("select item, revision, as_json from shown where place = ?", (place,)).fetchall()
    known = {row["item"]: row for row in rows}
    new = [item for item in items if item.open and _is_news(item, known.get(item.id), as_json)]
    if not new:
        return
    now = time.time()
    with queue.writing() as base:
        base.execute("delete from shown where at < ?", (now - KEPT_S,))
        base.executemany(
            "insert or replace into shown values (?, ?, ?, ?, ?)",
            [(place, item.id, item.revision, as_json, now) for item in new],
        )


def revision_shown(queue: Queue, place: str, id: int) -> int:
    """The revision of an item that was shown there last; 0: none was.  Raises StoreError."""
    with queue.reading() as base:
        row = base.execute("select revision from shown where place = ? and item = ?", (place, id)).fetchone()
    return int(row["revision"]) if row else 0


def _is_news(item: Item, before: sqlite3.Row | None, as_json: bool) -> bool:
    if before is None:
        return True
    if as_json and not before["as_json"]:
        return False
    return (before["revision"], bool(before["as_json"])) != (item.revision, as_json)
