"""``stallkit pack remove``: a signature is taken out of a pack's file, with its examples."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
from attrs import frozen

from stallkit.cli.common import SIGNATURE
from stallkit.cli.output import Exit, may_ask, no_input_option, say, shown
from stallkit.errors import UnknownName
from stallkit.packs.pack_file import parse_pack
from stallkit.packs.registry import installed
from stallkit.toml_file import parse_toml
from stallkit_lab.add_signature import PACK_FILE, find_pack, rewrite
from stallkit_lab.lint.runner import home_of
from stallkit_lab.messages import number


@frozen
class Removal:
    """What goes: the signature's rows in the pack's file, and its files of screens; `after` is the text that stays."""

    file: Path
    rows: str
    screens: tuple[Path, ...]
    after: str


def removal(folder: Path, id: str) -> Removal:
    """What removing a signature takes out of the pack in a folder; nothing is changed.

    Raises UnknownName if the pack has no such signature, ValueError if it is the only one, PackError and OSError.
    """
    file = folder / PACK_FILE
    text = file.read_bytes().decode("utf-8")
    ids = [one.id for one in parse_pack(text, str(file), folder.name).signatures]
    if id not in ids:
        raise UnknownName("signature", id, f"{file} does not have it", f"it has {', '.join(ids)}")
    if len(ids) == 1:
        raise ValueError(f"{id} is the only signature of {file}: a pack has one at least; delete the pack instead")
    first, last = _rows_of(text, ids.index(id))
    lines = text.splitlines(keepends=True)
    after = "".join(lines[:first] + lines[last:]).rstrip("\r\n") + ("\r\n" if "\r\n" in text else "\n")
    left = [one.id for one in parse_pack(after, str(file), folder.name).signatures]
    if left != [one for one in ids if one != id]:
        raise ValueError(f"{file}: the rows of {id} cannot be told from those around it: take it out by hand")
    screens = folder / "screens" / id
    found = sorted(path for path in screens.rglob("*") if path.is_file()) if screens.is_dir() else []
    return Removal(file, "".join(lines[first:last]).strip("\r\n"), tuple(found), after)


def remove(found: Removal, id: str) -> None:
    """Take it out: the pack's file is replaced at once, then the folder of its screens is removed.  Raises OSError."""
    rewrite(found.file, found.after)
    screens = found.file.parent / "screens" / id
    if screens.is_symlink():
        screens.unlink()
    elif screens.is_dir():
        shutil.rmtree(screens)


def _rows_of(text: str, place: int) -> tuple[int, int]:
    """Where a signature's rows begin and end, 0-based: with the comments right above it, without those of the next."""
    at = parse_toml(text, PACK_FILE).lines.at
    starts = sorted({line - 1 for keys, line in at.items() if len(keys) == 2 and keys[0] == "signature"})
    tops = [line - 1 for keys, line in at.items() if len(keys) == 1 and keys[0] != "signature"]
    lines = text.splitlines()
    first = at["signature", place] - 1
    last = min((row for row in (*starts, *tops) if row > first), default=len(lines))
    return _above(lines, first), _above(lines, last) if last < len(lines) else last


def _above(lines: list[str], row: int) -> int:
    while row > 0 and lines[row - 1].lstrip().startswith("#"):
        row -= 1
    return row


# --- the command ---


@click.command("remove", short_help="Take a signature out of a pack, with its examples.")
@click.argument("name", metavar="PACK:ID", type=SIGNATURE)
@click.option("--yes", is_flag=True, help="Do not ask.")
@no_input_option
@click.pass_context
def remove_command(ctx: click.Context, name: str, yes: bool) -> None:
    """Take a signature out of a pack, with its examples, after showing what goes.

    PACK is the pack's directory, or the name of a pack that is installed from its directory (pip install -e).

    \b
    Exit codes: 0 removed; 1 it cannot be removed; 2 nobody said yes, and nothing was
                removed; 64 usage.
    Example:    stallkit pack remove stallkit-acme:asks_to_continue
    """
    pack, _, id = name.rpartition(":")
    try:
        found = removal(_folder(pack), id)
        for line in found.rows.splitlines():
            click.echo(shown(line))
        for path in found.screens:
            click.echo(shown(f"with {path}"))
        if not yes and not (may_ask() and click.confirm(shown(f"Remove {id} from {found.file}?"))):
            say("nothing was removed; --yes removes it")
            ctx.exit(Exit.STALLED)
        remove(found, id)
    except (ValueError, OSError) as error:
        raise click.ClickException(shown(getattr(error, "strerror", None) or str(error))) from error
    say(shown(f"removed {id} from {found.file}, with {number(len(found.screens), 'screen')}"))


def _folder(pack: str) -> Path:
    if not pack:
        raise click.UsageError("name the pack and the signature: PACK:ID")
    if Path(pack).is_dir():
        return find_pack(Path(pack))
    file = next((home_of(one) for one in installed().packs if one.name == pack), None)
    if not isinstance(file, Path):
        raise UnknownName("pack", pack, "there is no such directory or installed pack", "name the pack's directory")
    if {"site-packages", "dist-packages"} & set(file.parts):
        raise ValueError(f"{file} belongs to pip, which would bring it back: name the directory of the pack's source")
    return file.parent
