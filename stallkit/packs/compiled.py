"""Compiled packs: a pack as bytes, and back.

To parse a pack's file and to check its patterns takes forty times as long as to restore it.  The bytes are a pickle,
which is read by a closed list of classes: the values of a pack, and nothing that does anything.
"""

from __future__ import annotations

import io
import pickle
import sys
import time
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from stallkit.core import composer, dialog, keys, signature
from stallkit.core.signature import Pack

__all__ = ["CompileError", "compiled", "fingerprint", "plain_value", "restored"]

_PROTOCOL = 5
_MADE_OF = (
    *(signature.Pack, signature.Signature, signature.Clause, signature.Dismissal, keys.Keys, keys.Key),
    *(signature.State, signature.Kind, signature.Severity, signature.Certainty, signature.CursorState),
    *(signature.Expect, signature.Tier, composer.Composer),
    *(dialog.Dialog, dialog.Element, dialog.FieldSpec, dialog.FieldType, dialog.Edge, dialog.Role),
)
_ALLOWED = {(cls.__module__, cls.__qualname__): cls for cls in _MADE_OF}
_READERS = ("core.needs", "core.pattern", "packs.file", "packs.dialog_rows", "packs.load")
# What a compiled pack was made by: another line of it may mean another pack.
_CODE = {*(cls.__module__ for cls in _MADE_OF), *(f"stallkit.{name}" for name in _READERS), __name__}
_IMPORTED_NS = time.time_ns()


class CompileError(ValueError):
    """Bytes that are not a compiled pack of this stallkit."""


def compiled(pack: Pack) -> bytes:
    """The pack, whose patterns `re` accepts."""
    return pickle.dumps(pack, _PROTOCOL)


def restored(content: bytes) -> Pack:
    """The pack that `compiled` was given.  Raises CompileError."""
    try:
        pack = plain_value(content)
    except Exception as error:  # whatever bytes that were not written here lead to
        raise CompileError(f"{type(error).__name__}: {error}") from error
    if not isinstance(pack, Pack):
        raise CompileError(f"{type(pack).__name__} is not a pack")
    return pack


def plain_value(content: bytes) -> Any:
    """What was pickled, of the classes that packs and indexes are made of alone.  Raises whatever bad bytes lead to."""
    return _Unpickler(io.BytesIO(content)).load()


@lru_cache(maxsize=1)
def fingerprint() -> bytes | None:
    """A digest of Python's version and of the code that compiles packs, which compiled packs depend on.

    None where the code cannot be read, or was replaced while this process ran: what it does is then not what is there.
    """
    digest = sha256(f"{sys.version} {sys.implementation.cache_tag} {_PROTOCOL}".encode())
    root = Path(__file__).parent.parent
    for name in sorted(_CODE):
        path = root.joinpath(*name.split(".")[1:]).with_suffix(".py")
        try:
            if path.stat().st_ctime_ns > _IMPORTED_NS:
                return None
            digest.update(sha256(path.read_bytes()).digest())
        except OSError:
            return None
    return digest.digest()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        return _ALLOWED[module, name]
