"""A pack's examples as values, and whether one is met."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Iterator

from attrs import frozen

from stallkit.core.engine import Engine, Match
from stallkit.core.screen import Screen
from stallkit.core.signature import Pack, Signature
from stallkit.errors import PackFormatError
from stallkit.packs.file import load_pack, read_pack
from stallkit.packs.screenfile import ensure_closed, parse_screen

__all__ = [
    "Example",
    "Judges",
    "Place",
    "entries",
    "examples",
    "gives_way",
    "inline",
    "pack_of",
    "places",
    "screens_of",
    "text_of",
]

_FILE = "signatures.toml"


@frozen
class Example:
    """A screen beside a signature, and what the signature must make of it.

    `wanted` says that it must match; `todo` that it does not do yet what is wanted.
    """

    signature: str
    name: str
    screen: Screen
    wanted: bool
    todo: bool = False


@frozen
class Judges:
    """A pack as it is held to its examples: the engine of it `alone`, and the one of it `together` with all others."""

    pack: Pack
    alone: Engine
    together: Engine

    def fault(self, example: Example) -> str | None:
        """What is wrong with an example, or None where it is met; a known gap that is met is wrong too."""
        signature = next(one for one in self.pack.signatures if one.id == example.signature)
        here = self.alone.detect(example.screen).match
        anywhere = here if self.together is self.alone else self.together.detect(example.screen).match
        if not example.wanted:
            clean = here is None or here.signature.state is not signature.state
            if example.todo:
                return "a known gap that is met now; rename it to miss-" if clean else None
            return None if clean else f"a miss that {_name(here)} matches"
        won_here = self._is(here, signature)
        won = self._is(anywhere, signature) or gives_way(self.pack, anywhere, signature)
        if example.todo:
            return "a known gap that is met now; rename it to hit-" if won_here and won else None
        if not won_here:
            return f"a hit that {_name(here)} matches"
        return None if won else f"a hit that is shadowed by {_name(anywhere)}"

    def takes(self, example: Example, id: str) -> bool:
        """Whether it is this signature that the pack alone sees in an example."""
        match = self.alone.detect(example.screen).match
        return match is not None and match.signature.id == id

    def _is(self, match: Match | None, signature: Signature) -> bool:
        return match is not None and match.pack.name == self.pack.name and match.signature.id == signature.id


def gives_way(pack: Pack, match: Match | None, signature: Signature) -> bool:
    """Whether a hit of a pack for all programs goes where it should: to a program's own pack, in the same state."""
    if match is None or pack.foreground or not match.pack.foreground:
        return False
    return match.signature.state is signature.state


def pack_of(package: str | Path) -> Pack:
    """The pack of a package, by its name, or of a folder that holds a ``signatures.toml``, installed or not."""
    return load_pack(package) if isinstance(package, str) else read_pack(package / _FILE)


def screens_of(package: str | Path) -> Traversable:
    """The folder of its screens, there or not."""
    root = resources.files(package) if isinstance(package, str) else package
    return root / "screens"


def examples(package: str | Path) -> Iterator[Example]:
    """Every example of a pack: ``hits`` and ``misses`` of its file, and the files in ``screens/<id>/``.

    `package` is the name of a package that can be imported, or a folder with a ``signatures.toml``.  ``hit-*.txt`` must
    match, ``miss-*.txt`` must not, ``todo-*.txt`` is a hit (``todo-miss-*.txt`` a miss) that is not met yet; hidden
    files are passed over.  Raises PackFormatError, OSError, and AssertionError for a file that is none of these.
    """
    return (place.read() for place in places(pack_of(package), screens_of(package)))


@frozen
class Place:
    """Where an example is: in the pack's file, or in a `file` of its own that is read when it is asked for."""

    signature: str
    name: str
    text: str = ""
    file: Traversable | None = None

    @property
    def todo(self) -> bool:
        """Whether it is a known gap."""
        return self.name.startswith("todo-")

    @property
    def wanted(self) -> bool | None:
        """Whether it must match; None for a file whose name does not say."""
        first = self.name.removeprefix("todo-").split("-")[0]
        if first.startswith(("hits[", "misses[")):
            return first.startswith("hits[")
        return first != "miss" if self.todo else {"hit": True, "miss": False}.get(first)

    def read(self) -> Example:
        """The example.

        Raises AssertionError for a file whose name does not say what it is, PackFormatError where it is not UTF-8 or
        its front block is broken, and OSError.
        """
        wanted = self.wanted
        if wanted is None:
            raise AssertionError(f"screens/{self.signature}/{self.name}: begin its name with hit-, miss- or todo-")
        if self.file is None:
            return Example(self.signature, self.name, Screen.from_text(self.text), wanted)
        text = text_of(self.file.read_bytes(), str(self.file))
        found = parse_screen(text, str(self.file))
        ensure_closed(found, str(self.file))
        return Example(self.signature, self.name, found.screen, wanted, self.todo)


def places(pack: Pack, screens: Traversable) -> Iterator[Place]:
    """Where each example of a pack is; no screen is read."""
    for signature in pack.signatures:
        yield from inline(signature)
        folder = screens / signature.id
        if folder.is_dir():
            for file in entries(folder):
                yield Place(signature.id, file.name, file=file)


def entries(folder: Traversable) -> list[Traversable]:
    """What is in a folder of screens, by name; not what is hidden: an editor's swap file, the leavings of a desktop."""
    return sorted((one for one in folder.iterdir() if not one.name.startswith(".")), key=lambda one: one.name)


def text_of(content: bytes, path: str) -> str:
    """The text of a pack's screen, `path` being for messages.  Raises PackFormatError where it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PackFormatError(path, line, "", "not UTF-8", "capture it again, or convert it") from error


def inline(signature: Signature) -> Iterator[Place]:
    """Where the examples in the pack's file are."""
    for key, texts in (("hits", signature.hits), ("misses", signature.misses)):
        for number, text in enumerate(texts, 1):
            yield Place(signature.id, f"{key}[{number}]", text)


def _name(match: Match | None) -> str:
    return "nothing" if match is None else f"{match.pack.name}:{match.signature.id}"
