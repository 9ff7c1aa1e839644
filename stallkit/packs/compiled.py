"""Compiled packs: a pack as bytes, with what its clauses require, and back.

To parse a pack's file, to check it and to analyse its patterns takes forty times as long as to restore it.  The bytes
are a pickle, which is read by a closed list of classes: the values of a pack, and nothing that does anything.
"""

from __future__ import annotations

import io
import pickle
import sys
import time
from contextlib import suppress
from functools import cache, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Callable, Sequence

from stallkit.core import atoms, composer, dialog, index, keys, literals, needs, remembered, signature
from stallkit.core.signature import Clause, Pack

__all__ = ["CompileError", "compiled", "fingerprint", "plain_value", "restored"]

_PROTOCOL = 5
_MADE_OF = (
    *(signature.Pack, signature.Signature, signature.Clause, signature.Dismissal, keys.Keys, keys.Key),
    *(signature.State, signature.Kind, signature.Severity, signature.Certainty, signature.CursorState),
    *(signature.Expect, signature.Tier, composer.Composer),
    *(dialog.Dialog, dialog.Element, dialog.FieldSpec, dialog.FieldType, dialog.Edge, dialog.Role),
    *(needs.Atom, needs.ClauseNeeds, index.Index, atoms.Tables),
)
_ALLOWED = {(cls.__module__, cls.__qualname__): cls for cls in _MADE_OF}
_READERS = {
    literals.__name__,
    needs.__name__,
    "stallkit.packs.file",
    "stallkit.packs.dialog_rows",
    "stallkit.packs.load",
    "stallkit.packs.kept_index",
    __name__,
}
# What a compiled pack was made by: another line of it may mean another pack.
_CODE = {cls.__module__ for cls in _MADE_OF} | {one.work_out.__module__ for one in remembered.functions()}
_CODE |= {remembered.__name__} | _READERS
_IMPORTED_NS = time.time_ns()


class CompileError(ValueError):
    """Bytes that are not a compiled pack of this stallkit."""


def compiled(pack: Pack) -> bytes:
    """The pack, and all that can be worked out about its clauses.  Raises re.error for a pattern that is none."""
    kept = {name: _dumped(known) for name, known in remembered.answers(_clauses(pack)).items()}
    return _dumped((pack, kept))


def restored(content: bytes) -> Pack:
    """The pack that `compiled` was given; what was worked out is read when it is needed.  Raises CompileError."""
    try:
        pack, kept = plain_value(content)
        if not isinstance(pack, Pack):
            raise CompileError(f"{type(pack).__name__} is not a pack")
        clauses = cache(partial(_clauses, pack))
        remembered.recall(clauses, {name: partial(_answers, part, clauses) for name, part in kept.items()})
    except Exception as error:  # whatever bytes that were not written here lead to
        raise CompileError(f"{type(error).__name__}: {error}") from error
    return pack


def plain_value(content: bytes) -> Any:
    """What was pickled, of the classes that packs and indexes are made of alone.  Raises whatever bad bytes lead to."""
    return _Unpickler(io.BytesIO(content)).load()


def _dumped(value: object) -> bytes:
    return pickle.dumps(value, _PROTOCOL)


def _clauses(pack: Pack) -> tuple[Clause, ...]:
    return tuple(dict.fromkeys(clause for one in pack.signatures for clause in (*one.all_of, *one.none_of)))


def _answers(content: bytes, clauses: Callable[[], Sequence[Clause]]) -> Sequence[Any]:
    """What was worked out about these clauses; nothing where these are not such answers."""
    with suppress(Exception):  # whatever bytes that were not written here lead to: it can be worked out anew
        found = plain_value(content)
        if isinstance(found, list) and len(found) == len(clauses()):
            return found
    return ()


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
