"""What a source of signals is, and which there are: ours in a table, third parties' by the entry point.

A distribution adds one by ``[project.entry-points."stallkit.signals"]``, ``NAME = "module:SOURCE"``, an object like
those here.  `stallkit.testing.check_signal` holds it to what is promised of all.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Iterable, Protocol, Sequence, runtime_checkable

from stallkit.core.signal import Signal
from stallkit.entry_points import entry_points
from stallkit.signals.claude import ClaudeSession
from stallkit.signals.copilot import CopilotSession
from stallkit.signals.opencode import OpenCodeServer
from stallkit.signals.publisher import Publisher

__all__ = ["ENTRY_POINTS", "SignalSource", "installed_sources"]

ENTRY_POINTS = "stallkit.signals"


@runtime_checkable
class SignalSource(Protocol):
    """Reads what programs of one kind publish of themselves."""

    name: str
    programs: frozenset[str]  # names of processes, without versions; others are not asked

    def read(self, publisher: Publisher, now: float) -> Iterable[Signal]:
        """The signals of one process, at `now` in seconds of the wall clock; none where it published nothing.

        Takes a few milliseconds, opens no terminal, writes nothing, and never raises for what it finds.  A server of
        the process's own may be asked on this machine, where the listening socket is the process's, by a request that
        changes nothing.
        """


_OURS: tuple[SignalSource, ...] = (ClaudeSession(), CopilotSession(), OpenCodeServer())


@cache
def installed_sources() -> Sequence[SignalSource]:
    """Our own sources and those of installed distributions, in order; one that does not load is logged, left out."""
    found = list(_OURS)
    for entry in sorted(entry_points(ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            source = entry.load()
            if not isinstance(source, SignalSource):
                raise TypeError(f"{source!r} is no source of signals")
            found.append(source)
        except Exception as error:  # foreign code: whatever it raises is its own failure
            logging.getLogger(__name__).warning("signals: %s of %s is left out: %s", entry.name, entry.value, error)
    return tuple(found)
