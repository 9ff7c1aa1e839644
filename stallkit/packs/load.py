"""The pack of a package: as it was parsed before, from the user's cache directory, else from its file.

To parse a file takes forty times as long.  A kept pack is a pickle, read by a closed list of classes, behind the digest
of itself and of what made it: the file, the code that reads it, Python.  In any doubt the file is parsed again.
"""

from __future__ import annotations

import io
import os
import pickle
import pkgutil
import sys
from contextlib import suppress
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Mapping

from stallkit import private
from stallkit.config import cache_dir
from stallkit.detect import agent, composer, dialog, pattern, signature
from stallkit.packs import pack_file
from stallkit.terminal import keys

__all__ = ["checked_before", "load_pack", "restored", "through"]

_FILE, _DIGEST = "signatures.toml", sha256().digest_size
_VALUES_OF = (signature, keys, composer, dialog, agent)  # the classes that a pack is made of
_CODE = (*_VALUES_OF, pattern, pack_file, sys.modules[__name__])
_ROOMS = ("stallkit.detect.", "stallkit.terminal.")
_CLASSES = [one for module in _VALUES_OF for one in vars(module).values() if isinstance(one, type)]
_VALUES = {(one.__module__, one.__name__): one for one in _CLASSES if one.__module__.startswith(_ROOMS)}
_MADE_BY = sha256(b"".join([sys.version.encode(), *(Path(str(one.__file__)).read_bytes() for one in _CODE)])).digest()
_checked: dict[int, tuple[signature.Signature, ...]] = {}  # by identity: the signatures whose patterns were checked


def load_pack(package: str) -> signature.Pack:
    """The pack of a package, from its ``signatures.toml``, and its ``agent.toml`` if it has one.

    A pack of several programs has a folder ``agents`` with a file for each.  The registry adds version and
    distribution.

    Raises PackFormatError; OSError where the package ships no such file.

    >>> load_pack("stallkit_shell_yn").name
    'shell_yn'
    """
    content, folder = pkgutil.get_data(package, _FILE) or b"", None
    with suppress(OSError, RuntimeError):  # a user without a home
        folder = cache_dir()
    path, agents = Path(str(sys.modules[package].__file__)).with_name(_FILE), pack_file.agent_files(files(package))
    return through(folder and folder / "packs", content, str(path), package.removeprefix("stallkit_"), agents)


def through(
    folder: Path | None,
    content: bytes,
    path: str,
    name: str,
    agents: Mapping[str, bytes] = MappingProxyType({}),
    made_by: bytes = _MADE_BY,
) -> signature.Pack:
    """The pack in the content of its files, as a folder has it, or else kept there.  Raises PackFormatError."""
    texts = (name.encode(), *(part for path, file in agents.items() for part in (path.encode(), file)), content)
    key = sha256(made_by + b"".join(sha256(text).digest() for text in texts)).digest()
    kept = folder and folder / sha256(os.fsencode(f"{__file__}\0{path}")).hexdigest()[:32]  # one file a pack
    pack = _read(kept, key) if kept else None
    if pack is None:
        pack = pack_file.parse_pack(content, path, name, agents)
        if kept:
            _write(kept, key + pickle.dumps(pack))
    _checked[id(pack.signatures)] = pack.signatures
    return pack


def checked_before(pack: signature.Pack) -> bool:
    """Whether its patterns were checked when its file was parsed."""
    return id(pack.signatures) in _checked


def restored(payload: bytes) -> signature.Pack:
    """The pack that was pickled.  Raises ValueError for any other bytes."""
    with suppress(Exception):  # whatever bytes that were not written here lead to
        if isinstance(pack := _Unpickler(io.BytesIO(payload)).load(), signature.Pack):
            return pack
    raise ValueError("these bytes are no pack")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        return _VALUES[module, name]


def _read(file: Path, key: bytes) -> signature.Pack | None:
    with suppress(OSError, ValueError):
        private.checked(file.parent)
        if not file.lstat().st_mode & private.OTHERS:
            with os.fdopen(private.opened(file, os.O_RDONLY), "rb") as kept:
                digest, payload = kept.read(_DIGEST), kept.read()
            if digest == sha256(key + payload).digest():
                return restored(payload)
    return None


def _write(file: Path, keyed: bytes) -> None:
    with suppress(OSError):
        private.folder(file.parent)
        part = file.with_name(f"{file.name}.{os.getpid()}-{os.urandom(4).hex()}")
        try:
            with os.fdopen(private.opened(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as kept:
                kept.write(sha256(keyed).digest() + keyed[_DIGEST:])
            part.replace(file)  # other processes see the one file or the other
        finally:
            part.unlink(missing_ok=True)
