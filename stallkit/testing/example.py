"""A pack's examples as values, whether an example passes, and the golden form of a screen file."""

from __future__ import annotations

import difflib
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Iterator

from attrs import frozen

from stallkit.detect.engine import Engine, Match
from stallkit.detect.signature import Pack, Signature
from stallkit.errors import PackFormatError
from stallkit.evidence.agents import asked
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot
from stallkit.packs.pack_file import read_pack
from stallkit.packs.registry import load_pack
from stallkit.packs.screenfile import ensure_closed, parse_screen
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import strip

_FILE = "signatures.toml"


@frozen
class Example:
    """A screen for a signature, and whether the signature must match it.

    `wanted`: it must match; `todo`: it does not do so yet.
    """

    signature: str
    name: str
    screen: Screen
    wanted: bool
    todo: bool = False
    foreground: str | None = None  # the program that it was captured with


@frozen
class Judges:
    """The engines that check a pack's examples: of the pack `alone`, and `together` with all others."""

    pack: Pack
    alone: Engine
    together: Engine

    def fault(self, example: Example) -> str | None:
        """What is wrong with an example, or None if it passes; a known gap that passes is a fault too."""
        signature = next(own for own in self.pack.signatures if own.id == example.signature)
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
        if won and (name := unfound_under(self.together, self.pack, example)):
            return f"a hit that is not found where {name} runs"
        return None if won else f"a hit that is shadowed by {_name(anywhere)}"

    def takes(self, example: Example, id: str) -> bool:
        """Whether the pack alone finds this signature in an example."""
        match = self.alone.detect(example.screen).match
        return match is not None and match.signature.id == id

    def _is(self, match: Match | None, signature: Signature) -> bool:
        return match is not None and match.pack.name == self.pack.name and match.signature.id == signature.id


def gives_way(pack: Pack, match: Match | None, signature: Signature) -> bool:
    """Whether a hit of a generic pack rightly goes to a program's own pack, in the same state.

    One that has keys does not, to a signature of its kind that has none.
    """
    if match is None or pack.foreground or not match.pack.foreground:
        return False
    loses_keys = signature.dismissal and not match.signature.dismissal and match.signature.kind is signature.kind
    return match.signature.state is signature.state and not loses_keys


def unfound_under(engine: Engine, pack: Pack, hit: Example) -> str | None:
    """The program where it runs a hit's signature is not found: one that the pack names, or the hit was captured with.

    None if there is none, or the pack is for any program.
    """
    names = sorted({*pack.foreground, *filter(None, [hit.foreground])}) if pack.own else []
    tried = set[frozenset[str]]()
    for name in names:
        kernel = KernelFacts(foreground=name, members=(Member(1, name, "S"),), complete=True, looked_at=1)
        found = asked(engine, Snapshot(screen=hit.screen, process=ProcessFacts(name), kernel=kernel))
        if found.not_asked not in tried and (found.match is None or found.match.signature.id != hit.signature):
            return name
        tried.add(found.not_asked)
    return None


def pack_of(package: str | Path) -> Pack:
    """The pack of a package, by its name, or of a folder that holds a ``signatures.toml``, installed or not."""
    return load_pack(package) if isinstance(package, str) else read_pack(package / _FILE)


def screens_of(package: str | Path) -> Traversable:
    """The folder of its screens, which may not exist."""
    root = resources.files(package) if isinstance(package, str) else package
    return root / "screens"


def examples(package: str | Path) -> Iterator[Example]:
    """Every example of a pack: ``hits`` and ``misses`` of its file, and the files in ``screens/<id>/``.

    `package` is the name of a package that can be imported, or a folder with a ``signatures.toml``.  ``hit-*.txt`` must
    match, ``miss-*.txt`` must not, ``todo-*.txt`` is a hit (``todo-miss-*.txt`` a miss) that does not pass yet; hidden
    files are skipped.  Raises PackFormatError, OSError, and AssertionError for a file with another name.
    """
    return (place.read() for place in places(pack_of(package), screens_of(package)))


@frozen
class Place:
    """Where an example is: in the pack's file, or in its own `file`, read on demand."""

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
        """Whether it must match; None for a file whose name does not say it."""
        first = self.name.removeprefix("todo-").split("-")[0]
        if first.startswith(("hits[", "misses[")):
            return first.startswith("hits[")
        return first != "miss" if self.todo else {"hit": True, "miss": False}.get(first)

    def read(self) -> Example:
        """The example.

        Raises AssertionError for a file whose name does not say what it is, PackFormatError if it is not UTF-8 or
        its front block is invalid, and OSError.
        """
        wanted = self.wanted
        if wanted is None:
            raise AssertionError(f"screens/{self.signature}/{self.name}: begin its name with hit-, miss- or todo-")
        if self.file is None:
            return Example(self.signature, self.name, Screen.from_text(self.text), wanted)
        text = text_of(self.file.read_bytes(), str(self.file))
        found = parse_screen(text, str(self.file))
        ensure_closed(found, str(self.file))
        return Example(self.signature, self.name, found.screen, wanted, self.todo, found.front.get("foreground"))


def places(pack: Pack, screens: Traversable) -> Iterator[Place]:
    """Where each example of a pack is; no screen is read."""
    for signature in pack.signatures:
        yield from inline(signature)
        folder = screens / signature.id
        if folder.is_dir():
            for file in entries(folder):
                yield Place(signature.id, file.name, file=file)


def entries(folder: Traversable) -> list[Traversable]:
    """The files in a folder of screens, by name, without hidden ones, such as an editor's swap file."""
    return sorted((file for file in folder.iterdir() if not file.name.startswith(".")), key=lambda file: file.name)


def text_of(content: bytes, path: str) -> str:
    """The text of a pack's screen; `path` is for messages.  Raises PackFormatError if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PackFormatError(path, line, "", "not UTF-8", "capture it again, or convert it") from error


def inline(signature: Signature) -> Iterator[Place]:
    """The places of a signature's examples in the pack's file."""
    for key, texts in (("hits", signature.hits), ("misses", signature.misses)):
        for number, text in enumerate(texts, 1):
            yield Place(signature.id, f"{key}[{number}]", text)


def _name(match: Match | None) -> str:
    return "nothing" if match is None else f"{match.pack.name}:{match.signature.id}"


# --- the golden form of a screen file ---


_FRONT = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$\n?", re.MULTILINE | re.DOTALL)


def golden(text: str) -> str:
    r"""The golden text of a screen file: control sequences carried out, a newline at its end.

    The front block and the shown screen stay as they are.  So do credentials: masking cannot tell ``Password: ____``
    from a password, and a screen without its prompt is useless (`stallkit pack capture` masks what it writes).

    >>> golden("10%\r\x1b[2KProceed? \x1b[1m[y/N]")
    'Proceed? [y/N]\n'
    """
    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    head = front[0] if front else ""
    body = strip(text[len(head) :])
    return head + (body if body.endswith("\n") else body + "\n")


def difference(before: str, after: str, name: str) -> str:
    """What changed between two texts, line by line, with every control code written out."""
    lines = difflib.unified_diff(_lines(before), _lines(after), name, name, n=1, lineterm="")
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    return ["".join(char if char.isprintable() else repr(char)[1:-1] for char in line) for line in text.split("\n")]
