"""The files of one proxy, replaced together: each by one rename, with what was there kept beside it until all is well.

What an edit leaves that was killed is found by the kept files, and put back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Mapping

from attrs import frozen

__all__ = ["RemedyFiles"]

_ABSENT = b"\0stallkit: there was no file\n"  # kept in place of a file that was not there


@frozen
class RemedyFiles:
    """The files that an edit replaces, the one that a person edits last: with it, the edit is done."""

    paths: tuple[Path, ...]

    def read(self) -> str:
        """What a person edits; empty where there is no file.  Raises OSError, UnicodeDecodeError."""
        try:
            return self.paths[-1].read_bytes().decode("utf-8")
        except FileNotFoundError:
            return ""

    def candidate(self, path: Path, text: str) -> Path:
        """A copy of what is to be there, beside it: for checks.  Raises OSError."""
        copy = _beside(path, "check")
        _write(copy, text.encode(), path)
        return copy

    def drop_candidates(self) -> None:
        for path in self.paths:
            with suppress(OSError):
                _beside(path, "check").unlink(missing_ok=True)

    def replace(self, texts: Mapping[Path, str]) -> None:
        """Keep what is there, then replace it.  Raises OSError."""
        for path in self.paths:
            kept = path.read_bytes() if path.exists() else _ABSENT
            _write(_beside(path, "new"), kept, path)
            _beside(path, "new").replace(_beside(path, "before"))
            self._sync()  # in this order: the last of them says that all are kept
        for path in self.paths:
            _write(_beside(path, "new"), texts[path].encode(), path)
            _beside(path, "new").replace(path)
        self._sync()

    def put_back(self) -> None:
        """What was there is there again, as far as it was kept.  Raises OSError."""
        for path in self.paths:
            kept = _beside(path, "before")
            if not kept.exists():
                continue
            content = kept.read_bytes()
            if content == _ABSENT:
                path.unlink(missing_ok=True)
            else:
                _write(_beside(path, "new"), content, kept)
                _beside(path, "new").replace(path)
        self._sync()

    def forget(self) -> None:
        """The edit is over: nothing is kept any longer."""
        for path in reversed(self.paths):  # what says so goes first
            _beside(path, "before").unlink(missing_ok=True)
            self._sync()
            _beside(path, "new").unlink(missing_ok=True)

    @property
    def cut_off(self) -> bool:
        """Whether an earlier edit did not come to its end, so that files may have been replaced."""
        return _beside(self.paths[-1], "before").exists()

    def _sync(self) -> None:
        for folder in {path.parent for path in self.paths}:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f".{path.name}.stallkit-{what}")


def _write(path: Path, content: bytes, like: Path) -> None:
    """A new file, on the disk, with the owner and the mode of another one, or mode 0600."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        with suppress(FileNotFoundError):
            found = like.stat()
            os.fchmod(handle, found.st_mode & 0o777)
            with suppress(PermissionError):
                os.fchown(handle, found.st_uid, found.st_gid)
        os.fsync(handle)
