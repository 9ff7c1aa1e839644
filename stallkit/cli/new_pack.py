"""``stallkit new-pack``: the directory of a new pack."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from stallkit.cli.common import print_json, shown
from stallkit.lab.new_pack import names_of, write
from stallkit.packs.registry import find

__all__ = ["command"]


@click.command("new-pack")
@click.argument("name", metavar="NAME")
@click.argument("directory", metavar="[DIRECTORY]", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/packs.md).")
def command(name: str, directory: Path | None, as_json: bool) -> None:
    """Make the directory of a new pack, NAME being the program whose prompts it knows: it installs, tests and lints
    green as it stands.

    DIRECTORY is ./stallkit-NAME unless given, and must not exist.

    \b
    Exit codes: 0; 1 it cannot be written; 64 usage: no name of a pack, or something has it already.
    Example:    stallkit new-pack acme
    """
    try:
        names = names_of(name)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    taken = [one for one in find() if names.pack in (one.name, one.value.removeprefix("stallkit_"))]
    if taken:
        raise click.UsageError(f"a pack {names.pack} is installed already; choose another name")
    target = Path(names.distribution) if directory is None else directory
    try:
        written = write(names, target)
    except FileExistsError as error:
        raise click.UsageError(f"{target} exists already; name a directory that does not") from error
    if as_json:
        print_json(
            {
                "version": 1,
                "pack": names.pack,
                "distribution": names.distribution,
                "module": names.module,
                "directory": str(target),
                "files": written,
            }
        )
        return
    place = shlex.quote(str(target))
    click.echo(shown(f"{target}: pack {names.pack}, {len(written)} files"))
    click.echo(
        shown(f"next: pip install -e {place}'[test]' && cd {place} && pytest && stallkit lint src/{names.module}")
    )
