"""The programs of patterns in the user's cache (`stallkit.core.pattern_programs`): what the latest commands used."""

from __future__ import annotations

import pickle
import sys
import time
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, Mapping

from stallkit.cache import Cache, user_cache
from stallkit.core.pattern_programs import Key

__all__ = ["KeptPrograms", "user_programs"]

_PROTOCOL = 5
_MOST = 2_000  # answers, some 800 KB: what the screens of one user, and a whole corpus, ask for over and over
_NAME = "programs"
# What is proven of a pattern depends on these, and the programs on the versions of Python and regex.
_CODE = [
    "atoms",
    "bounds",
    "consequence_words",
    "lexicon",
    "literals",
    "needs",
    "pattern_programs",
    "readings",
    "rooms",
    "screen",
    "secret_data",
]
_IMPORTED_NS = time.time_ns()


class KeptPrograms:
    """A store in a cache, which is read as a whole; each answer is restored when it is asked for."""

    def __init__(self, cache: Cache, made_by: bytes) -> None:
        self._cache, self._made_by = cache, made_by
        self._kept = self._read()

    def get(self, key: Key) -> Any | None:
        """What was kept under the key, if anything was."""
        content = self._kept.get(key)
        return None if content is None else _plain(content)

    def put(self, answers: Mapping[Key, Any]) -> None:
        """Keep these, and what other processes asked for before as far as there is room."""
        kept = self._read() | self._kept
        new = {key: kept.get(key) or pickle.dumps(value, _PROTOCOL) for key, value in answers.items()}
        first = dict(list((new | kept).items())[:_MOST])
        self._cache.write(_NAME, self._made_by, pickle.dumps(first, _PROTOCOL))

    def _read(self) -> dict[Key, bytes]:
        content = self._cache.read(_NAME, self._made_by)
        found = content and _plain(content)
        return found if isinstance(found, dict) else {}


def user_programs() -> KeptPrograms | None:
    """Those in the user's cache; None where there is none."""
    cache = user_cache("packs")
    made_by = _made_by() if cache else None
    return KeptPrograms(cache, made_by) if cache and made_by else None


@lru_cache(maxsize=1)
def _made_by() -> bytes | None:
    """A digest of Python's version and of the files that the answers depend on, as they are on the disk."""
    root, regex, seen = Path(__file__).parent.parent / "core", find_spec("regex"), []
    files = [*(root / f"{name}.py" for name in _CODE), root.parent / "data/secrets.toml"]
    files.append(Path((regex and regex.origin) or "").with_name("_main.py"))  # says the version
    with suppress(OSError):
        for file in files:
            found = file.stat()
            if found.st_ctime_ns > _IMPORTED_NS:  # replaced while this process ran: what it does is not what is there
                return None
            seen.append((found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        return sha256(repr((sys.version, sys.implementation.cache_tag, str(root), seen)).encode()).digest()
    return None


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        raise pickle.UnpicklingError(f"{module}.{name}: a program is made of plain values alone")


def _plain(content: bytes) -> Any:
    """What was pickled, of plain values alone; None for whatever else the bytes are."""
    with suppress(Exception):  # whatever bytes that were not written here lead to
        return _Unpickler(BytesIO(content)).load()
    return None
