"""An event log as it was written, and what its events add up to: who needed what, for how long, who answered.

A log is read with the files that it was rotated into, oldest first.  A *wait* is the time in which a session needed
somebody: it begins when a person hears of it, with the time since when it is there, and ends when the log says
that it went away.  Logs of versions that did not say so are read by what the session showed next; who answered is then
unknown.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Callable, Iterable, Iterator, Mapping

from attrs import define, field

from stallkit.errors import ConfigError
from stallkit.press.events import EventLog
from stallkit_supervisor.notification import BY_STATE, ClearedBy

_EACH = 2_000  # lines between two words of progress


class LogReader:
    """Reads a log once; `unreadable` counts the lines that are no event, as a full disk or a kill leaves them.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = Path(folder, "events.jsonl")
    ...     _ = log.write_text('{"event": "start", "target": ""}\\n{"event": "sta')
    ...     reader = LogReader(log)
    ...     [event["event"] for event in reader.events()], reader.unreadable
    (['start'], 1)
    """

    def __init__(self, path: Path) -> None:
        self.path, self.unreadable = path, 0

    def events(
        self, since: float = 0.0, on_progress: Callable[[float], object] = lambda share: None
    ) -> Iterator[Mapping[str, Any]]:
        """Each event, with files left out that were not written since then, in seconds of the wall clock.

        `on_progress` is called with the share that was read, 0 to 1.  Raises ConfigError if there is no log, or it
        cannot be read.
        """
        with ExitStack() as stack:
            files = self._opened(stack, since)
            whole, done = sum(size for _, size in files) or 1, 0
            for file, _ in files:
                for number, line in enumerate(file, 1):
                    done += len(line)
                    if number % _EACH == 0:
                        on_progress(min(1.0, done / whole))
                    event = self._event(line)
                    if event is not None:
                        yield event

    def _event(self, line: bytes) -> Mapping[str, Any] | None:
        if line.isspace():
            return None
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            return event
        self.unreadable += 1
        return None

    def _opened(self, stack: ExitStack, since: float) -> list[tuple[IO[bytes], int]]:
        """The files and their sizes, the oldest first.

        The newest is opened first, so a rotation meanwhile hides none: one that is met twice is the same file.
        """
        found: dict[tuple[int, int], tuple[IO[bytes], int]] = {}
        numbered = (Path(f"{self.path}.{number}") for number in range(1, EventLog.KEPT + 1))
        for path in (self.path, *numbered):
            try:
                file = stack.enter_context(path.open("rb"))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._error(error.strerror or str(error)) from error
            status = os.fstat(file.fileno())
            if status.st_mtime >= since:
                found.setdefault((status.st_dev, status.st_ino), (file, status.st_size))
        if not found and not self.path.exists():
            raise self._error("there is no such file")
        return list(reversed(found.values()))

    def _error(self, why: str) -> ConfigError:
        return ConfigError(str(self.path), why, "name an event log with --log, such as events.jsonl")


# --- what its events add up to ---


ASIDE_S = 120.0  # in which a wait may be said to be over, after the session showed something else
_BY_STATE = {str(state): str(what) for state, what in BY_STATE.items()}
_TROUBLE = ("could_not_look", "outcome_unknown", "not_recorded", "defect")
_ENDS = ("session_crashed", "session_drop", "session_stopped", "gone")
_GONE_WELL = ("cleared", "replaced")


@define
class Wait:
    """One time in which a session needed somebody; times are seconds of the wall clock."""

    what: str  # waits, asks, failed, ended, limit, hung, retrying, silent, unknown
    about: str  # what it asks for, or the class of its failure; may be empty
    since: float
    until: float | None = None  # None: it still waits
    by: str | None = None  # as `notification.ClearedBy`, or a person's name; None: nobody knows
    told: int = 1
    guessed: bool = False  # its end is only known by what was shown next
    shown: tuple[object, ...] = ()  # state and signature

    def blocked_s(self, now: float) -> float:
        """How long it lasted, or has lasted."""
        return max(0.0, (now if self.until is None else self.until) - self.since)

    @property
    def label(self) -> str:
        """What it needed, in a word or two."""
        if self.what == "waits":
            return self.about or "key"
        return f"{self.what}: {self.about}" if self.about else self.what


@define
class SessionReport:
    """What happened to one session."""

    name: str
    waits: list[Wait] = field(factory=list)
    pressed: int = 0  # prompts that stallkit answered
    not_pressed: int = 0  # answers that were refused, or without effect
    restarts: int = 0
    restarts_failed: int = 0
    resumed: int = 0
    limits: Counter[str] = field(factory=Counter)  # of usage, of help
    failures: Counter[str] = field(factory=Counter)  # by class
    ends: Counter[str] = field(factory=Counter)  # by event
    troubles: int = 0
    turns: int = 0  # that were done
    halted: str = ""  # why it is not helped any more
    state: str = ""
    seen: float | None = None

    @property
    def open(self) -> Wait | None:
        """The wait that is not over."""
        return self.waits[-1] if self.waits and self.waits[-1].until is None else None

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to tell of it."""
        counts = (self.pressed, self.not_pressed, self.restarts, self.restarts_failed, self.resumed, self.troubles)
        return not (self.waits or any(counts) or self.limits or self.failures or self.ends or self.halted)

    def blocked_s(self, now: float) -> float:
        """Seconds of all its waits."""
        return sum(wait.blocked_s(now) for wait in self.waits)


