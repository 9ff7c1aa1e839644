"""Labelled cases from all sources: JSON lines, recordings with markers, screen files, folders of these.

An unreadable case is a problem, named by file and line; reading goes on after it.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Iterator, Sequence

from stallkit.detect.signature import Kind, State
from stallkit.errors import PackError, StallkitError, StoreError
from stallkit.packs.pack_file import read_pack
from stallkit.packs.screenfile import ScreenFile, ensure_closed, read_screen
from stallkit_lab.corpus_lines import TRUE_STATES, Case, Label, Line
from stallkit_lab.record.cast import cases

Item = Line | Case
_SUFFIXES = (".jsonl", ".cast", ".txt")


def load(path: str | Path, problems: list[StallkitError] | None = None, bare: bool = False) -> Iterator[Case]:
    """The cases of a corpus, in order; those that cannot be read are added to `problems`.

    Without such a list the first one is raised: OSError, or StoreError naming file and line.  `bare`: screen files
    without a label as well, in the state ``unknown``.
    """
    found: list[StallkitError] = [] if problems is None else problems
    if problems is None:
        Path(path).stat()
    for item in items(path, found, bare=bare):
        try:
            if problems is None and found:
                raise found[0]
            yield item.read() if isinstance(item, Line) else item
        except StoreError as error:
            if problems is None:
                raise
            problems.append(error)
    if problems is None and found:
        raise found[0]


def items(
    path: str | Path, problems: list[StallkitError], skipped: list[str] | None = None, bare: bool = False
) -> Iterator[Item]:
    """The same, but the lines of a corpus unread, so that other processes can read them.

    `skipped` takes recordings without a marker, and screen files of a folder without a state: misses, and files without
    a label.
    """
    path = Path(path)
    files = _files(path)
    if not files:
        kinds = ", ".join(_SUFFIXES[:-1]) + f" or {_SUFFIXES[-1]}"
        problems.append(StoreError("corpus", str(path), f"it holds no {kinds} file", "name a folder that does"))
    for file in files:
        try:
            if file.suffix == ".cast":
                before, empty = len(problems), True
                for case in cases(file, problems):
                    empty = False
                    yield case
                if empty and skipped is not None and len(problems) == before:
                    skipped.append(str(file))
            elif file.suffix == ".txt":
                yield from _screen(file, path, [] if skipped is None else skipped, bare)
            else:
                yield from _lines(file)
        except OSError as error:
            why = error.strerror or str(error)
            problems.append(StoreError("corpus", str(file), why, "check that it exists and can be read"))
        except StallkitError as error:
            problems.append(error)


def count(path: str | Path) -> int:
    """About how many cases a corpus holds, by its line ends; recordings and screens count as one each."""
    total = 0
    for file in _files(Path(path)):
        if file.suffix in (".cast", ".txt"):
            total += 1
        else:
            with file.open("rb") as content:
                total += sum(block.count(b"\n") for block in iter(partial(content.read, 1 << 20), b""))
    return total


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())


def _lines(file: Path) -> Iterator[Line]:
    with file.open("rb") as lines:
        for number, content in enumerate(lines, 1):
            if content.strip():
                yield Line(str(file), number, content)


def _screen(file: Path, root: Path, skipped: list[str], bare: bool) -> Iterator[Case]:
    """One screen file as a case.

    Its front block's state and kind are its label.  Without them, a pack's hit or known gap (``todo-``) is labelled by
    its signature.  A miss only gives a state that it is not.
    """
    words = file.stem.split("-")
    example = words[0] in ("hit", "todo") and words[1:2] != ["miss"]
    found = read_screen(file)
    ensure_closed(found, str(file))
    if "state" in found.front:
        label = _front_label(found, file)
    elif example and (signatures := file.parent.parent.parent / "signatures.toml").is_file():
        label = _signature_label(signatures, file)
    elif bare:
        label = Label(State.UNKNOWN)
    elif file == root and words[0] not in ("miss", "todo"):
        why = "it has no label: its front block has no state"
        raise StoreError("screen", str(file), why, 'write state = "..." between lines of ---')
    else:
        skipped.append(str(file))
        return
    id = file.name if file == root else file.relative_to(root).as_posix()
    yield Case(id, str(found.front.get("program", "")), found.snapshot(target=id), label)


def _front_label(found: ScreenFile, file: Path) -> Label:
    state, kind = found.front["state"], found.front.get("kind")
    for word, known, key in ((state, TRUE_STATES, "state"), (kind, tuple(Kind), "kind")):
        if word is not None and word not in known:
            raise StoreError("screen", f"{file} ({key})", f"{word!r} is unknown", f"use {', '.join(known)}")
    return Label(State(state), Kind(kind) if kind and state == State.WAITING else None)


def _signature_label(signatures: Path, file: Path) -> Label:
    try:
        pack = _pack(signatures)
    except PackError as error:
        raise StoreError("screen", str(file), f"its pack cannot be read: {error}", "correct the pack") from error
    one = next((one for one in pack.signatures if one.id == file.parent.name), None)
    if one is None:
        known: Sequence[str] = [one.id for one in pack.signatures]
        raise StoreError("screen", str(file), f"no signature {file.parent.name!r}", f"use one of {', '.join(known)}")
    return Label(one.state, one.kind)


_pack = cache(read_pack)
