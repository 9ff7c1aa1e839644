"""The processes of a session: from its first one downwards, also through clients that show what runs elsewhere.

Through shells, loops, `script`, su and sandboxes, since each started the next one.  A client of tmux, docker or podman
started nothing that it shows: the pane or the container's process is looked up.  Where a relay on the way is stopped
or in the background, what is below it is not what the session shows.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Callable, Iterator

from stallkit.probes.procfs import PROC, stat_of
from stallkit.signals.container_clients import in_container
from stallkit.signals.nested_tmux import in_pane
from stallkit.signals.publisher import Publisher

__all__ = ["PROCESSES", "processes_below"]

PROCESSES = 256  # below a session, looked at
_BEHIND: tuple[Callable[[Publisher], int | None], ...] = (in_pane, in_container)


def processes_below(leader: int) -> Iterator[tuple[Publisher, str | None]]:
    """A process and its descendants, the nearest first, each with why it may not be what the session shows; or None."""
    waiting, seen = deque[tuple[int, str | None]]([(leader, None)]), set[int]()
    while waiting and len(seen) < PROCESSES:
        pid, way = waiting.popleft()
        stat = stat_of(pid)
        if pid in seen or stat is None:
            continue
        seen.add(pid)
        publisher = Publisher(pid, stat)
        held_up = way or publisher.held_up
        yield publisher, held_up
        for child in _children(pid):
            other = stat_of(child)
            if other is not None:  # on the same terminal each one is judged by itself: job control moves it
                waiting.append((child, way if other.device == stat.device else held_up))
        shown = (find(publisher) for find in _BEHIND)
        waiting += [(pid, held_up) for pid in shown if pid is not None]


def _children(pid: int) -> Iterator[int]:
    """The processes that its threads started."""
    try:
        threads = list(Path(PROC, str(pid), "task").iterdir())
    except OSError:  # it ended, or there is no /proc
        return
    for thread in threads:
        try:
            yield from map(int, (thread / "children").read_text().split())
        except OSError:
            continue