@define
class Report:
    """All sessions by name, and the supervisors beside them."""

    sessions: dict[str, SessionReport] = field(factory=dict)
    begun: float | None = None  # the first event, and the last one
    ended: float | None = None
    events: int = 0
    watching: int | None = None  # supervisors that did not stop; None where the log says nothing of them
    troubles: int = 0  # of no single session

    def add(self, event: Mapping[str, Any]) -> None:
        """Take the next event; one without a time counts for nothing."""
        at, name = _seconds(event.get("time")), event["event"]
        if at is None:
            return
        self.events += 1
        self.begun = at if self.begun is None else min(at, self.begun)
        self.ended = at if self.ended is None else max(at, self.ended)
        target = event.get("target")
        if name in ("start", "stop") and not target:
            self.watching = max(0, (self.watching or 0) + (1 if name == "start" else -1))
        elif isinstance(target, str) and target and name != "incident":  # each of its sessions has an end of its own
            of = target.removeprefix("tmux:")
            _take(self.sessions.setdefault(of, SessionReport(of)), name, at, event)
        elif name in _TROUBLE:
            self.troubles += 1


def reported(events: Iterable[Mapping[str, Any]], since: float = 0.0) -> Report:
    """What the events add up to that are not older."""
    report = Report()
    for event in events:
        at = _seconds(event.get("time"))
        if at is not None and at >= since:
            report.add(event)
    return report


def _take(of: SessionReport, name: str, at: float, event: Mapping[str, Any]) -> None:
    of.seen = at
    outcome = event.get("outcome")
    if name == "detection":
        _shown(of, at, event)
    elif name in ("escalation", "still"):
        _told(of, at, event)
    elif name == "cleared":
        _cleared(of, at, event)
    elif name == "dismissal":
        well = outcome in _GONE_WELL
        of.pressed, of.not_pressed = of.pressed + well, of.not_pressed + (not well)
        if well and of.open:
            of.open.by = ClearedBy.STALLKIT
            _over(of.open, at, guessed=True)
    elif name == "restart":
        of.restarts, of.restarts_failed = (
            of.restarts + (outcome == "cleared"),
            of.restarts_failed + (outcome != "cleared"),
        )
    elif name == "resume":
        of.resumed += 1
    elif name == "limit":
        of.limits["help"] += 1
        if "item" in event:  # its prompt is a person's now
            _told(of, at, event)
    elif name == "auto_stop":
        of.halted = _text(event.get("why")) or "stopped"
    elif name == "released":
        of.halted = ""
    elif name == "done":
        of.turns += 1
    elif name in _ENDS:
        _gone(of, at, name)
    elif name in _TROUBLE:
        of.troubles += 1


