"""The pack of a package: from the cache where it was compiled before, else from its file, which takes far longer.

It is here that a file's content is read, so that a compiled pack is never that of another content.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from importlib import import_module, resources
from pathlib import Path

from stallkit.cache import Cache, user_cache
from stallkit.core.signature import Pack, Signature
from stallkit.packs.compiled import CompileError, compiled, fingerprint, restored
from stallkit.packs.file import parse_pack

__all__ = ["load_pack", "read_from", "through"]

_FILE = "signatures.toml"
_read: dict[int, tuple[tuple[Signature, ...], str]] = {}  # by the identity of a pack's signatures


def load_pack(package: str) -> Pack:
    """The pack of a package, from the ``signatures.toml`` inside it; the registry adds its version and distribution.

    What was compiled is kept in the user's cache directory (docs/packs.md).  Raises PackFormatError; FileNotFoundError
    where the package ships no such file.

    >>> load_pack("stallkit_shell_yn").name
    'shell_yn'
    """
    content, path = _content(package)
    cache = user_cache("packs")
    made_by = fingerprint() if cache else None
    name = package.removeprefix("stallkit_")
    if cache is None or made_by is None:
        return _parse(content, path, name)
    return through(cache, made_by, content, path, name)


def through(cache: Cache, made_by: bytes, content: bytes, path: str, name: str) -> Pack:
    """The pack in a file's content, from the cache or else kept there; `made_by` is a `fingerprint`.

    Raises PackFormatError.
    """
    key = sha256(made_by + sha256(name.encode()).digest() + content).digest()
    place = sha256(os.fsencode(f"{__file__}\0{path}")).hexdigest()[:32]  # one file a pack, however often it changes
    found = cache.read(place, key)
    if found is not None:
        with suppress(CompileError):
            return _noted(restored(found), key)
    pack = _parse(content, path, name)
    cache.write(place, key, compiled(pack))
    return _noted(pack, key)


def read_from(signatures: tuple[Signature, ...]) -> str | None:
    """What tells the content of the file that a pack's signatures were read from; None where they were not."""
    found = _read.get(id(signatures))
    return found[1] if found else None


def _noted(pack: Pack, key: bytes) -> Pack:
    _read[id(pack.signatures)] = (pack.signatures, key.hex())  # which are kept, so that no others get their identity
    return pack


def _parse(content: bytes, path: str, name: str) -> Pack:
    return parse_pack(content, path, name)


def _content(package: str) -> tuple[bytes, str]:
    """What is in a package's file, and the path of it."""
    found = getattr(import_module(package), "__file__", None)
    if found:
        path = Path(found).with_name(_FILE)
        with suppress(OSError):
            return path.read_bytes(), str(path)

    file = resources.files(package) / _FILE
    return file.read_bytes(), str(file)
