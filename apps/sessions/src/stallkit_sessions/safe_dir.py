"""Files below a directory that somebody else may change at any time: no part of a path is ever a followed link."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class SafeDir:
    """A directory that is held open; names are relative to it, as bytes.  A context."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(os.path.realpath(root), _FOLDER)
        self._at: tuple[bytes, int] | None = None  # the directory that was used last

    def __enter__(self) -> SafeDir:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._at is not None:
            os.close(self._at[1])
        os.close(self._root)

    def look(self, name: bytes) -> os.stat_result | None:
        """What it is; None where there is nothing, or something else in place of one of its directories."""
        try:
            folder, last = self._folder(name)
            return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:  # a link in place of a directory
                return None
            raise

    def exists(self, name: bytes) -> bool:
        """Whether anything has that name."""
        return self.look(name) is not None

    def is_file(self, name: bytes) -> bool:
        """Whether anything has that name that is no directory."""
        found = self.look(name)
        return found is not None and not stat.S_ISDIR(found.st_mode)

    def link(self, name: bytes) -> bytes:
        """Where a symbolic link leads to."""
        folder, last = self._folder(name)
        return os.readlink(last, dir_fd=folder)

    @contextmanager
    def opened(self, name: bytes) -> Iterator[IO[bytes]]:
        """A plain file, to be read.  Raises OSError, ValueError where it is none by now."""
        folder, last = self._folder(name)
        try:
            handle = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError as error:
            error.filename = name
            raise
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ValueError(f"{os.fsdecode(name)} is no plain file by now")
            yield file

    def write(self, name: bytes, content: bytes, mode: str) -> bool:
        """Make a file, or a link where git's mode says so, and its directories; False where anything is in the way."""
        try:
            folder, last = self._folder(name, make=True)
            if mode == "120000":
                os.symlink(content, last, dir_fd=folder)
                return True
            given = 0o755 if mode == "100755" else 0o644
            handle = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, given, dir_fd=folder)
        except (FileExistsError, NotADirectoryError):
            return False
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(handle, given)
        return True

    def _folder(self, name: bytes, make: bool = False) -> tuple[int, bytes]:
        """A descriptor of the directory that the name is in, and its last part.  Raises OSError, ValueError."""
        *parts, last = name.split(b"/")
        if any(part in (b"", b".", b"..", b".git") for part in (*parts, last)):
            raise ValueError(f"{os.fsdecode(name)} is no name of a file")
        key = b"/".join(parts)
        if self._at is not None and self._at[0] == key and not make:
            return self._at[1], last
        at = os.dup(self._root)
        try:
            for part in parts:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=at)
                inner = os.open(part, _FOLDER, dir_fd=at)
                os.close(at)
                at = inner
        except BaseException:
            os.close(at)
            raise
        if self._at is not None:
            os.close(self._at[1])
        self._at = (key, at)
        return at, last
