"""A proposed signature, written into a pack's file and beside it as examples."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Iterator, Sequence

from attrs import frozen

from stallkit.core.redact import redact
from stallkit.core.screen import Screen
from stallkit.core.signature import Clause, Kind, Signature, State
from stallkit.core.text import cells
from stallkit.errors import StallkitError
from stallkit.lab import corpus
from stallkit.packs.file import parse_pack
from stallkit.packs.screenfile import parse_screen, read_screen
from stallkit.testing import examples
from stallkit.testing.golden import golden

__all__ = ["Capture", "Written", "find_pack", "others_in", "read_capture", "write"]

_FILE = "signatures.toml"


@frozen
class Capture:
    """A captured screen, masked, and the text that it is kept as."""

    name: str
    text: str
    screen: Screen


@frozen
class Written:
    """What was added to a pack: the signature's text, and the files in order."""

    signature: str
    files: tuple[Path, ...]


def find_pack(directory: Path) -> Path:
    """The folder that holds the pack's file: the directory itself, or the one package in its ``src``.

    Raises ValueError where there is none, or more than one.
    """
    found = [directory / _FILE] if (directory / _FILE).is_file() else sorted(directory.glob(f"src/*/{_FILE}"))
    if len(found) != 1:
        raise ValueError(f"{directory} holds {len(found) or 'no'} {_FILE}; name the folder of one")
    return found[0].parent


def read_capture(path: Path) -> Capture:
    """A screen file, its credentials masked.  Raises OSError and PackFormatError."""
    text = golden(redact(path.read_bytes().decode("utf-8", "replace")))
    return Capture(path.stem, text, parse_screen(text, str(path)).screen)


def others_in(folder: Path, paths: Sequence[Path], state: State, problems: list[StallkitError]) -> Iterator[Screen]:
    """What a new signature must be told from: all examples of a pack, the given screens, and cases in other states."""
    yield from (example.screen for example in examples(folder) if not example.todo)
    for path in paths:
        if path.suffix == ".txt" and path.is_file():
            yield read_screen(path).screen
        else:
            yield from (case.snapshot.screen for case in corpus.load(path, problems) if case.label.state != state)


def write(folder: Path, signature: Signature, captures: Sequence[Capture]) -> Written:
    """Add the signature to the end of the pack's file, its captures as hits, and one miss made of the first.

    Raises PackFormatError where the file would not be read any more, ValueError where the id is taken;
    nothing is written then.
    """
    path = folder / _FILE
    before = path.read_text(encoding="utf-8")
    if signature.id in {one.id for one in parse_pack(before, str(path), folder.name).signatures}:
        raise ValueError(f"{path} has a signature {signature.id!r} already; choose another id")
    screens = folder / "screens" / signature.id
    if screens.exists():
        raise ValueError(f"{screens} is there already; choose another id")
    told = as_toml(signature)
    after = before.rstrip("\n") + "\n\n" + told
    parse_pack(after, str(path), folder.name)
    made = {screens / f"hit-{_file_name(one.name)}-{number}.txt": one.text for number, one in enumerate(captures, 1)}
    made[screens / "miss-made.txt"] = _dead(captures[0].screen, signature)
    screens.mkdir(parents=True)
    for file, text in made.items():
        file.write_text(text, encoding="utf-8")
    path.write_text(after, encoding="utf-8")
    return Written(told, (path, *made))


def as_toml(signature: Signature) -> str:
    """The signature as a table of a pack's file, without examples.  A machine invents no keys."""
    rows: list[tuple[str, str]] = [("id", signature.id), ("title", signature.title), ("state", signature.state)]
    if signature.kind is not None:
        rows.append(("kind", signature.kind))
    rows.append(("severity", "high"))
    lines = [f"{key} = {_string(str(value))}" for key, value in rows]
    clauses = "".join(f"    {_table(clause)},\n" for clause in signature.all_of)
    lines += [f"all_of = [\n{clauses}]", f"source = {_string(signature.source)}"]
    return "[[signature]]\n" + "\n".join(lines) + "\n"


def _table(clause: Clause) -> str:
    key = "text" if clause.text is not None else "pattern"
    return f"{{ {key} = {_string(clause.source)}, where = {_string(clause.where)} }}"


def _string(text: str) -> str:
    """A TOML string: patterns are easier to read without doubled backslashes."""
    if "\\" in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)  # TOML takes JSON's escapes, but for surrogate pairs


def _dead(screen: Screen, signature: Signature) -> str:
    """The same screen once it is only mentioned: answered where it was a line, quoted where it was a dialog."""
    lines = [line.rstrip() for line in screen.lines]
    while lines and not lines[-1]:
        lines.pop()
    if any(clause.where == "prompt_line" for clause in signature.all_of):
        prompt = screen.prompt_line
        answer = "y" if signature.kind is Kind.CONFIRM else "answer"
        lines = [*lines[: prompt.row], f"{prompt.text.rstrip()} {answer}", "It went on.", ""]
    else:
        lines = [*(f'The screen read "{line.strip()}".' for line in lines if line.strip()), ""]
    front: dict[str, Any] = {"cursor": [0, len(lines) - 1], "cursor_visible": True}
    if screen.size is not None:
        front["size"] = [max(screen.size.columns, *map(cells, lines)), max(screen.size.rows, len(lines))]
    front["note"] = "made of the first hit: answered, or quoted"
    block = "".join(f"{key} = {json.dumps(value)}\n" for key, value in front.items())
    return f"---\n{block}---\n" + "\n".join(lines) + "\n"


def _file_name(stem: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    return plain.removeprefix("hit-") or "screen"
