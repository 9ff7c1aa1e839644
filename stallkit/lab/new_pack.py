"""A new pack's directory, from the template that the package carries.

The template is a folder of files that end in ``.tmpl``; a name in it is written ``$name``.  Copier could update a pack
later on, but it takes twenty distributions and a git checkout to fill in six names.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Iterator

from attrs import asdict, frozen

__all__ = ["Names", "files", "names_of", "write"]

_PREFIX = "stallkit-"
_SUFFIX = ".tmpl"
_PROJECT = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", re.IGNORECASE)  # PyPA's "valid non-normalized names"
_LONGEST = 40


@frozen
class Names:
    """The names of a new pack and its parts."""

    distribution: str
    module: str
    pack: str
    program: str


def names_of(name: str) -> Names:
    """The names of a pack's parts, from the program's name, with or without ``stallkit-`` before it.

    Raises ValueError for an invalid name of a distribution.

    >>> names_of("Acme.Deploy").module
    'stallkit_acme_deploy'
    """
    if not _PROJECT.fullmatch(name):
        raise ValueError(f"{name!r} is not a name for a distribution: use letters, digits, and - _ . inside")
    program = re.sub(r"[-_.]+", "-", name).lower()  # the normalised form
    program = program.removeprefix(_PREFIX)
    if program == _PREFIX.strip("-") or not program[0].isalpha() or len(program) > _LONGEST:
        raise ValueError(f"{name!r} is not a name for a pack: begin it with a letter, at most {_LONGEST} characters")
    pack = program.replace("-", "_")
    return Names(_PREFIX + program, f"stallkit_{pack}", pack, program)


def files(names: Names) -> dict[str, str]:
    """The text of each file of a new pack, by its path in the directory."""
    given = asdict(names) | {
        "stallkit": ".".join(version("stallkit").split(".")[:2]),
        "column": str(len(f"{names.program}: continue with production? [yes/no]: ")),
    }
    return {
        path.replace("__module__", names.module).removesuffix(_SUFFIX): Template(text).substitute(given)
        for path, text in _walk(resources.files("stallkit.lab") / "template", "")
    }


def write(names: Names, directory: Path) -> list[str]:
    """Write a new pack into a directory that does not exist yet, whole or not at all; return its paths, sorted.

    Raises FileExistsError where it exists already, another OSError where it cannot be written.
    """
    made = files(names)
    if directory.exists() or directory.is_symlink():
        raise FileExistsError(f"{directory} exists already")
    if directory.parent.exists() and not directory.parent.is_dir():  # mkdir calls that FileExistsError
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory.parent))
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{directory.name}-") as draft:
        root = Path(draft) / "pack"
        for path, text in made.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        root.rename(directory)
    return sorted(made)


def _walk(folder: Traversable, under: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        path = f"{under}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        elif entry.name.endswith(_SUFFIX):
            yield path, entry.read_text(encoding="utf-8")
