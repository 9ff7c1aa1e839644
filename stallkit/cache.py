"""Files of the user's cache that hold what was computed: in a folder of one's own, whole or not taken at all.

A file is a mark, its key, the digest of what follows, and the payload.  The key says all that the payload was computed
from.  Any doubt means that there is no answer: a file of somebody else or that others can write, a symbolic link, one
that was cut short, another key.  Nothing here raises or is reported, since all of it can be computed anew.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from stallkit import private
from stallkit.config import cache_dir

__all__ = ["Cache", "user_cache"]

_MARK = b"stallkit cache 1\n"
_DIGEST = sha256().digest_size
_HEAD = len(_MARK) + 2 * _DIGEST
_MOST = 32_000_000  # bytes of a file: what is larger was not written by stallkit


class Cache:
    """The payloads in one folder, which is made when the first is written; keys are digests (`bytes` of SHA-256)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str, key: bytes) -> bytes | None:
        """The payload that was written under the name with this key, or None."""
        try:
            private.checked(self.folder)
            content = _read(self.folder / name)
        except OSError:
            return None
        payload = content[_HEAD:]
        head = _MARK + key + sha256(payload).digest()
        return payload if content[:_HEAD] == head else None

    def write(self, name: str, key: bytes, payload: bytes) -> None:
        """Keep the payload in place of any other of this name; where that fails nothing is kept."""
        part = self.folder / f"{name}.{os.getpid()}-{os.urandom(4).hex()}"
        try:
            private.folder(self.folder)
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MARK + key + sha256(payload).digest() + payload)
            part.replace(self.folder / name)  # other processes see the one file or the other
        except OSError:
            with suppress(OSError):
                part.unlink()


def user_cache(kind: str) -> Cache | None:
    """The cache of one kind of thing in the user's cache directory; None where it is off, or there is no such place."""
    try:
        folder = cache_dir()
    except (OSError, RuntimeError):  # a user without a home
        return None
    return Cache(folder / kind) if folder else None


def _read(path: Path) -> bytes:
    """The content of a plain file that only this user can have written.  Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1
        if not own or found.st_mode & private.OTHERS or found.st_size > _MOST:
            raise private.NotPrivate(f"{path} may be of somebody else")
        return file.read(_MOST)
