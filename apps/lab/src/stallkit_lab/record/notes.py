"""What a recording has besides its output: markers, which are the truth, and facts, which are the kernel's.

A person sets a marker after seeing the screen, so it is true of that screen: its interval begins with the last output
before it.  Where nothing was printed since the previous marker, it begins at its own time; one with the same state then
replaces the previous one, as the more exact.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any, Iterable, Sequence

from attrs import frozen

from stallkit.detect.signature import Kind, State
from stallkit.evidence.snapshot import KernelFacts, TtyFacts
from stallkit_lab.corpus_lines import Label
from stallkit_lab.record.asciicast import MARKER, OUTPUT, Event, Problems

NO_TRUTH = State.UNKNOWN  # a marker that says: from here on the truth is unknown
LETTERS = {
    "w": State.WAITING,
    "k": State.WORKING,
    "i": State.IDLE,
    "q": State.QUOTA,
    "e": State.ENDED,
    "u": NO_TRUTH,
}
_FLAGS = ("listening", "stopped")
_TEXTS = ("foreground", "how", "relay", "through", "reader")
_HOW = ("read", "poll", "select", "epoll")


def read_marker(text: str) -> Label:
    """The label of a marker's text: ``waiting:confirm``, ``working``; None for ``unknown``.

    Raises ValueError for any other text.

    >>> read_marker("waiting:confirm").kind
    <Kind.CONFIRM: 'confirm'>
    """
    state, colon, kind = text.partition(":")
    if state not in tuple(State):
        raise ValueError(f"marker {text!r:.60} is unknown: use {', '.join(State)} or waiting:KIND")
    if not colon:
        return Label(State(state))
    if state != State.WAITING:
        raise ValueError(f"marker {text!r:.60}: only waiting has a kind")
    if kind not in tuple(Kind):
        raise ValueError(f"marker {text!r:.60}: {kind!r:.40} is not a kind: use {', '.join(Kind)}")
    return Label(State(state), Kind(kind))


def encode_marker(label: Label) -> str:
    """The text of a label's marker."""
    return f"{label.state}:{label.kind}" if label.kind else str(label.state)


def encode_facts(kernel: KernelFacts | None, tty: TtyFacts | None) -> str:
    """The known facts as a JSON object, without unknown ones.

    >>> encode_facts(KernelFacts(foreground="rm", listening=True, how="read"), TtyFacts(echo=True))
    '{"listening": true, "foreground": "rm", "how": "read", "echo": true}'
    """
    kernel, tty = kernel or KernelFacts(), tty or TtyFacts()
    told: dict[str, Any] = {name: getattr(kernel, name) for name in (*_FLAGS, *_TEXTS)}
    told |= {"echo": tty.echo, "canonical": tty.canonical}
    return json.dumps({name: value for name, value in told.items() if value is not None})


def read_facts(text: str) -> tuple[KernelFacts, TtyFacts]:
    """The inverse of `encode_facts`; unknown keys are ignored.  Raises ValueError for anything else."""
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"facts that are not JSON: {text!r:.60}") from error
    if not isinstance(facts, dict):
        raise ValueError(f"facts that are not a JSON object: {text!r:.60}")
    for name in (*_FLAGS, "echo", "canonical"):
        if type(facts.get(name)) not in (bool, type(None)):
            raise ValueError(f"the fact {name} is {facts[name]!r:.40}, neither true nor false")
    for name in _TEXTS:
        if not isinstance(facts.get(name), str | None):
            raise ValueError(f"the fact {name} is {facts[name]!r:.40}, no text")
    if facts.get("how") not in (None, *_HOW):
        raise ValueError(f"the fact how is {facts['how']!r:.40}; {', '.join(_HOW)} are known")
    known: dict[str, Any] = {name: facts.get(name) for name in (*_FLAGS, *_TEXTS)}
    return KernelFacts(**known), TtyFacts(facts.get("echo"), facts.get("canonical"))


# --- from markers to the truth about every moment ---


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
