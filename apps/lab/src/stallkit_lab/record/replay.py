"""The verdict on a recorded session at each moment, beside the truth.

Pure over a recording: looks are as in a check, `GAP_S` apart while the screen changes, once it rested for that long,
and where facts were noted.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any, Iterable, Iterator

from attrs import frozen

from stallkit.detect.engine import Detection, Engine
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.agents import asked
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit_lab.notes import encode_marker
from stallkit_lab.record.asciicast import EXIT, FACTS, OUTPUT, Event
from stallkit_lab.record.cast import GAP_S, Recording
from stallkit_lab.record.intervals import Interval, Marked, truth_at
from stallkit_lab.record.player import Player

__all__ = ["Change", "Look", "Timeline", "looks", "timeline"]

_Words = tuple[State | None, Certainty | None, Kind | None, str | None]
_END = ""  # the code for the end, which is not an event


@frozen
class Look:
    """One look at a recorded session, and its verdict."""

    at: float
    snapshot: Snapshot
    verdict: Verdict


@frozen
class Change:
    """From `at` on, in seconds, this was the verdict, and this the truth (a marker's text; None: unknown)."""

    at: float
    state: State | None
    certainty: Certainty | None
    kind: Kind | None
    signature: str | None
    truth: str | None

    @property
    def right(self) -> bool | None:
        """Whether the state is right; None where the truth is unknown."""
        return None if self.truth is None else self.truth.partition(":")[0] == self.state


@frozen
class Timeline:
    """Every change of verdict or truth, in order; `agreement` is the share of the marked time with the right state."""

    duration: float
    changes: tuple[Change, ...]
    markers: tuple[dict[str, Any], ...]
    agreement: float | None


def looks(recording: Recording, engine: Engine, *, with_facts: bool = True) -> Iterator[Look]:
    """Every look at a recording, in order."""
    if recording.header is None:
        return
    player, taken = recording.player(with_facts=with_facts), _Looks(engine)
    rested, latest = True, -GAP_S
    last = Event(recording.marked.duration, _END, "")
    for event in chain(recording.events(), (last,)):
        if not rested and event.at - player.rests_since >= GAP_S:
            rested, latest = True, player.rests_since + GAP_S
            yield taken.look(player, latest)
        player.feed(event)
        if event.code == OUTPUT and event.data:
            rested = False
            if event.at - latest < GAP_S:
                continue
        elif event.code not in (FACTS, EXIT):
            continue
        latest = event.at
        yield taken.look(player, latest)
    if not rested:
        yield taken.look(player, last.at)


class _Looks:
    """Looks at a player, each judged with the one before it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._before: Snapshot | None = None
        self._agent_seen: Snapshot | None = None
        self._detection: Detection | None = None
        self._changed = 0.0

    def look(self, player: Player, at: float) -> Look:
        seen = player.look(at, None)
        before = self._before
        if before is None or self._detection is None or seen.screen.fingerprint != before.screen.fingerprint:
            self._changed = player.rests_since
        seen = player.look(at, max(0.0, at - self._changed))
        self._before, self._detection = seen, asked(self._engine, seen, self._detection)
        verdict = judge(self._detection, seen, (before,) if before else (), self._agent_seen)
        if verdict.shows_agent:
            self._agent_seen = seen
        return Look(at, seen, verdict)


def timeline(seen: Iterable[Look], found: Marked) -> Timeline:
    """The changes of verdict in the looks, beside those of the truth in the markers."""
    verdicts: list[tuple[float, _Words]] = []
    for look in seen:
        verdict = _words(look.verdict)
        if not verdicts or verdicts[-1][1] != verdict:
            verdicts.append((look.at, verdict))
    borders = {edge for one in found.intervals for edge in (one.start, one.end)}
    moments = sorted({at for at, _ in verdicts} | {edge for edge in borders if edge < found.duration})
    changes: list[Change] = []
    marked_s = right_s = 0.0
    nothing: _Words = (None, None, None, None)
    index = 0
    for moment, following in pairwise([*moments, found.duration]):
        while index < len(verdicts) and verdicts[index][0] <= moment:
            index += 1
        change = Change(round(moment, 3), *(verdicts[index - 1][1] if index else nothing), _truth(found, moment))
        if change.right is not None:
            marked_s += following - moment
            right_s += following - moment if change.right else 0.0
        if not changes or _said(changes[-1]) != _said(change):
            changes.append(change)
    markers = tuple(_marker(one.at, one.text, one.label is not None, one.line) for one in found.markers)
    agreement = round(right_s / marked_s, 4) if marked_s > 0 else None
    return Timeline(round(found.duration, 3), tuple(changes), markers, agreement)


def _words(verdict: Verdict) -> _Words:
    match = verdict.match
    name = f"{match.pack.name}:{match.signature.id}" if match else None
    return verdict.state, verdict.certainty, verdict.kind, name


def _said(change: Change) -> tuple[str | None, ...]:
    return change.state, change.certainty, change.kind, change.signature, change.truth


def _truth(found: Marked, at: float) -> str | None:
    interval: Interval | None = truth_at(found.intervals, at)
    if interval is None or interval.start < interval.end <= at:  # its end is not part of it
        return None
    return encode_marker(interval.label)


def _marker(at: float, text: str, known: bool, line: int) -> dict[str, Any]:
    return {"at": round(at, 3), "label": text, "known": known, "line": line}
