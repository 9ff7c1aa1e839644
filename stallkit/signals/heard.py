"""What the programs of a session say of themselves, read for one look at it.

A process whose terminal has another group in the foreground is a job that was left behind: what it says is stale.
"""

from __future__ import annotations

import logging
import time
from typing import Sequence

from stallkit.core.signal import Signal
from stallkit.core.values import evolve
from stallkit.core.verdict import Snapshot
from stallkit.signals.descent import processes_below
from stallkit.signals.source import SignalSource, installed_sources

__all__ = ["heard", "signals_below"]


def heard(now: Snapshot, leader: int) -> Snapshot:
    """The look with the signals of its session, whose first process has the pid `leader`."""
    return evolve(now, signals=signals_below(leader)) if now.alive is not False else now


def signals_below(leader: int, sources: Sequence[SignalSource] | None = None) -> tuple[Signal, ...]:
    """The signals of a process and all that descend from it, each bound to the process that says it.

    Never raises: a source that fails is logged and left out.
    """
    sources = installed_sources() if sources is None else sources
    found: list[Signal] = []
    for publisher, held_up in processes_below(leader):
        asked = [source for source in sources if not source.programs.isdisjoint(publisher.names)]
        for source in asked:
            try:
                said = list(source.read(publisher, time.time()))
            except Exception as error:  # foreign code, and files of other programs
                logging.getLogger(__name__).warning("signals: %s of process %d: %s", source.name, publisher.pid, error)
                continue
            found += [_current(signal, held_up) for signal in said]
    return tuple(found)


def _current(signal: Signal, held_up: str | None) -> Signal:
    return evolve(signal, stale=held_up) if held_up and signal.stale is None else signal
