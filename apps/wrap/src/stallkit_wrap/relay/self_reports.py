"""What a relay knows of its program's status: its own reports, else a judgement, and which of them is said outside.

The program's own word goes before a judgement as long as a process of the group that reported is there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, Callable

import attrs

from stallkit_wrap.relay.status_filter import CLEAR, Filtered, StatusFilter, report

__all__ = ["SelfReports"]


class SelfReports:
    """The reports of one program, and of what runs in its terminal after it.

    `foreground` gives the number of the terminal's foreground group, and may raise OSError.
    """

    def __init__(self, foreground: Callable[[], int]) -> None:
        self._filter = StatusFilter()
        self._foreground = foreground
        self._reporter: int | None = None  # the group that reported last
        self._judged: dict[str, Any] | None = None
        self._judged_at = 0.0
        self._said: str | None = None  # the judgement that stands outside
        self.pending = False  # there may be something to say outside

    def passes(self, data: bytes) -> bool:
        """Whether nothing in what the program wrote concerns a relay: then it was taken, and is not for `feed`."""
        return self._filter.passes(data)

    def feed(self, data: bytes, now: float) -> Filtered:
        """Filter what the program wrote."""
        filtered = self._filter.feed(data, now)
        if filtered.reported:
            self._said = None
            with suppress(OSError):
                self._reporter = self._foreground()
        return filtered

    def judged(self, told: dict[str, Any], now: float) -> None:
        """Take a judgement."""
        self._judged, self._judged_at, self.pending = told, now, True

    def due(self) -> bytes:
        """What is to be said outside now: the judgement of a program that says nothing, where it changed."""
        if not self._filter.between:
            return b""
        self.pending = False
        if self._speaks():
            return b""
        told = self._judged["pairs"] if self._judged else None
        if told == self._said:
            return b""
        self._said, self._filter.outside = told, told is not None
        return report(told) if told is not None else CLEAR

    def over(self) -> bytes:
        """The rest of the stream, where the program has ended; a judgement of it is taken back."""
        standing, self._said, self._filter.outside = self._said is not None, None, False
        return self._filter.rest() + (CLEAR if standing else b"")

    def describe(self, now: float) -> dict[str, Any]:
        """All of it as plain values, for who asks."""
        self._speaks()
        marks = self._filter.marks
        reports = [
            attrs.asdict(one, filter=lambda field, _: field.name != "at") | {"age_s": round(now - one.at, 3)}
            for one in marks.statuses
        ]
        judged = None
        if self._judged is not None:
            judged = {**self._judged, "age_s": round(now - self._judged_at, 3)}
        return {"reports": reports, "shell": marks.shell, "exit_status": marks.exit_status, "judged": judged}

    def _speaks(self) -> bool:
        """Whether the program that reported is still there; if not, forget what it was doing."""
        if self._reporter is None:
            return False
        try:
            os.killpg(self._reporter, 0)
        except ProcessLookupError:
            self._reporter = None
            self._filter.program_exited()
            return False
        except OSError:
            pass
        return bool(self._filter.marks.statuses)
