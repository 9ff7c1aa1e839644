"""Recordings on the disk: read as often as needed with the memory of one line, played, and as labelled cases."""

from __future__ import annotations

import re
import shlex
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import IO, Generator, Iterator

from attrs import define, field

from stallkit.errors import StallkitError
from stallkit.evidence.snapshot import KernelFacts, Snapshot, TtyFacts
from stallkit.terminal.marks import MarksReader
from stallkit.transports.emulator import Emulator, GhosttyEmulator
from stallkit_lab.corpus_lines import Case
from stallkit_lab.record import asciicast
from stallkit_lab.record.asciicast import EXIT, MAX_LINE, OUTPUT, Event, Header, Problems
from stallkit_lab.record.recording import Interval, Marked, marked, read_facts

GAP_S = 0.3  # a screen rests when it is the same for as long as between two looks of a check
SETTLED_S = 1.0  # a rest of this length is not a pause between two lines of output
_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})", re.ASCII)
_STATUS = re.compile(r"-?\d{1,10}", re.ASCII)


class Recording:
    """One recording in a file.  `problems` gets its unreadable lines; raises OSError where the file cannot be read.

    `header` is None if the file is not a readable recording: then there are no events either.
    """

    def __init__(self, path: Path, problems: list[StallkitError]) -> None:
        self.path = path
        self.problems = Problems(str(path), problems)
        with path.open("rb") as file:
            self.header: Header | None = asciicast.header(next(_lines(file), b""), self.problems)

    def events(self) -> Generator[Event, None, None]:
        """The events from the beginning, without broken lines, which `marked` reports."""
        return self._events(Problems(str(self.path)))

    @cached_property
    def marked(self) -> Marked:
        """The truth by the markers, from one pass over the file, which reports every broken line."""
        found = marked(self._events(self.problems), self.problems)
        self.problems.close()
        return found

    def player(self, *, with_facts: bool = True) -> Player:
        """A player for `events`."""
        assert self.header is not None
        return Player(self.header, self.problems, with_facts=with_facts, target=f"cast:{self.path.name}")

    def _events(self, problems: Problems) -> Generator[Event, None, None]:
        if self.header is None:
            return
        with self.path.open("rb") as file:
            lines = _lines(file)
            next(lines, None)
            yield from asciicast.events(lines, self.header.version, problems)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; only the beginning of one that is too long."""
    while line := file.readline(MAX_LINE + 1):
        while len(line) > MAX_LINE and not line.endswith(b"\n"):
            rest = file.readline(MAX_LINE + 1)
            if not rest or rest.endswith(b"\n"):
                break
        yield line


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
            case asciicast.OUTPUT if event.data:
                data = event.data.encode("utf-8", "replace")
                self._emulator.feed(data)
                self._emulator.replies()  # no program waits for them
                self._marks.feed(data, event.at)
                self._facts, self.rests_since = (None, None), event.at
            case asciicast.RESIZE:
                self._resize(event)
            case asciicast.FACTS:
                try:
                    self._facts = read_facts(event.data)
                except ValueError as error:
                    self._problems.note(event.line, str(error))
            case asciicast.LOST:
                self._facts = (None, None)
            case asciicast.EXIT:
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


def cases(path: Path, problems: list[StallkitError]) -> Iterator[Case]:
    """A labelled case for each marked interval of a recording: its screen at the end of its last rest of a second.

    If it has no such rest, its longest pause.  Quiet time, facts and reports are those of that moment.
    """
    recording = Recording(path, problems)
    if recording.header is None:
        return
    for interval, seen in _settled(recording):
        rests = bool(seen.quiet_s)
        yield Case(
            id=f"{path.name}@{seen.taken_at:.3f}",
            program=seen.foreground or _program(recording.header),
            snapshot=seen,
            label=interval.label,
            history=(seen,) if rests else (),
        )
    recording.problems.close()


@define
class _Best:
    interval: Interval
    rest_s: float = 0.0
    seen: Snapshot | None = field(default=None)


def _settled(recording: Recording) -> Iterator[tuple[Interval, Snapshot]]:
    """Each interval with the look that represents it."""
    found, player = recording.marked, recording.player()
    waiting = [_Best(one) for one in found.intervals]
    with closing(recording.events()) as events:
        for event in events:
            if not waiting:
                return
            if event.code == OUTPUT and event.data:
                _offer(waiting, player, event.at)
                while waiting and waiting[0].interval.end <= event.at and waiting[0].seen is not None:
                    yield _done(waiting.pop(0))
            elif event.code == EXIT:
                break  # no interval is left
            player.feed(event)
    _offer(waiting, player, found.duration, last=True)
    yield from (_done(best) for best in waiting if best.seen is not None)


def _offer(waiting: list[_Best], player: Player, now: float, last: bool = False) -> None:
    """Note that the screen rested from the last output up to now, for the intervals that this is in."""
    for best in waiting:
        interval = best.interval
        if interval.start > now:
            break
        start, end = max(interval.start, player.rests_since), min(interval.end, now)
        rest_s = end - start
        over = best.seen is None and (last or now > interval.end)  # all of it at one moment: then that one
        if not (over or rest_s >= SETTLED_S or rest_s > best.rest_s):
            continue
        stood_s = end - player.rests_since
        best.rest_s, best.seen = rest_s, player.look(end, stood_s if stood_s >= GAP_S else 0.0)


def _done(best: _Best) -> tuple[Interval, Snapshot]:
    assert best.seen is not None
    return best.interval, best.seen


def _program(made: Header) -> str:
    """The name of the recorded program, if the header has it."""
    try:
        words = shlex.split(made.command or "")
    except ValueError:
        words = (made.command or "").split()
    return Path(words[0]).name if words else ""
