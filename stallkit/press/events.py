"""The event log: one JSON line for every detection, dismissal and other event."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Iterable, Self

from attrs import field, frozen

from stallkit import private
from stallkit.config import state_dir
from stallkit.detect.dialog_parser import Option
from stallkit.errors import StoreError
from stallkit.evidence.snapshot import Snapshot
from stallkit.json_form import SPREAD, Time, json_form
from stallkit.jsonio import dump, unstructure
from stallkit.jsonlog import append, folder
from stallkit.judging.verdict import Verdict
from stallkit.short_repr import short_repr
from stallkit.terminal.keys import Keys


def typed(given: str | Keys, options: Iterable[Option] = ()) -> str:
    """What is kept of an answer that a person typed: the label of the option that it chooses, else its length.

    >>> typed("hunter2"), typed(Keys.parse("Down Enter"))
    ('[7 characters]', 'Down Enter')
    """
    if isinstance(given, Keys):
        return given.shown
    chosen = [one.text for one in options if given in (one.text, str(one.number or one.text))]
    return chosen[0] if len(chosen) == 1 else f"[{len(given)} characters]"


@frozen
class Event:
    """One thing that happened to one target; `facts` are plain values.

    >>> Event("escalation", "tmux:w1", {"why": "it asks for a secret"}).name
    'escalation'
    """

    name: str
    target: str
    facts: dict[str, Any]
    at: datetime = field(factory=lambda: datetime.now(UTC))  # the wall clock: to be shown, never to measure intervals

    __repr__ = short_repr("name", "target", "at")


@json_form(Event)
@frozen
class EventJson:
    """One line of the event log; further keys are the event's facts."""

    time: Time
    event: str
    target: str
    facts: dict[str, Any] = field(metadata=SPREAD)

    @classmethod
    def of(cls, event: Event) -> Self:
        return cls(event.at.isoformat(timespec="milliseconds"), event.name, event.target, event.facts)

    @property
    def value(self) -> Event:
        return Event(self.event, self.target, self.facts, datetime.fromisoformat(self.time))


class EventLog:
    """A file that events are appended to, readable by its owner alone.

    With `max_bytes`, a file that would grow beyond them becomes ``FILE.1``, the earlier one ``FILE.2``, up to `KEPT`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = EventLog(Path(folder, "events.jsonl"))
    ...     log.write(Event("escalation", "tmux:w1", {}))
    ...     log.path.read_text().count("escalation")
    1
    """

    ROTATED = 10_000_000  # bytes, where files are rotated: about 25,000 events
    KEPT = 5

    def __init__(self, path: Path, max_bytes: int | None = None) -> None:
        self.path, self.max_bytes = path, max_bytes

    def __repr__(self) -> str:
        return f"EventLog({str(self.path)!r})"

    def detection(self, verdict: Verdict, snapshot: Snapshot) -> None:
        """Record what a look at a session showed."""
        self.write(Event("detection", snapshot.target, {**unstructure(verdict), "foreground": snapshot.foreground}))

    def write(self, event: Event) -> None:
        """Append one whole line: concurrent writers do not mix.  Raises StoreError if it cannot be written."""
        try:
            if self.path.parent == state_dir():
                private.folder(self.path.parent)
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with folder(self.path.parent) as at:
                append(at, self.path.name, json.dumps(dump(event)), max_bytes=self.max_bytes, kept=self.KEPT)
        except OSError as error:
            why = error.strerror or str(error)
            raise StoreError("event log", str(self.path), why, "give another file with --log") from error
