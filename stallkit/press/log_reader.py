"""An event log as it was written: its lines and those of the files that it was rotated into, oldest first."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Callable, Iterator, Mapping

from stallkit.errors import ConfigError
from stallkit.press.events import EventLog

__all__ = ["LogReader"]

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

        `on_progress` is called with the share that was read, 0 to 1.  Raises ConfigError where there is no log, or it
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
