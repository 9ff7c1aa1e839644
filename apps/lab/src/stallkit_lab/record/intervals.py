"""From markers to the truth about every moment of a recording.

A person sets a marker after seeing the screen, so it is true of that screen: its interval begins with the last output
before it.  Where nothing was printed since the previous marker, it begins at its own time; one with the same state then
replaces the previous one, as the more exact.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Iterable, Sequence

from attrs import frozen

from stallkit_lab.corpus_lines import Label
from stallkit_lab.notes import NO_TRUTH, read_marker
from stallkit_lab.record.asciicast import MARKER, OUTPUT, Event, Problems

__all__ = ["Marked", "Marker", "Interval", "marked", "truth_at"]


@frozen
class Marker:
    """One marker as it was given, `at` seconds after the beginning; `label` is None where it is unknown."""

    at: float
    text: str
    label: Label | None
    line: int


@frozen
class Interval:
    """From `start` to `end`, in seconds, the label holds."""

    start: float
    end: float
    label: Label


@frozen
class Marked:
    """The markers of a recording and their intervals; `duration` is the time of its last event, in seconds."""

    markers: tuple[Marker, ...]
    intervals: tuple[Interval, ...]
    duration: float


def marked(events: Iterable[Event], problems: Problems) -> Marked:
    """Every marker and the intervals that they make; an unknown marker is a problem, and is ignored."""
    markers: list[Marker] = []
    starts: list[tuple[float, Label]] = []
    now, printed = 0.0, None
    for event in events:
        now = event.at
        if event.code == OUTPUT and event.data:
            printed = event.at
        elif event.code == MARKER:
            try:
                label = read_marker(event.data)
            except ValueError as error:
                problems.note(event.line, str(error), "correct the marker")
                markers.append(Marker(event.at, event.data, None, event.line))
                continue
            markers.append(Marker(event.at, event.data, label, event.line))
            if printed is None and starts and starts[-1][1].state is label.state:
                starts[-1] = (starts[-1][0], label)
            else:
                starts.append((event.at if printed is None else printed, label))
            printed = None
    ends = [start for start, _ in starts[1:]] + [now]
    pairs = zip(starts, ends, strict=True) if starts else ()
    found = [Interval(start, end, label) for (start, label), end in pairs]
    return Marked(tuple(markers), tuple(one for one in found if one.label.state is not NO_TRUTH), now)


def truth_at(intervals: Sequence[Interval], at: float) -> Interval | None:
    """The interval at a moment, or None; where two meet, the later one."""
    index = bisect_right(intervals, at, key=lambda one: one.start) - 1
    return intervals[index] if index >= 0 and at <= intervals[index].end else None
