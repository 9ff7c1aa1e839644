"""The processes of a session: from its first one downwards, also through clients that show what runs elsewhere.

Through shells, loops, `script`, su and sandboxes, since each started the next one.  A client of tmux, docker or podman
started nothing that it shows: the pane or the container's process is looked up.  Where a relay on the way is stopped
or in the background, what is below it is not what the session shows.
"""

from __future__ import annotations

from collections import deque
from typing import Callable, Iterator

from stallkit.detect.families import RELAYS
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.procfs import Stat, children_of, stat_of
from stallkit.signals.container_clients import in_container
from stallkit.signals.nested_tmux import in_pane
from stallkit.signals.publisher import Publisher

__all__ = ["PROCESSES", "at_work", "processes_below"]

PROCESSES = 256  # below a session, looked at
_BEHIND: tuple[Callable[[Publisher], int | None], ...] = (in_pane, in_container)


def processes_below(leader: int) -> Iterator[tuple[Publisher, str | None]]:
    """A process and its descendants, the nearest first, each with why it may not be what the session shows; or None."""
    waiting, seen = deque[tuple[int, Stat | None, str | None]]([(leader, stat_of(leader), None)]), set[int]()
    while waiting and len(seen) < PROCESSES:
        pid, stat, way = waiting.popleft()
        if pid in seen or stat is None:
            continue
        seen.add(pid)
        publisher = Publisher(pid, stat)
        held_up = way or publisher.held_up_by(stat)
        yield publisher, held_up
        for child in _children(pid):
            other = stat_of(child)
            if other is not None:  # on the same terminal each one is judged by itself: job control moves it
                waiting.append((child, other, way if other.device == stat.device else held_up))
        shown = (find(publisher) for find in _BEHIND)
        waiting += [(pid, stat_of(pid), held_up) for pid in shown if pid is not None]


def at_work(snapshot: Snapshot) -> tuple[int, ...]:
    """The processes whose work a session shows, without all below them: the foreground's, or what a client there shows.

    Empty where that is unknown, as behind ssh or on another machine: then nothing is known of their work either.
    """
    kernel = snapshot.kernel
    if kernel is None or not snapshot.alive or snapshot.elsewhere:
        return ()
    members = [member.pid for member in kernel.members if not member.ended]
    if kernel.relay is None or kernel.through:
        return tuple(members)
    shown = ((publisher, held_up) for pid in members for publisher, held_up in processes_below(pid))
    return tuple(one.pid for one, held_up in shown if held_up is None and RELAYS.isdisjoint(one.names))


def _children(pid: int) -> list[int]:
    try:
        return children_of(pid)
    except OSError:  # the kernel does not list them
        return []
