"""Where the events of sessions go: the log in the state directory, and one in the session's own (requirement E2)."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

from stallkit.config import event_log
from stallkit.errors import StoreError
from stallkit.sessions.outbox import OutEvent, drain
from stallkit.sessions.register import Register
from stallkit.sessions.runtime_log import append, holds, log_of
from stallkit.watch.events import Event, EventLog

__all__ = ["write_out"]


def write_out(register: Register) -> int:
    """Write every event that waits, each once, and tell how many could not be written; they are tried again."""
    return drain(register, _write)


def _write(event: OutEvent) -> None:
    at = datetime.fromtimestamp(event.at, UTC)
    facts = {"id": event.id, "session": event.session, **event.facts}
    log = EventLog(event_log())
    if not holds(log.path, event.id):  # somebody may have been killed after this very write
        log.write(Event(event.name, event.target, facts, at))
    if event.directory is not None and not holds(log_of(event.directory), event.id):
        with suppress(StoreError):  # an agent's directory: it may be gone, or full
            head = {"version": 1, "time": at.isoformat(timespec="milliseconds"), "event": event.name}
            append(event.directory, {**head, "target": event.target, **facts})
