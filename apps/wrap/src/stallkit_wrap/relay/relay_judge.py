"""The process that judges a program behind a relay: output comes in, a line of JSON goes out where the verdict changes.

``python -m stallkit_wrap.relay.relay_judge TERMINAL LEADER COLUMNS ROWS``, with frames of `judge_client` on its
standard input.  It runs at low priority beside the relay, whose copying does not wait for it, and ends with it.
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import sys
import time
from typing import Any

from attrs import evolve

from stallkit.detect.signature import NEVER_ANSWERED, Certainty, Kind, State
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.probes.foreground_job import probed
from stallkit.redact.redact import redact
from stallkit.terminal.marks import JUDGE, MarksReader, StatusKind, StatusState, plain
from stallkit.terminal.screen import Screen
from stallkit.transports.emulator import GhosttyEmulator
from stallkit_wrap.relay.judge_client import CELLS, CHUNK, FRAME, GAP, OUTPUT, SIZE

# --- the screen of a stream of which parts may be missing ---

_ABORT = b"\x18"  # CAN: the gap may have cut a sequence
_LAST_ROW = b"\x1b[9999;1H"
_FILLED = b"\x1b#8\x1b[1;1H"  # DECALN: letters in every cell


class PartialScreen:
    """The screen of what was fed; `columns` and `rows` in cells.  Raises as the emulator does."""

    def __init__(self, columns: int, rows: int) -> None:
        self._size = columns, rows
        self._first = GhosttyEmulator(columns, rows)
        self._other: GhosttyEmulator | None = None  # since the last gap, as long as it differs

    def feed(self, data: bytes) -> None:
        """Take output."""
        for one in filter(None, (self._first, self._other)):
            one.feed(data)
            one.replies()  # the terminal outside has answered already

    def gap(self) -> None:
        """Output was lost here."""
        self._first, self._other = GhosttyEmulator(*self._size), GhosttyEmulator(*self._size)
        self._first.feed(_ABORT + _LAST_ROW)
        self._other.feed(_ABORT + _FILLED)

    def resize(self, columns: int, rows: int) -> None:
        """The terminal has another size."""
        self._size = columns, rows
        for one in filter(None, (self._first, self._other)):
            one.resize(columns, rows)

    def screen(self) -> Screen | None:
        """What is shown now; None if it may be otherwise, because of what was lost."""
        shown = self._first.screen()
        if self._other is not None:
            if self._other.screen() != shown:
                return None
            self._other = None
        return shown


# --- a verdict as a report of OSC 7501, for a program that says nothing of itself ---

MAX_APP, MAX_MESSAGE = 32, 300  # characters

_STATE = {
    State.WORKING: StatusState.WORKING,
    State.IDLE: StatusState.IDLE,
    State.ENDED: StatusState.IDLE,  # a shell at its prompt
    State.QUOTA: StatusState.ERROR,
}
_KIND = {
    Kind.PERMISSION: StatusKind.PERMISSION,
    Kind.TRUST: StatusKind.PERMISSION,
    Kind.SECRET: StatusKind.AUTH,
    Kind.LOGIN: StatusKind.AUTH,
}
_AT_REST = (Kind.REPL_PROMPT, Kind.TUI)  # they wait for commands, as a shell does
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.+-]")


def judgement(verdict: Verdict, foreground: str | None) -> dict[str, Any]:
    """The verdict as plain values, for who asks the relay, with the report for the terminal outside."""
    return {
        "state": str(verdict.state),
        "certainty": str(verdict.certainty),
        "kind": str(verdict.kind) if verdict.kind else None,
        "foreground": foreground,
        "reasons": [redact(reason) for reason in verdict.reasons],
        "pairs": pairs(verdict, foreground),
    }


def pairs(verdict: Verdict, foreground: str | None) -> str | None:
    """The report as the protocol writes it; None if nothing can be said."""
    sure, waits = verdict.certainty is Certainty.SURE, verdict.state is State.WAITING
    rests = waits and verdict.kind in _AT_REST
    state = StatusState.IDLE if rests else StatusState.BLOCKED if waits and sure else _STATE.get(verdict.state)
    told = [f"state={StatusState.IDLE if waits and state is None else state}"]
    if state is None and not waits:
        return None
    if state is StatusState.BLOCKED:
        told.append(f"kind={_KIND.get(verdict.kind or Kind.QUESTION, StatusKind.QUESTION)}")
    if app := _NOT_IN_NAMES.sub("", foreground or "")[:MAX_APP]:
        told.append(f"app={app}")
    if message := _message(verdict, state):
        told.append(f"msg={base64.b64encode(message.encode()).decode()}")
    return ":".join([*told, f"by={JUDGE}"] if sure else [*told, f"by={JUDGE}", "certainty=maybe"])


def _message(verdict: Verdict, state: StatusState | None) -> str | None:
    if verdict.state is State.WAITING and state is None:
        return "it may be waiting for input"
    if verdict.kind in NEVER_ANSWERED:
        return f"it asks for a {verdict.kind}"
    if state in (StatusState.BLOCKED, StatusState.ERROR) and verdict.match is not None:
        return plain(redact(verdict.match.line.strip()))[:MAX_MESSAGE]
    return None


NICE = 10
REST_S = 0.15  # without output, before the first of two looks
GAP_S = 0.3  # between the two, as in a check
MOVING_S = 3.0  # between two rounds where output never rests
# After a verdict that is not sure, while nothing is printed: a silent program may begin to read.
AGAIN_S = (1.0, 4.0, 15.0)


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
        """Seconds until the next look; None if there is none before the next output."""
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
