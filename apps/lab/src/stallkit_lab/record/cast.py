"""Recordings on the disk: read as often as needed with the memory of one line, and as labelled cases."""

from __future__ import annotations

import shlex
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import IO, Generator, Iterator

from attrs import define, field

from stallkit.errors import StallkitError
from stallkit.evidence.snapshot import Snapshot
from stallkit_lab.corpus_lines import Case
from stallkit_lab.record import asciicast
from stallkit_lab.record.asciicast import EXIT, MAX_LINE, OUTPUT, Event, Header, Problems
from stallkit_lab.record.intervals import Interval, Marked, marked
from stallkit_lab.record.player import Player

__all__ = ["GAP_S", "Recording", "cases"]

GAP_S = 0.3  # a screen rests when it is the same for as long as between two looks of a check
SETTLED_S = 1.0  # a rest of this length is not a pause between two lines of output


class Recording:
    """One recording in a file.  `problems` gets its unreadable lines; raises OSError where the file cannot be read.

    `header` is None where the file is not a readable recording: then there are no events either.
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


def cases(path: Path, problems: list[StallkitError]) -> Iterator[Case]:
    """A labelled case for each marked interval of a recording: its screen at the end of its last rest of a second.

    Where it has no such rest, its longest pause.  Quiet time, facts and reports are those of that moment.
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
