"""What the programs of a session say of themselves, asked of the installed sources for one look at it.

A process whose terminal has another group in the foreground is a job that was left behind: what it says is stale.
"""

from __future__ import annotations

import logging
import time
from functools import cache
from typing import Sequence

from attrs import evolve

from stallkit.entry_points import entry_points
from stallkit.evidence.signal import Signal
from stallkit.evidence.snapshot import Snapshot
from stallkit.signals.descent import processes_below
from stallkit.signals.source import SignalSource

__all__ = ["ENTRY_POINTS", "heard", "installed_sources", "signals_below"]

ENTRY_POINTS = "stallkit.signals"


@cache
def installed_sources() -> Sequence[SignalSource]:
    """The sources of the installed distributions, by name; one that cannot be loaded is logged and left out."""
    found = []
    for entry in sorted(entry_points(ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            source = entry.load()
            if not isinstance(source, SignalSource):
                raise TypeError(f"{source!r} is no source of signals")
            found.append(source)
        except Exception as error:  # foreign code: whatever it raises is its own failure
            logging.getLogger(__name__).warning("signals: %s of %s is left out: %s", entry.name, entry.value, error)
    return tuple(found)


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
