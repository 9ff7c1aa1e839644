"""The process that judges a program behind a relay: output comes in, a line of JSON goes out where the verdict changes.

``python -m stallkit_wrap.relay.relay_judge TERMINAL LEADER COLUMNS ROWS``, with frames of `judge_client` on its
standard input.  It runs at low priority beside the relay, whose copying does not wait for it, and ends with it.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

from attrs import evolve

from stallkit.detect.signature import Certainty
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.judging.judge import judged
from stallkit.packs.registry import installed_engine
from stallkit.probes.foreground_job import probed
from stallkit.terminal.marks import MarksReader
from stallkit_wrap.relay.judge_client import CELLS, CHUNK, FRAME, GAP, OUTPUT, SIZE
from stallkit_wrap.relay.judgement import judgement
from stallkit_wrap.relay.partial_screen import PartialScreen

__all__ = ["LookTimes"]

NICE = 10
REST_S = 0.15  # without output, before the first of two looks
GAP_S = 0.3  # between the two, as in a check
MOVING_S = 3.0  # between two rounds where output never rests
AGAIN_S = (
    1.0,
    4.0,
    15.0,
)  # after a verdict that is not sure, while nothing is printed: a silent program may begin to read


class LookTimes:
    """When to look, in pairs: two looks make a verdict.  Pure; times in seconds of any clock."""

    def __init__(self, now: float) -> None:
        self._next: float | None = now + REST_S
        self._latest = now + MOVING_S
        self._tries = 0
        self.second = False  # the next look is the second of a pair

    def printed(self, now: float) -> None:
        """There was output."""
        self._tries = 0
        if not self.second:
            if self._next is None:
                self._latest = now + MOVING_S
            self._next = min(now + REST_S, self._latest)

    def looked(self, now: float, sure: bool) -> None:
        """A look is over; `sure` counts for the second of a pair."""
        self.second = not self.second
        if self.second:
            self._next = now + GAP_S
            return
        again = not sure and self._tries < len(AGAIN_S)
        self._next = now + AGAIN_S[self._tries] if again else None
        self._tries += again
        self._latest = now + MOVING_S

    def wait(self, now: float) -> float | None:
        """Seconds until the next look; None where there is none before the next output."""
        return None if self._next is None else max(0.0, self._next - now)


def main() -> None:
    terminal, leader, columns, rows = sys.argv[1], *map(int, sys.argv[2:5])
    os.nice(NICE)
    engine, screen, marks = installed_engine(), PartialScreen(columns, rows), MarksReader()
    times, ready, frames = LookTimes(time.monotonic()), select.poll(), b""
    ready.register(0, select.POLLIN)
    before: Snapshot | None = None
    printed_at, said = time.time(), ""
    while True:
        wait = times.wait(time.monotonic())
        if ready.poll(None if wait is None else wait * 1_000):
            data = os.read(0, CHUNK)
            if not data:
                return
            frames = _take(frames + data, screen, marks)
            printed_at = time.time()
            times.printed(time.monotonic())
            continue
        shown, sure = screen.screen(), False
        now = None
        if shown is not None:
            heard = evolve(marks.marks, statuses=())  # what the program reports is the relay's matter
            process = ProcessFacts(None, leader)
            now = Snapshot(shown, time.monotonic(), True, None, process, marks=heard, printed_at=printed_at)
            now = probed(now, before, terminal, leader)
            if times.second and before is not None:
                verdict = judged(engine, now, before)
                sure = verdict.certainty is Certainty.SURE
                told = json.dumps(judgement(verdict, now.foreground))
                if told != said:
                    said = told
                    os.write(1, told.encode() + b"\n")
        before = now
        times.looked(time.monotonic(), sure)


def _take(data: bytes, screen: PartialScreen, marks: MarksReader) -> bytes:
    """Take the whole frames; returns the rest."""
    at = 0
    while at + FRAME.size <= len(data):
        kind, length = FRAME.unpack_from(data, at)
        begin, end = at + FRAME.size, at + FRAME.size + length
        if end > len(data):
            break
        body, at = data[begin:end], end
        if kind == OUTPUT:
            screen.feed(body)
            marks.feed(body, time.monotonic())
        elif kind in (SIZE, GAP):
            screen.resize(*CELLS.unpack(body))
            if kind == GAP:
                screen.gap()
    return data[at:]


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyboardInterrupt):  # the relay has gone
        sys.exit(1)
