"""What the programs of a session say of themselves: the installed sources, asked for one look, and told at a start.

A process whose terminal has another group in the foreground is a job that was left behind: what it says is stale.  What
a start adds to a command, so that its program says more of itself, is the options of the program's source; the files
that they need are in one folder of the state directory, which goes with the session.
"""

from __future__ import annotations

import logging
import shutil
import time
from functools import cache
from pathlib import Path, PurePath
from typing import Sequence

from attrs import evolve

from stallkit import private
from stallkit.config import state_dir
from stallkit.entry_points import entry_points
from stallkit.evidence.signal import Signal
from stallkit.evidence.snapshot import Snapshot
from stallkit.signals.process_tree import processes_below
from stallkit.signals.source import SignalSource, Starter

__all__ = ["ENTRY_POINTS", "command_with_signals", "installed_sources", "remove_files", "signals_below", "with_signals"]

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


def with_signals(now: Snapshot, leader: int) -> Snapshot:
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


# --- what a start adds ---


def command_with_signals(command: Sequence[str], id: str) -> list[str]:
    """The command for the start with this id; as it was if no installed source has options for it.

    Raises OSError if the files that the options need cannot be written.
    """
    program, folder = PurePath(command[0]).name if command else "", _folder(id)
    for source in installed_sources():
        if isinstance(source, Starter) and program in source.programs:
            private.folder(folder)
            try:
                words = source.start_with(command, folder)
            except OSError:
                raise
            except Exception as error:  # foreign code: whatever else it raises is its own failure
                logging.getLogger(__name__).warning("signals: %s starts nothing: %s", source.name, error)
                words = None
            if words is not None:
                return list(words)
            remove_files(id)
    return list(command)


def remove_files(id: str) -> None:
    """Remove the files of a start that has ended."""
    shutil.rmtree(_folder(id), ignore_errors=True)


def _folder(id: str) -> Path:
    return state_dir().absolute() / "hooks" / id
