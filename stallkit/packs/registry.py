"""The installed packs: find, call their hook, sort, load, validate, report.

A pack's package implements the hook `stallkit_packs`, found by an entry point of ``stallkit.packs``; pluggy calls it.
Each entry point is loaded on its own, so that a broken one affects no other pack, and each failure is reported.  Order
never depends on the disk: entry points are sorted by distribution and name.

To parse a file takes forty times as long as to read what was kept of it in the user's cache directory.  A kept pack is
a pickle, read by a closed list of classes, behind the digest of itself and of what made it: the file, the code that
reads it, Python.  In any doubt the file is parsed again.
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
from threading import Lock
from types import MappingProxyType
from typing import Any, Callable, Mapping, Sequence, TypeVar

import pluggy
from attrs import evolve, frozen

from stallkit import private
from stallkit.config import cache_dir
from stallkit.detect import agent, composer, dialog, engine, pattern, signature
from stallkit.detect.signature import API, UNVERSIONED, Pack
from stallkit.distributions import EntryPoint, entry_points
from stallkit.errors import PackError, PackLoadError
from stallkit.packs import pack_file
from stallkit.terminal import keys

# --- parsed before ---

_FILE, _DIGEST = "signatures.toml", sha256().digest_size
_VALUES_OF = (signature, keys, composer, dialog, agent)  # the classes that a pack is made of
_CODE = (*_VALUES_OF, pattern, pack_file, sys.modules[__name__])
_ROOMS = ("stallkit.detect.", "stallkit.terminal.")
_CLASSES = [one for module in _VALUES_OF for one in vars(module).values() if isinstance(one, type)]
_VALUES = {(one.__module__, one.__name__): one for one in _CLASSES if one.__module__.startswith(_ROOMS)}
_PHRASES = pkgutil.get_data("stallkit", "data/phrases.toml") or b""
_SOURCES = (Path(str(one.__file__)).read_bytes() for one in _CODE)
_MADE_BY = sha256(b"".join([sys.version.encode(), _PHRASES, *_SOURCES])).digest()
_checked: dict[int, tuple[signature.Signature, ...]] = {}  # by identity: the signatures whose patterns were checked


def load_pack(package: str) -> signature.Pack:
    """The pack of a package, from its ``signatures.toml``, and its ``agent.toml`` if it has one.

    A pack of several programs has a folder ``agents`` with a file for each.  The registry adds version and
    distribution.

    Raises PackFormatError; OSError if the package ships no such file.

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


# --- the installed packs ---

_PROJECT = "stallkit"
_Function = TypeVar("_Function", bound=Callable[..., Any])


ENTRY_POINTS = "stallkit.packs"


def hookimpl(function: _Function) -> _Function:
    """Mark the hook of a pack; ``pluggy.HookimplMarker("stallkit")`` does the same, and takes options.

    >>> from stallkit import hookimpl, load_pack
    >>> @hookimpl
    ... def stallkit_packs():
    ...     return [load_pack("stallkit_shell_yn")]
    """
    return pluggy.HookimplMarker(_PROJECT)(function)


@pluggy.HookspecMarker(_PROJECT)
def stallkit_packs() -> Sequence[Pack]:
    """The packs that this distribution ships, usually ``[load_pack(__package__)]``.

    Called once, when an engine is made of the installed packs.  What it raises, and anything in its answer that is
    not a pack, is reported under the distribution's name; other packs are not affected.
    """
    raise NotImplementedError  # a specification: it is never called


@frozen
class Installed:
    """The packs that loaded, in order, and the errors of those that did not."""

    packs: tuple[Pack, ...]
    problems: tuple[PackError, ...]


class Engine(engine.Engine):
    """Packs, compiled once: `detect` finds the first signature that matches a screen.

    ``Engine.default()`` takes every installed pack, ``Engine(packs)`` the given ones; `problems` has an error for each
    installed pack that could not be used.  Raises DuplicateSignature for two packs of one name, SignatureError for a
    pattern that `regex` does not accept.

    >>> Engine.default().detect("Proceed? [y/N] ").match.signature.id
    'yes_no'
    """

    problems: tuple[PackError, ...] = ()

    @classmethod
    def default(cls) -> Engine:
        """An engine of every installed pack, in order; a broken one is left out and named in `problems`."""
        found = installed()
        made = cls(found.packs, checked=True)
        made.problems = found.problems
        return made


