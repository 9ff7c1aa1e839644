"""What the canary finds: one `Point` for each state that an agent was driven into, and the sums over them.

Pure.  The truth is the state that the agent was driven into; nothing here reads a screen.
"""

from __future__ import annotations

import statistics
import zlib
from typing import Any, Mapping, Sequence

from attrs import asdict, frozen

IN_TIME_S = 1.5  # from a change to the verdict of somebody who looks each second


@frozen
class Said:
    """What one way of looking says; `certainty` is None for a signal."""

    state: str
    certainty: str | None = None
    kind: str | None = None

    @property
    def sure(self) -> bool:
        return self.certainty == "sure"

    def __str__(self) -> str:
        return (
            f"{self.state}{f' ({self.kind})' if self.kind else ''}{'' if self.sure else ', ' + (self.certainty or '')}"
        )


@frozen
class Point:
    """One state of one agent: the truth, and what each source says."""

    agent: str
    version: str
    name: str
    state: str  # the truth
    kind: str | None  # the truth; None: not labelled
    verdict: Said
    screen: Said  # the verdict on the same looks without any signal
    signals: Mapping[str, str]  # by source: the state that it says
    by_signal: bool = False
    latency_s: float | None = None  # from the change to a watcher's verdict; None: the state before was the same
    never: bool = False  # a watcher never said it
    sure_s: float | None = None  # where it waits: as `latency_s`, until the watcher was sure
    reasons: Sequence[str] = ()

    @property
    def right(self) -> bool:
        return self.verdict.state == self.state

    @property
    def false_sure(self) -> bool:
        return self.verdict.sure and not self.right

    @property
    def wants_a_look(self) -> bool:
        """Whether a person should look at its screen: it is told wrong, or in doubt where it waits."""
        return not self.right or (self.state == "waiting" and not self.verdict.sure)

    @property
    def held_back(self) -> bool:
        return held_back(self.agent, self.name)

    def as_object(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Point:
        """The inverse of `as_object`."""
        said = {name: Said(**value[name]) for name in ("verdict", "screen")}
        return cls(**{**value, **said})


def held_back(agent: str, name: str) -> bool:
    """Whether a point belongs to the third that nothing is fitted to.

    >>> held_back("codex", "trust") == held_back("codex", "trust")
    True
    """
    return zlib.crc32(f"{agent} {name}".encode()) % 3 == 0


@frozen
class Sums:
    """The figures over some points; times in seconds."""

    points: int
    right: int
    waiting: int
    sure: int  # of those that wait: told sure, and right
    screen_right: int
    screen_sure: int
    false_sure: int
    kinds: int  # of those that wait, whose kind is labelled
    kinds_right: int
    timed: int
    never: int
    median_s: float | None
    slowest_s: float | None
    in_time: int  # of the timed ones: within IN_TIME_S
    sure_median_s: float | None
    sure_slowest_s: float | None

    def share(self, part: int, whole: int) -> str:
        return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def sums(points: Sequence[Point]) -> Sums:
    """The figures over some points."""
    waiting = [point for point in points if point.state == "waiting"]
    labelled = [point for point in waiting if point.kind is not None]
    sure_times = sorted(point.sure_s for point in points if point.sure_s is not None)
    times = sorted(point.latency_s for point in points if point.latency_s is not None)
    return Sums(
        points=len(points),
        right=sum(point.right for point in points),
        waiting=len(waiting),
        sure=sum(point.right and point.verdict.sure for point in waiting),
        screen_right=sum(point.screen.state == point.state for point in points),
        screen_sure=sum(point.screen.state == point.state and point.screen.sure for point in waiting),
        false_sure=sum(point.false_sure for point in points),
        kinds=len(labelled),
        kinds_right=sum(point.verdict.kind == point.kind for point in labelled),
        timed=len(times),
        never=sum(point.never for point in points),
        median_s=statistics.median(times) if times else None,
        slowest_s=times[-1] if times else None,
        in_time=sum(seconds <= IN_TIME_S for seconds in times),
        sure_median_s=statistics.median(sure_times) if sure_times else None,
        sure_slowest_s=sure_times[-1] if sure_times else None,
    )


def changes(before: Sequence[Point], now: Sequence[Point]) -> list[str]:
    """What differs from the run before, in words; agents that were not run before are not compared."""
    old = {(point.agent, point.name): point for point in before}
    versions = {point.agent: point.version for point in before}
    news = []
    for agent, version in {point.agent: point.version for point in now}.items():
        if agent in versions and versions[agent] != version:
            news.append(f"{agent}: {versions[agent]} -> {version}")
    for point in now:
        was = old.pop((point.agent, point.name), None)
        if was is None:
            if point.agent in versions:
                news.append(f"{point.agent}, {point.name}: new")
            continue
        if was.verdict != point.verdict:
            news.append(f"{point.agent}, {point.name} (truly {point.state}): {was.verdict} -> {point.verdict}")
        for source in sorted({*was.signals, *point.signals}):
            if was.signals.get(source) != point.signals.get(source):
                told = f"{was.signals.get(source, 'nothing')} -> {point.signals.get(source, 'nothing')}"
                news.append(f"{point.agent}, {point.name}, {source}: {told}")
    ran = {point.agent for point in now}
    news += [f"{agent}, {name}: not reached any more" for agent, name in old if agent in ran]
    return news
