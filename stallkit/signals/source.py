"""What a source of signals is: it reads what a program publishes of itself, and may have it publish more.

A pack brings its program's source by ``[project.entry-points."stallkit.signals"]``, ``NAME = "module:SOURCE"``.
`stallkit.testing.check_signal` holds it to what is promised of all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, Protocol, Sequence, runtime_checkable

from stallkit.evidence.signal import Signal
from stallkit.signals.publisher import Publisher

__all__ = ["SignalSource", "Starter", "has_option"]


@runtime_checkable
class SignalSource(Protocol):
    """Reads what programs of one kind publish of themselves."""

    name: str
    programs: frozenset[str]  # names of processes, without versions; others are not asked

    def read(self, publisher: Publisher, now: float) -> Iterable[Signal]:
        """The signals of one process, at `now` in seconds of the wall clock; none if it published nothing.

        Takes a few milliseconds, opens no terminal, writes nothing, and never raises for what it finds.  A server of
        the process's own may be asked on this machine, if the listening socket is the process's, by a request that
        changes nothing.
        """


@runtime_checkable
class Starter(SignalSource, Protocol):
    """A source whose programs say more of themselves if they are started with further options."""

    def start_with(self, command: Sequence[str], folder: Path) -> list[str] | None:
        """The command with these options, for one start; None if it takes none, or has such options already.

        `command` begins with one of `programs`, or a path to it.  What the options need may be written into `folder`:
        ``hooks/ID`` of the state directory, which only this user can read and which goes with the session.  No file of
        the user's is changed.  Raises OSError if nothing can be written.
        """


def has_option(command: Sequence[str], option: str) -> bool:
    """Whether a command has this option, with its value behind it or in it.

    >>> has_option(["acme", "--port=80"], "--port"), has_option(["acme", "--port", "80"], "--po")
    (True, False)
    """
    return any(word == option or word.startswith(f"{option}=") for word in command)