class EngineOnce:
    """An engine that is loaded at the first call and shared by all later ones, in every thread.

    A load without any pack raises, and the next call loads again.
    """

    def __init__(self, load: Callable[[], Engine]) -> None:
        self._load = load
        self._lock = Lock()
        self._engine: Engine | None = None

    def __call__(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = _usable(self._load())
            return self._engine


_installed = EngineOnce(Engine.default)


def installed_engine() -> Engine:
    """The engine of the installed packs, one for the whole process; a fresh one is `Engine.default()`.

    Raises PackError, saying how to install a pack, if there is none.
    """
    return _installed()


def _usable(engine: Engine) -> Engine:
    if not engine.packs:
        why = "no pack is installed, so no prompt can be detected"
        if engine.problems:
            why = f"no installed pack could be used ({engine.problems[0]})"
        todo = "pip install 'stallkit[packs]', or ./plugins/*/ in a checkout"
        raise PackError("nothing to look for", "in this environment", why, todo)
    return engine


def find() -> list[EntryPoint]:
    """Every entry point of the group, sorted by distribution and name; nothing is imported."""
    return sorted(entry_points(ENTRY_POINTS), key=lambda found: (_distribution(found), found.name))


def installed() -> Installed:
    """Every installed pack that loads, and an error for each that does not.  Never raises for a pack's fault."""
    packs: dict[str, Pack] = {}
    problems: list[PackError] = []
    for entry in find():
        try:
            loaded = _load(entry)
            own: dict[str, Pack] = {}
            for pack in loaded:
                if pack.name in packs or pack.name in own:
                    other = (packs | own)[pack.name].distribution
                    raise PackLoadError(entry.name, _distribution(entry), f"{other} has a pack {pack.name} already")
                own[pack.name] = pack
        except PackError as error:
            problems.append(error)
        else:
            packs |= own
    order = sorted(packs.values(), key=lambda pack: (not pack.foreground, pack.priority, pack.distribution, pack.name))
    return Installed(tuple(order), tuple(problems))


def _load(found: EntryPoint) -> list[Pack]:
    """The packs behind one entry point; any failure of it becomes a PackError that names it."""
    try:
        packs = [_stamped(pack, found) for pack in _call_hook(found.load())]
        for pack in packs:
            if pack.api > API:
                raise TypeError(f"pack {pack.name} needs a stallkit with pack API {pack.api}, this one has {API}")
            if not checked_before(pack):
                engine.Engine([pack])  # its patterns compile
    except (Exception, SystemExit) as error:  # foreign code: whatever it raises is its own failure
        why = str(error) if isinstance(error, PackError) else f"{type(error).__name__}: {error}"
        raise PackLoadError(found.name, _distribution(found), why) from error
    return packs


def _stamped(pack: Pack, found: EntryPoint) -> Pack:
    version = found.version if found.version and pack.version == UNVERSIONED else pack.version
    return evolve(pack, distribution=_distribution(found), version=version)


def _call_hook(module: Any) -> list[Pack]:
    packs = [pack for answer in answers(module) for pack in answer]
    if not packs or not all(isinstance(pack, Pack) for pack in packs):
        raise TypeError("its hook stallkit_packs did not return a list of packs")
    return packs


def answers(plugin: Any) -> list[Any]:
    """What the hooks of one plug-in answer; an answer of None is none.  Raises TypeError if it has no hook."""
    manager = pluggy.PluginManager(_PROJECT)
    manager.add_hookspecs(sys.modules[__name__])
    manager.register(plugin)
    if not manager.hook.stallkit_packs.get_hookimpls():  # a misspelt hook is registered, but never called
        raise TypeError("it has no hook stallkit_packs marked with stallkit.hookimpl")
    found: list[Any] = manager.hook.stallkit_packs()
    return found


def _distribution(found: EntryPoint) -> str:
    name = found.distribution or "unknown"  # an install that was interrupted has no metadata
    return name.lower().replace("_", "-").replace(".", "-")
