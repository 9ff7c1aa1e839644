"""A recording played through an emulator: events go in, and at any moment it gives a look as a transport would."""

from __future__ import annotations

import re

from stallkit.evidence.snapshot import KernelFacts, Snapshot, TtyFacts
from stallkit.terminal.marks import MarksReader
from stallkit.transports.emulator import Emulator, GhosttyEmulator
from stallkit_lab.notes import read_facts
from stallkit_lab.record.asciicast import EXIT, FACTS, LOST, OUTPUT, RESIZE, Event, Header, Problems

__all__ = ["Player"]

_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})", re.ASCII)
_STATUS = re.compile(r"-?\d{1,10}", re.ASCII)


class Player:
    """Takes the events of one recording in their order; raises TransportUnavailable where no emulator is installed.

    `rests_since` is the time of the last output.  Facts hold until the next output; without `with_facts`
    there is only the screen.
    """

    def __init__(self, made: Header, problems: Problems, *, with_facts: bool = True, target: str = "") -> None:
        self._emulator: Emulator = GhosttyEmulator(*made.size)
        self._marks = MarksReader()
        self._problems, self._with_facts, self._target = problems, with_facts, target
        self._facts: tuple[KernelFacts | None, TtyFacts | None] = (None, None)
        self._alive: bool | None = None
        self._status: int | None = None
        self.rests_since = 0.0

    def feed(self, event: Event) -> None:
        """Take one event; one with invalid data is a problem, and is ignored."""
        match event.code:
            case "o" if event.data:
                data = event.data.encode("utf-8", "replace")
                self._emulator.feed(data)
                self._emulator.replies()  # no program waits for them
                self._marks.feed(data, event.at)
                self._facts, self.rests_since = (None, None), event.at
            case "r":
                self._resize(event)
            case "k":
                try:
                    self._facts = read_facts(event.data)
                except ValueError as error:
                    self._problems.note(event.line, str(error))
            case "l":
                self._facts = (None, None)
            case "x":
                self._marks.process_exited()
                self._alive = False
                self._status = int(event.data) if _STATUS.fullmatch(event.data) else None

    def look(self, at: float, quiet_s: float | None) -> Snapshot:
        """The look at this moment; `quiet_s` is for how long its screen rested, in seconds, None if unknown."""
        screen = self._emulator.screen()
        if not self._with_facts:
            return Snapshot(screen=screen, taken_at=at, quiet_s=quiet_s, target=self._target)
        kernel, tty = self._facts
        return Snapshot(
            screen=screen,
            taken_at=at,
            alive=self._alive,
            exit_status=self._status,
            kernel=kernel,
            tty=tty,
            marks=self._marks.marks,
            quiet_s=quiet_s,
            accepts_keys=False,
            target=self._target,
        )

    def _resize(self, event: Event) -> None:
        found = _SIZE.fullmatch(event.data)
        try:
            if found is None:
                raise ValueError(f"{event.data!r:.40} is not a size")
            self._emulator.resize(int(found[1]), int(found[2]))
        except ValueError as error:
            self._problems.note(event.line, str(error))


assert (OUTPUT, RESIZE, FACTS, LOST, EXIT) == ("o", "r", "k", "l", "x")  # a match takes no plain names
