"""Faults under a supervisor at work: its disk, its store, tmux, the clock, and its own sleep.

Each point has a tmux server of its own, on it a program that keeps asking (`asker`); the fault comes at a random moment
once the supervisor has pressed there.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any, Callable

from attrs import frozen

from soak.fault_kinds import (
    agent_ends,
    call,
    clock_jumps,
    full,
    no_tmux,
    of_store,
    read_only,
    server_killed,
    server_stops,
    size,
    socket_removed,
    stop_file,
    suspended,
)
from soak.fault_points import DEADLINE_S, Point
from soak.nursery import Nursery, ended, kill
from soak.parts import Figure, Part, Run

LANES = 6  # points at a time: they wait more than they compute


def soak(run: Run) -> list[Figure]:
    """The points, several at a time."""
    kinds = _kinds(run.size)
    points: list[Point] = []
    lock = threading.Lock()
    with Nursery(run.folder) as nursery:

        def start(**spec: Any) -> int:
            with lock:
                return nursery.start(**spec)

        def one(number: int) -> Point:
            folder = run.folder / f"point-{number}"
            folder.mkdir()
            point = Point(number, folder, start, random.Random(number))
            try:
                KINDS[kinds[number]](point)
            except Exception as error:
                point.fails("points that could not be tried", f"{kinds[number]}: {error!r}")
            if point.pid and not ended(point.pid):
                kill(point.pid)
            for event in point.events("crash", "defect"):
                point.fails("supervisors that failed", event)
            point.broken = [f"{kinds[number]}, {said}" for said in point.broken]
            return point

        with ThreadPoolExecutor(LANES) as lanes:
            for done, point in enumerate(lanes.map(one, range(run.size)), 1):
                points.append(point)
                run.tell(done)
    for point in points:
        for said in point.broken:
            print(said[:1500], file=sys.stderr)
    return _figures(points, Counter(kinds))


def _figures(points: list[Point], kinds: Counter[str]) -> list[Figure]:
    tally: Counter[str] = sum((point.tally for point in points), Counter())
    names = (
        *("points that could not be tried", "presses without a record", "prompts pressed twice", "gone, from an error"),
        *(
            "limits exceeded",
            "restarts of a live agent",
            "false stalls",
            "supervisors that failed",
            "faults not told of",
        ),
        *("stores that are not sound", "supervisors that did not go on", "ends and stalls that were missed"),
    )
    figures = [Figure("fault points", f"{len(points)}: {_listed(kinds)}", "all", sum(kinds.values()) == len(points))]
    figures += [Figure(name, f"{tally[name]} of {len(points)} points", "0", tally[name] == 0) for name in names]
    figures.append(Figure("presses in these points", f"{tally['presses']}", "more than 0", tally["presses"] > 0))
    delays = [delay for point in points for delay in point.delays]
    usual = [delay for point in points for delay in point.usual]
    if delays and usual:
        later = max(0.0, max(delays) - max(usual))  # than the slowest otherwise: the machine may be loaded
        said = f"{later:.2f} s at most; {median(delays):.2f} s, else {median(usual):.2f} s, until the key (medians)"
        figures.append(Figure("other servers' prompts answered later", said, f"{DEADLINE_S:g} s", later <= DEADLINE_S))
    return figures


def _listed(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


@frozen
class _Share:
    """How many of each 50 points are of a kind."""

    name: str
    tried: Callable[[Point], None]
    of_50: int


_SHARES = (
    _Share("calls of the store that fail", of_store(call), 19),
    _Share("disk full", of_store(full), 5),
    _Share("file too large", of_store(size), 4),
    _Share("read-only", of_store(read_only), 3),
    _Share("server stopped", server_stops, 4),
    _Share("server killed", server_killed, 3),
    _Share("socket removed", socket_removed, 2),
    _Share("tmux missing", no_tmux, 2),
    _Share("clock set by a day", clock_jumps, 3),
    _Share("supervisor asleep", suspended, 3),
    _Share("agent killed", agent_ends, 1),
    _Share("stop file not written", stop_file, 1),
)
KINDS = {share.name: share.tried for share in _SHARES}


def _kinds(count: int) -> list[str]:
    """The kind of each point: each once, then by their shares."""
    once = [share.name for share in _SHARES]
    rest = [share.name for share in _SHARES for _ in range(share.of_50 - 1)]
    random.Random(5).shuffle(rest)
    cycle = once + rest
    return [cycle[number % len(cycle)] for number in range(count)]


PART = Part(
    name="faults",
    about="Faults at random moments under a supervisor that presses: store, disk, tmux, clock, its own sleep.",
    unit="fault points",
    full=330,
    short=12,
    soak=soak,
)
