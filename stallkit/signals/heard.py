"""What the programs of a session say of themselves, read for one look at it.

From the session's first process downwards: through shells, loops, `script`, su and sandboxes, since each started the
next one.  A process whose terminal has another group in the foreground is a job that was left behind: it is stale.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Iterator, Sequence

from attrs import evolve

from stallkit.core.signal import Signal
from stallkit.core.verdict import Snapshot
from stallkit.probes.procfs import PROC, stat_of
from stallkit.signals.publisher import Publisher
from stallkit.signals.source import SignalSource, installed_sources

__all__ = ["heard", "signals_below"]

PROCESSES = 256  # below a session, looked at
_log = logging.getLogger(__name__)


def heard(now: Snapshot, leader: int) -> Snapshot:
    """The look with the signals of its session, whose first process has the pid `leader`."""
    return evolve(now, signals=signals_below(leader)) if now.alive is not False else now


def signals_below(leader: int, sources: Sequence[SignalSource] | None = None) -> tuple[Signal, ...]:
    """The signals of a process and all that descend from it, each bound to the process that says it.

    Never raises: a source that fails is logged and left out.
    """
    sources = installed_sources() if sources is None else sources
    found: list[Signal] = []
    for publisher in _below(leader):
        asked = [source for source in sources if not source.programs.isdisjoint(publisher.names)]
        for source in asked:
            try:
                said = list(source.read(publisher, time.time()))
            except Exception as error:  # foreign code, and files of other programs
                _log.warning("signals: %s of process %d: %s", source.name, publisher.pid, error)
                continue
            found += [_current(signal, publisher) for signal in said]
    return tuple(found)


def _current(signal: Signal, publisher: Publisher) -> Signal:
    held_up = publisher.held_up
    return evolve(signal, stale=held_up) if held_up and signal.stale is None else signal


def _below(leader: int) -> Iterator[Publisher]:
    """The process itself, and its descendants, the nearest first."""
    waiting, seen = [leader], set[int]()
    while waiting and len(seen) < PROCESSES:
        pid = waiting.pop(0)
        stat = stat_of(pid)
        if pid in seen or stat is None:
            continue
        seen.add(pid)
        yield Publisher(pid, stat)
        waiting += _children(pid)


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
