"""An SQLite file that several processes share: opened, migrated, written in turns, read at any time.

In WAL mode: a reader waits for no writer, so that another process that holds the file delays no look.  What was
reported as written is on the disk.  Every failure is a StoreError.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Iterator, Sequence

from stallkit import private
from stallkit.errors import StoreError

BUSY_S = 2.0  # to wait for another process's write, which takes milliseconds


class Database:
    """The open file.  Several threads may use it; close it at the end."""

    def __init__(
        self,
        path: Path,
        what: str,
        steps: Sequence[str],
        *,
        durable: bool = True,
        busy_s: float = BUSY_S,
        or_copy: bool = False,
    ) -> None:
        """Open or make it; raises StoreError.

        `steps` are SQL commands, one string for each version, run on a file of an earlier version.  `what` is the
        file's name in messages.  What is written without `durable` survives kill -9 of every process, but not a loss
        of power.  With `or_copy`, a file that cannot be written, as on a full disk, is read into memory, and
        `unwritable` says why; then nothing can be written.
        """
        self.path = path
        self.unwritable: str | None = None
        self._what, self._steps, self._durable = what, steps, durable
        self._busy_s = busy_s
        self._lock, self._view_lock = threading.RLock(), threading.RLock()
        try:
            self._open()
        except StoreError as error:
            cause = error.__cause__
            failed = isinstance(cause, OSError | sqlite3.Error) and not isinstance(cause, private.NotPrivate)
            if not or_copy or not failed:
                raise
            self.unwritable = error.why
            self._base = self._view = self._copied(error)

    def _open(self) -> None:
        path = self.path
        try:
            private.folder(path.parent)
            private.file(path)
            self._base = self._connected()
        except (OSError, sqlite3.Error) as error:
            raise self._error(error) from error
        try:
            self._prepare()
            with self._mapped(self._view_lock):
                self._view = self._connected()
        except StoreError:
            self._base.close()
            raise

    def close(self) -> None:
        """Close the file."""
        with self._lock, self._view_lock:
            self._view.close()
            self._base.close()

    def _connected(self) -> sqlite3.Connection:
        return self._connected_to(str(self.path))

    def _connected_to(self, name: str) -> sqlite3.Connection:
        base = sqlite3.connect(name, timeout=self._busy_s, isolation_level=None, check_same_thread=False)
        base.row_factory = sqlite3.Row
        return base

    def _copied(self, error: StoreError) -> sqlite3.Connection:
        """The last committed state, in memory and of this version.

        First from the file and its log, which SQLite reads where the log's index is still there, as after a kill; then
        from the file alone, which has everything after an ordinary end.  Raises `error` if neither can be read.
        """
        copy = self._connected_to(":memory:")
        for how in ("mode=ro", "mode=ro&immutable=1"):
            with suppress(sqlite3.Error):
                with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?{how}", uri=True)) as source:
                    source.backup(copy)
                self._migrate(copy, self._version(copy))
                return copy
        copy.close()
        raise error

    def _prepare(self) -> None:
        with self._mapped(self._lock):
            found = self._version(self._base)
            self._in_turn("pragma journal_mode=wal")
            self._base.execute(f"pragma synchronous={'full' if self._durable else 'normal'}")
        if found < len(self._steps):
            with self.writing() as base:
                self._migrate(base, self._version(base))  # another process may have been first

    def _migrate(self, base: sqlite3.Connection, found: int) -> None:
        for step in self._steps[found:]:
            for command in filter(str.strip, step.split(";")):
                base.execute(command)
        base.execute(f"pragma user_version={len(self._steps)}")

    def _version(self, base: sqlite3.Connection) -> int:
        found = int(base.execute("pragma user_version").fetchone()[0])
        if found > len(self._steps):
            why = f"it is of version {found}"
            raise StoreError(self._what, str(self.path), why, "update stallkit, or move it away")
        return found

    def _in_turn(self, command: str) -> None:
        """Run a command for which SQLite does not wait for others on its own: the change of the journal's mode."""
        deadline = time.monotonic() + self._busy_s
        while True:
            try:
                self._base.execute(command)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, alone in the file from its beginning; an exception in it rolls it back."""
        if self.unwritable is not None:
            raise self._error(self.unwritable)
        with self._mapped(self._lock):
            if self._base.in_transaction:  # the disk was full at a commit and at the rollback after it
                self._base.execute("rollback")
            self._base.execute("begin immediate")
            try:
                yield self._base
                self._base.execute("commit")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("rollback")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The last committed state; this waits for no writer."""
        with self._mapped(self._view_lock):
            yield self._view

    @contextmanager
    def _mapped(self, lock: threading.RLock) -> Iterator[None]:
        with lock:
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                raise self._error(error) from error

    def _error(self, error: Exception | str) -> StoreError:
        return StoreError(self._what, str(self.path), str(error), "check for free space and permission to write")