def _shown(of: SessionReport, at: float, event: Mapping[str, Any]) -> None:
    of.state = _text(event.get("state"))
    if of.open and of.open.shown != _what_is_shown(event):
        _over(of.open, at, guessed=True)


def _told(of: SessionReport, at: float, event: Mapping[str, Any]) -> None:
    what = what_told(event)
    of.state = _text(event.get("state")) or of.state
    before = event.get("told")  # by an earlier supervisor
    told = before if isinstance(before, int) and event["event"] == "still" else 1
    wait = Wait(what, _about(what, event), _since(at, event), told=told, shown=_what_is_shown(event))
    known = of.open
    if known and (known.what, known.about, known.shown) == (wait.what, wait.about, wait.shown):
        known.told = max(known.told, told) if event["event"] == "still" else known.told + 1
        return
    if known:
        _over(known, max(known.since, wait.since), guessed=True)
    of.waits.append(wait)
    if what == "failed":
        of.failures[wait.about or "failed"] += 1
    elif what == "limit":
        of.limits["usage"] += 1


def _cleared(of: SessionReport, at: float, event: Mapping[str, Any]) -> None:
    last = of.waits[-1] if of.waits else None
    fresh = last is not None and (last.until is None or (last.guessed and at - last.until < ASIDE_S))
    if last is None or not fresh:  # it was told before this log begins
        what = _text(event.get("what")) or "waits"
        last = Wait(what, _about(what, event), at, told=0)
        of.waits.append(last)
    last.by = _text(event.get("by")) or last.by
    blocked_s = event.get("blocked_s")
    if isinstance(blocked_s, int | float) and 0 <= blocked_s < at:
        last.since = at - blocked_s
    _over(last, at, guessed=False)


def _gone(of: SessionReport, at: float, name: str) -> None:
    if name == "gone" and of.state == "gone":
        return  # the same end, told again
    of.ends[name] += 1
    of.state = "gone"
    if of.open and of.open.what != "ended":
        of.open.by = ClearedBy.GONE
        _over(of.open, at, guessed=True)


def _over(wait: Wait, at: float, guessed: bool) -> None:
    wait.until, wait.guessed = max(at, wait.since), guessed


def what_told(event: Mapping[str, Any]) -> str:
    """What an event told a person; an older one says it only by the state and the end of the turn."""
    if what := _text(event.get("what")):
        return what
    turn, state = event.get("ended_turn"), _text(event.get("state"))
    how = _text(turn.get("how")) if isinstance(turn, dict) else ""
    return how if how in ("asks", "failed") else _BY_STATE.get(state, "silent" if state == "working" else "unknown")


def _about(what: str, event: Mapping[str, Any]) -> str:
    turn = event.get("ended_turn")
    if what == "failed" and isinstance(turn, dict) and turn.get("error"):
        return _text(turn["error"])
    return "" if what in ("ended", "limit", "hung", "silent", "unknown") else _text(event.get("kind"))


def _what_is_shown(event: Mapping[str, Any]) -> tuple[object, ...]:
    return _text(event.get("state")), _text(event.get("signature"))


def _since(at: float, event: Mapping[str, Any]) -> float:
    since, waited_s = _seconds(event.get("since")), event.get("waited_s")
    if since is None and isinstance(waited_s, int | float):
        since = at - waited_s
    return min(at, since) if since is not None and since > 0 else at


def _seconds(text: object) -> float | None:
    """A time in ISO 8601, in seconds of the wall clock; without a zone it is local."""
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def _text(value: object) -> str:
    return re.sub(r"\s+", " ", value) if isinstance(value, str) else ""
