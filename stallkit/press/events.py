"""The event log: one JSON line for every detection, dismissal and other event."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Iterable, Mapping

from stallkit import private
from stallkit.config import state_dir
from stallkit.core.keys import Keys
from stallkit.core.plain import describe
from stallkit.core.reading import Option
from stallkit.core.redact import redact_all
from stallkit.core.short_repr import short_repr
from stallkit.core.values import field, frozen
from stallkit.core.verdict import Snapshot, Verdict
from stallkit.errors import StoreError
from stallkit.jsonlog import append, encode, folder

__all__ = ["Event", "EventLog", "typed"]

VERSION = 1


def typed(given: str | Keys, options: Iterable[Option] = ()) -> str:
    """What is kept of an answer that a person typed: the label of the option that it chooses, else its length.

    >>> typed("hunter2"), typed(Keys.parse("Down Enter"))
    ('[7 characters]', 'Down Enter')
    """
    if isinstance(given, Keys):
        return " ".join(key.name or f"[{len(key.literal)} characters]" for key in given.sequence)
    chosen = [one.text for one in options if given in (one.text, str(one.number or one.text))]
    return chosen[0] if len(chosen) == 1 else f"[{len(given)} characters]"


@frozen
class Event:
    """One thing that happened to one target; `facts` are plain values.

    >>> Event("escalation", "tmux:w1", {"why": "it asks for a secret"}).to_dict()["event"]
    'escalation'
    """

    name: str
    target: str
    facts: dict[str, Any]
    at: datetime = field(factory=lambda: datetime.now(UTC))  # the wall clock: to be shown, never to measure intervals

    __repr__ = short_repr("name", "target", "at")

    def to_json(self) -> str:
        """The event as one line of JSON, redacted, in ASCII."""
        return self._line

    def to_dict(self) -> dict[str, Any]:
        """The event as the log has it, redacted; its JSON schema is ``json_schema("event")``."""
        plain: dict[str, Any] = redact_all(self._plain())
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Event:
        """The inverse of `to_dict`, to the millisecond.  Raises ValueError, in one line, for anything else.

        >>> event = Event("escalation", "tmux:w1", {"why": "it asks for a secret"})
        >>> Event.from_dict(event.to_dict()).facts
        {'why': 'it asks for a secret'}
        """
        facts = dict(plain) if isinstance(plain, Mapping) else {}
        if facts.pop("version", None) != VERSION:
            raise ValueError(f"not an event of version {VERSION}: {str(plain)[:60]!r}")
        try:
            at, name, target = datetime.fromisoformat(facts.pop("time")), facts.pop("event"), facts.pop("target")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not an event, {type(error).__name__}: {error}") from None
        return cls(name, target, facts, at)

    def _plain(self) -> dict[str, Any]:
        head = {"version": VERSION, "time": self.at.isoformat(timespec="milliseconds"), "event": self.name}
        return {**head, "target": self.target, **self.facts}

    @cached_property
    def _line(self) -> str:  # a log, a terminal and a hook may all ask for it
        return encode(self._plain())


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

    def detection(self, verdict: Verdict, snapshot: Snapshot) -> None:
        """Record what a look at a session showed."""
        self.write(Event("detection", snapshot.target, {**describe(verdict), "foreground": snapshot.foreground}))

    def write(self, event: Event) -> None:
        """Append one whole line: concurrent writers do not mix.  Raises StoreError where it cannot be written."""
        try:
            if self.path.parent == state_dir():
                private.folder(self.path.parent)
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with folder(self.path.parent) as at:
                append(at, self.path.name, event.to_json(), max_bytes=self.max_bytes, kept=self.KEPT)
        except OSError as error:
            why = error.strerror or str(error)
            raise StoreError("event log", str(self.path), why, "give another file with --log") from error
