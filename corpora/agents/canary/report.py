"""What the canary found, as tables for a terminal and as one object for JSON."""

from __future__ import annotations

from typing import Any, Sequence

from attrs import asdict
from rich.console import Console
from rich.table import Table

from canary.points import Point, Sums, sums

SOURCES = ("claude", "copilot", "opencode", "qwen", "osc7501", "title")


def show(console: Console, points: Sequence[Point], news: Sequence[str], held: bool) -> None:
    """The tables; the third that is held back counts in the sums, and is listed only if `held`."""
    listed = [point for point in points if held or not point.held_back]
    console.print(_states(listed))
    console.print(_sums(points))
    for point in listed:
        if point.wants_a_look:
            console.print(f"[bold]look:[/] {point.agent}, {point.name}: {'; '.join(point.reasons)}", highlight=False)
    for line in news:
        console.print(f"changed: {line}", highlight=False, markup=False)


def _states(points: Sequence[Point]) -> Table:
    table = Table("agent", "state driven into", "truth", "verdict", "screen", *_sources(points), "after")
    for point in points:
        table.add_row(
            f"{point.agent} {point.version}",
            point.name,
            point.state,
            _mark(point.right, f"{point.verdict}{' [by signal]' if point.by_signal else ''}"),
            _mark(point.screen.state == point.state, str(point.screen)),
            *(_signal(point, source) for source in _sources(points)),
            "never" if point.never else "" if point.latency_s is None else f"{point.latency_s:.1f} s",
        )
    return table


def _sources(points: Sequence[Point]) -> list[str]:
    found = {source for point in points for source in point.signals}
    return [source for source in SOURCES if source in found] + sorted(found - {*SOURCES})


def _signal(point: Point, source: str) -> str:
    told = point.signals.get(source)
    return "" if told is None else _mark(told == point.state, told)


def _mark(right: bool, told: str) -> str:
    told = told.replace("[", r"\[")
    return f"[green]{told}[/]" if right else f"[red]✗ {told}[/]"


def _sums(points: Sequence[Point]) -> Table:
    heads = ("agent", "state right", "sure where waiting", "false sure", "kind right", "screen alone: right", "sure")
    table = Table(*heads, "told after, median", "slowest", "in 1.5 s", "never", "sure after, median", "slowest")
    for agent in dict.fromkeys(point.agent for point in points):
        table.add_row(agent, *_figures(sums([point for point in points if point.agent == agent])))
    table.add_section()
    table.add_row("all", *_figures(sums(points)))
    return table


def _figures(found: Sums) -> list[str]:
    return [
        found.share(found.right, found.points),
        found.share(found.sure, found.waiting),
        str(found.false_sure),
        found.share(found.kinds_right, found.kinds),
        found.share(found.screen_right, found.points),
        found.share(found.screen_sure, found.waiting),
        _seconds(found.median_s),
        _seconds(found.slowest_s),
        found.share(found.in_time, found.timed),
        str(found.never),
        _seconds(found.sure_median_s),
        _seconds(found.sure_slowest_s),
    ]


def _seconds(found: float | None) -> str:
    return "" if found is None else f"{found:.1f} s"


def as_object(points: Sequence[Point], news: Sequence[str]) -> dict[str, Any]:
    """All of it as plain values."""
    agents = dict.fromkeys(point.agent for point in points)
    figures = {agent: _plain(sums([point for point in points if point.agent == agent])) for agent in agents}
    return {
        "versions": {point.agent: point.version for point in points},
        "sums": {"all": _plain(sums(points)), **figures},
        "changes": list(news),
        "points": [point.as_object() for point in points],
    }


def _plain(found: Sums) -> dict[str, Any]:
    return asdict(found)
