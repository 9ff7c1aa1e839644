"""Is a pack right about its own examples: `check_pack`."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Iterator, Sequence

from attrs import frozen

from stallkit.core.engine import Engine, Match
from stallkit.core.screen import Screen
from stallkit.core.signature import Pack, Signature
from stallkit.packs.file import load_pack
from stallkit.packs.registry import installed
from stallkit.packs.screenfile import parse_screen

__all__ = ["Example", "check_pack", "examples"]


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


def examples(package: str) -> Iterator[Example]:
    """Every example of a pack's package: ``hits`` and ``misses`` of its file, and the files in ``screens/<id>/``.

    ``hit-*.txt`` must match, ``miss-*.txt`` must not, ``todo-*.txt`` is a hit (``todo-miss-*.txt`` a miss) that is not
    met yet.
    """
    for signature in load_pack(package).signatures:
        yield from _inline(signature)
        folder = resources.files(package) / "screens" / signature.id
        if folder.is_dir():
            for file in sorted(folder.iterdir(), key=lambda file: file.name):
                yield _from_file(signature, file)


def check_pack(package: str, among: Sequence[Pack] | None = None) -> int:
    """Hold a pack to its own examples; gives how many there were, raises AssertionError naming every failure.

    Every signature has a hit and a miss.  A hit is won by its own signature within the pack, and among all packs
    (`among`, by default the installed ones).  A miss is not taken for its signature, nor for any other of the pack in
    the same state.  A known gap (``todo-``) that is met has to be renamed.
    """
    pack = load_pack(package)
    others = [other for other in (installed().packs if among is None else among) if other.name != pack.name]
    alone, together = Engine([pack]), Engine([pack, *others])
    shown = list(examples(package))
    failures = [failure for example in shown for failure in _judge(example, pack, alone, together)]
    ids = {signature.id for signature in pack.signatures}
    for signature in sorted(ids):
        for wanted, name in ((True, "hit"), (False, "miss")):
            if not any(e.signature == signature and e.wanted is wanted and not e.todo for e in shown):
                failures.append(f"{signature}: it has no {name}")
    screens = resources.files(package) / "screens"
    if screens.is_dir():
        failures += [f"screens/{f.name}: no signature has this id" for f in screens.iterdir() if f.name not in ids]
    if failures:
        raise AssertionError(f"pack {pack.name}: {len(failures)} failures\n  " + "\n  ".join(failures))
    return len(shown)


def _inline(signature: Signature) -> Iterator[Example]:
    for wanted, texts in ((True, signature.hits), (False, signature.misses)):
        for number, text in enumerate(texts, 1):
            name = f"{'hits' if wanted else 'misses'}[{number}]"
            yield Example(signature.id, name, Screen.from_text(text), wanted)


def _from_file(signature: Signature, file: Traversable) -> Example:
    words = file.name.split("-")
    todo = words[0] == "todo"
    miss = words[0] == "miss" or (todo and words[1:2] == ["miss"])
    if not (todo or miss or words[0] == "hit"):
        raise AssertionError(f"screens/{signature.id}/{file.name}: begin its name with hit-, miss- or todo-")
    text = file.read_bytes().decode("utf-8", "replace")
    return Example(signature.id, file.name, parse_screen(text, str(file)).screen, not miss, todo)


def _judge(example: Example, pack: Pack, alone: Engine, together: Engine) -> Iterator[str]:
    where = f"{example.signature} {example.name}"
    signature = next(s for s in pack.signatures if s.id == example.signature)
    here, anywhere = alone.detect(example.screen).match, together.detect(example.screen).match
    if example.wanted:
        won = _is(here, pack, signature) and _is(anywhere, pack, signature)
        if example.todo and won:
            yield f"{where}: a known gap that is met now; rename it to hit-"
        elif not example.todo and not _is(here, pack, signature):
            yield f"{where}: a hit that {_name(here)} matches"
        elif not example.todo and not won:
            yield f"{where}: a hit that is shadowed by {_name(anywhere)}"
    else:
        clean = here is None or here.signature.state is not signature.state
        if example.todo and clean:
            yield f"{where}: a known gap that is met now; rename it to miss-"
        elif not example.todo and not clean:
            yield f"{where}: a miss that {_name(here)} matches"


def _is(match: Match | None, pack: Pack, signature: Signature) -> bool:
    return match is not None and match.pack.name == pack.name and match.signature.id == signature.id


def _name(match: Match | None) -> str:
    return "nothing" if match is None else f"{match.pack.name}:{match.signature.id}"
