"""Exit records: the first process that finds an ended session writes down what its witnesses reported, once.

Nothing of a session is removed before.  Sessions that died of one cause at once, such as their tmux server, are one
incident.  Events go to the log in the state directory, and to one in the session's own directory.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence

from attrs import evolve, frozen

from stallkit import jsonlog
from stallkit.config import event_log
from stallkit.errors import StoreError
from stallkit.jsonlog import holds
from stallkit.press.events import Event, EventLog
from stallkit.redact.redact import redact
from stallkit.signals.collect import remove_files
from stallkit.transports.tmux.identity import Identity
from stallkit_sessions.explain import EndFacts, Finding, event_of, explain
from stallkit_sessions.model import Cause, ExitRecord, Session
from stallkit_sessions.ports import listeners
from stallkit_sessions.register import OutEvent, Register, RunningSession
from stallkit_sessions.worktree import worktree

# --- the log in a session's own directory, ``.stallkit/runtime.log`` ---

FOLDER, NAME = ".stallkit", "runtime.log"
MOST = 1_000_000  # bytes: then the file becomes NAME.1, which replaces the previous NAME.1
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def log_of(directory: str | Path) -> Path:
    """Where the log of a session in this directory is."""
    return Path(directory, FOLDER, NAME)


def append(directory: str | Path, event: Mapping[str, Any], max_bytes: int = MOST) -> None:
    """Append one redacted line, readable by its owner alone.  Raises StoreError if that fails.

    It does not make the directory; it makes ``.stallkit`` with a ``.gitignore``, so that the worktree stays clean.
    """
    try:
        with jsonlog.folder(directory) as above:
            with suppress(FileExistsError):
                os.mkdir(FOLDER, 0o700, dir_fd=above)
            with jsonlog.folder(FOLDER, above, follow=False) as at:
                _ignore(at)
                jsonlog.append(at, NAME, jsonlog.encode(event), max_bytes=max_bytes, trusted=False)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        why = getattr(error, "strerror", None) or str(error)
        raise StoreError("runtime log", str(log_of(directory)), why, "check what is in its place") from error


def _ignore(at: int) -> None:
    with suppress(FileExistsError):
        handle = os.open(".gitignore", _NEW, 0o600, dir_fd=at)
        try:
            os.write(handle, b"*\n")
        finally:
            os.close(handle)


_COMPLAINT = re.compile(r"error|denied|invalid|unknown|not found|no such", re.IGNORECASE)
_SAID = 300  # characters of it
LINES = 200  # kept of the last screen: a crash's trace and what led to it


def _server(session: Session) -> str:
    return str(Identity.of(session.identity).server)


# What sessions that died of one cause at once have in common.
_SHARED: dict[Cause, Callable[[Session], str]] = {
    Cause.SERVER_ENDED: _server,
    Cause.SERVER_CRASHED: _server,
    Cause.SERVER_GONE: _server,
    Cause.ENGINE_DIED: lambda session: session.engine or "",
    Cause.MACHINE_RESTARTED: lambda session: session.boot,
}


@frozen
class EndedSession:
    """A session that seems to have ended, with all that is known of it."""

    living: RunningSession
    facts: EndFacts
    screen: Sequence[str] | None = None  # after its end, where it can still be seen
    lines: int | None = None  # of the pane with its history
    container: dict[str, Any] | None = None  # as its runtime describes it
    verdicts: tuple[dict[str, Any], ...] = ()


def finalize(register: Register, found: Iterable[EndedSession], now: float | None = None) -> list[ExitRecord]:
    """Write down every end that can be explained, and return the new records, without those of other processes.

    `now` is the wall clock.  Raises StoreError: then the next look finds the rest again.
    """
    now = time.time() if now is None else now
    explained = []
    for ended in found:
        current = register.get(ended.living.session.id)  # an order may have been written since the session was read
        order = current.order if isinstance(current, RunningSession) else ended.facts.order
        finding = explain(evolve(ended.facts, order=order))
        if finding is not None:
            explained.append((ended, finding))
    incidents = _incidents(register, explained)
    written = []
    for ended, finding in explained:
        record = _record(register, ended, finding, now)
        record = evolve(record, incident=incidents.get(ended.living.session.id))
        if register.end(record, event_of(finding), _told(record, ended.lines)):
            written.append(record)
            if record.session.hooks:
                remove_files(record.session.id)
    return written


def _incidents(register: Register, explained: Sequence[tuple[EndedSession, Finding]]) -> dict[str, str]:
    """The incident of each session, by its id, for those that died of the same cause."""
    together: dict[tuple[Cause, str], list[tuple[str, str]]] = defaultdict(list)
    for ended, finding in explained:
        shared = _SHARED.get(finding.cause)
        if shared is not None:
            session = ended.living.session
            together[finding.cause, shared(session)].append((session.id, finding.why))
    numbers: dict[str, str] = {}
    for (cause, _), dead in together.items():
        if len(dead) > 1:
            number = register.incident([id for id, _ in dead], cause, dead[0][1])
            numbers |= {id: number for id, _ in dead if number is not None}
    return numbers


def _record(register: Register, ended: EndedSession, finding: Finding, now: float) -> ExitRecord:
    session = ended.living.session
    sight = register.sight(session.id)
    screen, screen_at = ended.screen, now
    if not screen and sight is not None:
        screen, screen_at = sight.lines, sight.at
    why = finding.why
    if finding.cause is Cause.NOT_STARTED and screen and (said := _complaint(screen)):
        why = f"{why}: {said}"
    verdicts = ended.verdicts or (sight.verdicts if sight else ())
    return ExitRecord(
        session=session,
        cause=finding.cause,
        why=why,
        ended_at=now,
        duration_s=max(0.0, now - session.started_at),
        status=finding.status,
        screen=tuple(screen[-LINES:]) if screen else None,
        screen_at=screen_at if screen else None,
        verdicts=verdicts,
        worktree=worktree(Path(session.directory)),
        container=ended.container,
        ports=tuple({"port": port, "listener": who} for port, who in listeners(session.ports).items()),
        earlier=register.earlier(session.name, finding.cause),
    )


def _complaint(screen: Sequence[str]) -> str | None:
    """What a container runtime's client said before it ended, on one line."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(line.strip() for line in screen).strip())
    said = [one for one in paragraphs if _COMPLAINT.search(one)]
    return redact(" ".join(" ".join(said or paragraphs).split())[:_SAID]) or None


def _told(record: ExitRecord, lines: int | None) -> dict[str, Any]:
    """The facts of the final event."""
    status = record.status
    return {
        "cause": str(record.cause),
        "why": record.why,
        "exit_code": status.code if status else None,
        "signal": status.signal if status else None,
        "source": str(status.source) if status else None,
        "lines": lines,
        "duration_s": None if record.duration_s is None else round(record.duration_s, 3),
        "earlier": record.earlier,
        "incident": record.incident,
    }


def write_out(register: Register) -> int:
    """Write every pending event once, and return how many could not be written; they are tried again."""
    return register.drain(_write)


def _write(event: OutEvent) -> None:
    at = datetime.fromtimestamp(event.at, UTC)
    facts = {"id": event.id, "session": event.session, **event.facts}
    log = EventLog(event_log())
    if not holds(log.path, event.id):  # a process may have been killed right after this write
        log.write(Event(event.name, event.target, facts, at))
    if event.directory is not None and not holds(log_of(event.directory), event.id):
        with suppress(StoreError):  # an agent's directory: it may be gone, or full
            head = {"version": 1, "time": at.isoformat(timespec="milliseconds"), "event": event.name}
            append(event.directory, {**head, "target": event.target, **facts})
