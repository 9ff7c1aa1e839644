"""``stallkit pack new``: a new pack's directory, from the template that the package carries.

The template is files that end in ``.tmpl``, those of every pack and those of a program's or an agent's; a name in them
is written ``$name``.  Copier could update a pack later on, but it takes twenty distributions and a git checkout to fill
in six names.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import tempfile
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Iterator, Sequence

import click
from attrs import asdict, frozen

from stallkit.cli.common import print_json
from stallkit.cli.output import say, shown
from stallkit.packs.pack_file import agent_schema, pack_schema
from stallkit.packs.registry import find
from stallkit.packs.screenfile import read_screen
from stallkit.word_tables import INTERPRETERS, RELAYS

_PREFIX = "stallkit-"
_SUFFIX = ".tmpl"
_PROJECT = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", re.IGNORECASE)  # PyPA's "valid non-normalized names"
_LONGEST = 40
_SIGNALS = '\n[project.entry-points."stallkit.signals"]\n$pack = "$module.session_file:SOURCE"\n'


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


def programs_of(named: Sequence[str], captures: Sequence[Path]) -> list[str]:
    """The processes that a pack is for: those named, and those in the foreground of captured screens.

    Interpreters and relays, which run any program, only if they are named.  Raises ValueError for an empty name, and
    for captures that name no other program; OSError and PackFormatError for one that cannot be read.
    """
    if "" in named:
        raise ValueError("--foreground is the name of a process, as `ps -o comm` prints it")
    shown = {str(read_screen(path).front.get("foreground", "")) for path in captures} - RELAYS - {""}
    found = sorted(name for name in shown if name.rstrip("0123456789.") not in INTERPRETERS)
    if captures and not found and not named:
        seen = ", ".join(sorted(shown)) or "none"
        raise ValueError(f"the captures name no program of its own (in the foreground: {seen}): give --foreground")
    return list(dict.fromkeys([*named, *found]))


def files(names: Names, programs: Sequence[str] = (), agent: bool = False) -> dict[str, str]:
    """The text of each file of a new pack, by its path in the directory; `programs` are those that it is for.

    `agent`: it is an agent's, and has an agent file and a source of signals as well.
    """
    given = asdict(names) | {
        "foreground": json.dumps([*programs] or [names.program], ensure_ascii=False),
        "stallkit": _bounds(version("stallkit")),
        "column": str(len(f"{names.program}: continue with production? [yes/no]: ")),
        "signals": Template(_SIGNALS).substitute(asdict(names)) if agent else "",
    }
    template = resources.files("stallkit_lab") / "template"
    made = {
        path.replace("__module__", names.module).removesuffix(_SUFFIX): Template(text).substitute(given)
        for part in ("common", "agent" if agent else "program")
        for path, text in _walk(template / part, "")
    }
    schemas = {"pack.schema.json": pack_schema()} | ({"agent.schema.json": agent_schema()} if agent else {})
    return {**made, **{path: json.dumps(schema, indent=1) + "\n" for path, schema in schemas.items()}}


def _bounds(version: str) -> str:
    """The versions that a pack of today works with: up to the next one that may change the format.

    >>> _bounds("0.1.0"), _bounds("2.3")
    ('>=0.1,<0.2', '>=2.3,<3')
    """
    major, minor = version.split(".")[:2]
    return f">={major}.{minor},<{f'0.{int(minor) + 1}' if major == '0' else int(major) + 1}"


def write(names: Names, directory: Path, programs: Sequence[str] = (), agent: bool = False) -> list[str]:
    """Write a new pack, as `files` has it, into a directory that does not exist yet; return its paths, sorted.

    It is written whole or not at all.  Raises FileExistsError if it exists already, another OSError if it cannot be
    written.
    """
    made = files(names, programs, agent)
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


# --- the command ---


@click.command("new", short_help="Make the folder of a new pack.")
@click.argument("name", metavar="NAME")
@click.argument("directory", metavar="[DIRECTORY]", required=False, type=click.Path(path_type=Path))
@click.option("--foreground", multiple=True, metavar="PROGRAM", help="A process it is for; may be repeated. [NAME]")
@click.option(
    "--from", "captures", multiple=True, metavar="SCREEN", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A captured screen: the pack is for the program in its foreground; may be repeated.",
)  # fmt: skip
@click.option("--agent", is_flag=True, help="It is a coding agent: with agent.toml and a source of signals.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/packs.md).")
def new_command(
    name: str,
    directory: Path | None,
    foreground: tuple[str, ...],
    captures: tuple[Path, ...],
    agent: bool,
    as_json: bool,
) -> None:
    """Make the directory of a new pack for the program NAME; it installs, and its tests and lint pass as it is.

    DIRECTORY is ./stallkit-NAME unless given, and must not exist.  How to fill in an agent's: docs/teach-an-agent.md.

    \b
    Exit codes: 0; 1 it cannot be written; 64 usage: an invalid or taken name.
    Example:    stallkit pack new acme
                stallkit pack new git --foreground git --foreground perl
                stallkit pack new --agent tinker
    """
    try:
        names = names_of(name)
        programs = programs_of(foreground, captures)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    taken = [one for one in find() if names.pack in (one.name, one.value.removeprefix("stallkit_"))]
    if taken:
        raise click.UsageError(f"a pack {names.pack} is installed already; choose another name")
    target = Path(names.distribution) if directory is None else directory
    try:
        written = write(names, target, programs, agent)
    except FileExistsError as error:
        raise click.UsageError(f"{target} exists already; name a directory that does not") from error
    if as_json:
        made = {
            "pack": names.pack,
            "distribution": names.distribution,
            "module": names.module,
            "directory": str(target),
        }
        print_json({"version": 1, **made, "foreground": programs or [names.program], "files": written})
        return
    place = shlex.quote(str(target))
    say(shown(target, f": pack {names.pack}, {len(written)} files"))
    say(shown(f"next: pip install -e {place}'[test]' && cd {place} && pytest && stallkit pack lint src/{names.module}"))
