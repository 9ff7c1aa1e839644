"""What sessions show, kept for their records: in memory at every look, on the disk every few seconds and at the end."""

from __future__ import annotations

import time
from typing import Any, Collection, Mapping

from stallkit.core.verdict import Snapshot
from stallkit.packs.registry import Engine
from stallkit.sessions.register import Register
from stallkit.watch.check import judged
from stallkit.watch.events import describe

__all__ = ["Onlooker"]

EVERY_S = 3.0  # between two sights of one session on the disk: redacting one of 120 x 40 takes a millisecond
_TOLD = ("state", "certainty", "kind", "signature", "pack")  # of a verdict that is kept


class Onlooker:
    """Sees each session's screen, judges it by `engine`, and keeps both in the register."""

    def __init__(self, register: Register, engine: Engine | None) -> None:
        self._register, self._engine = register, engine
        self._latest: dict[str, tuple[Snapshot, float]] = {}  # by session; with the wall clock
        self._kept: dict[str, tuple[Snapshot, float]] = {}

    def saw(self, looks: Mapping[str, Snapshot]) -> None:
        """Take in what these sessions show."""
        now = time.time()
        self._latest |= {id: (snapshot, now) for id, snapshot in looks.items()}

    def keep(self, living: Collection[str], ended: Collection[str]) -> None:
        """Write down what is new, soon of those that live, at once of those that ended; others are forgotten.

        Raises StoreError.
        """
        now = time.time()
        self._latest = {id: seen for id, seen in self._latest.items() if id in living}
        self._kept = {id: seen for id, seen in self._kept.items() if id in living}
        due = []
        for id, seen in self._latest.items():
            kept = self._kept.get(id)
            if kept is None or (seen is not kept and (id in ended or not 0 <= now - kept[1] < EVERY_S)):
                due.append((id, *seen))
        if due:
            self._register.saw([(id, _lines(screen), self._verdict(id, screen), at) for id, screen, at in due])
            self._kept |= {id: self._latest[id] for id, *_ in due}

    def _verdict(self, id: str, now: Snapshot) -> dict[str, Any] | None:
        if self._engine is None:
            return None
        before, _ = self._kept.get(id, (now, 0.0))
        facts = describe(judged(self._engine, now, before))
        return {name: facts[name] for name in _TOLD}


def _lines(snapshot: Snapshot) -> list[str]:
    return snapshot.screen.text.rstrip().splitlines()
