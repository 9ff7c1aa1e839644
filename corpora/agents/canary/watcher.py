"""Watches one session as `stallkit watch` does, once a second from its first moment.

The looks at a point of truth go through the same transport: a pane has one pipe, and its listener must hear all of it.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import Iterator, Sequence

from attrs import evolve, frozen
from stallkit_supervisor.watched import Watched

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty
from stallkit.errors import SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.press.check import observe
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Transport

INTERVAL_S = 1.0
GRACE_S = 4.0  # for a watcher that has not said it yet: then it is late, or never says it


@frozen
class Look:
    """The verdict with all sources, that of the screen alone, and the look both are based on."""

    verdict: Verdict
    screen: Verdict
    seen: Snapshot


class Watcher:
    """Looks at a session each second, in a thread of its own, until `close`."""

    def __init__(self, transport: Transport, engine: Engine, interval_s: float = INTERVAL_S) -> None:
        self._transport, self._engine, self._interval_s = _Shared(transport), engine, interval_s
        self._said: list[tuple[float, str]] = []  # when, and which state
        self._surely: list[tuple[float, str]] = []  # the same; "" where it was not sure
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        watched = Watched(self._transport.target)
        due = time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            due = max(due + self._interval_s, time.monotonic())
            try:
                verdict = watched.look(self._transport.capture(), self._engine)
            except SessionGone:
                self._said.append((time.monotonic(), "gone"))
                continue
            except TransportError:
                continue
            if verdict is not None:
                now, sure = time.monotonic(), verdict.certainty is Certainty.SURE
                self._said.append((now, str(verdict.state)))
                self._surely.append((now, str(verdict.state) if sure else ""))

    def look(self) -> Look:
        """What a check says now; takes 0.3 s at least."""
        with self._transport.alone() as transport:
            remembered = _Remembered(transport)
            verdict, seen = observe(remembered, self._engine)
        *_, before, now = [None, *map(_screen_only, remembered.looks)]
        assert now is not None  # it looked
        return Look(verdict, judged(self._engine, now, before), seen)

    def latency(self, state: str, since: float) -> float | None:
        """Seconds from `since` until the watcher said `state`, for which it waits a little; None: it never did."""
        return self._latency(self._said, state, since)

    def sure_latency(self, state: str, since: float) -> float | None:
        """The same, until it was sure of it."""
        return self._latency(self._surely, state, since)

    def _latency(self, said: Sequence[tuple[float, str]], state: str, since: float) -> float | None:
        until = time.monotonic() + GRACE_S
        while (found := latency(said, state, since)) is None and time.monotonic() < until:
            time.sleep(0.05)
        return found

    def close(self) -> None:
        self._over.set()
        self._thread.join(10)
        self._transport.close()


def latency(said: Sequence[tuple[float, str]], state: str, since: float) -> float | None:
    """Seconds from `since` to the look that says `state`; 0 where the look before it said so already.

    >>> latency([(1.0, "idle"), (2.0, "working")], "working", 1.5), latency([(1.0, "idle")], "working", 1.5)
    (0.5, None)
    """
    before = [told for at, told in said if at <= since]
    if before and before[-1] == state:
        return 0.0
    return next((at - since for at, told in said if at > since and told == state), None)


class _Shared:
    """A transport that two threads take turns with."""

    def __init__(self, transport: Transport) -> None:
        self._transport, self._lock, self.target = transport, threading.Lock(), transport.target

    def capture(self) -> Snapshot:
        with self._lock:
            return self._transport.capture()

    @contextmanager
    def alone(self) -> Iterator[Transport]:
        with self._lock:
            yield self._transport

    def close(self) -> None:
        self._transport.close()


class _Remembered:
    """A transport that keeps its looks, and sends nothing."""

    def __init__(self, transport: Transport) -> None:
        self._transport, self.target = transport, transport.target
        self.looks: list[Snapshot] = []

    def capture(self) -> Snapshot:
        self.looks.append(self._transport.capture())
        return self.looks[-1]

    def send(self, keys: Keys, seen: Snapshot) -> None:
        raise TransportError(self.target, "a canary presses no keys", "drive the program by its stage")

    def close(self) -> None:
        pass


def _screen_only(seen: Snapshot) -> Snapshot:
    """The look without what its programs say of themselves."""
    screen: Screen = evolve(seen.screen, title=None)
    return evolve(seen, screen=screen, signals=(), marks=None)
