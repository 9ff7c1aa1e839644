"""``stallkit pack matrix``: what the installed packs have seen: program by version by kind, with the date of the last
capture.

It is read from the captured hits (``screens/<signature>/hit-*.txt``) alone, so a signature known from notes has no row.
"""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable
from itertools import groupby
from typing import Any, Iterable, Iterator, Sequence

import click
from attrs import frozen
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import print_json
from stallkit.cli.output import page_table, shown, wide_console
from stallkit.detect.signature import Pack, Signature
from stallkit.errors import UnknownName
from stallkit.packs.registry import installed_engine
from stallkit_lab.evaluate.holdout import PackageDirs, hits, installed_package_dirs

_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_HAND_MADE = re.compile(r"\bhand-?made\b|\bnotes\b", re.IGNORECASE)


@frozen(order=True)
class Row:
    """One prompt or state of one version of a program, and its signatures.

    `kind` is what it asks for, or its state if it asks for nothing; `keys` is empty if a person answers;
    `seen` is the last day or month, "" where no capture gives one.
    """

    program: str
    version: str
    kind: str
    severity: str
    keys: str
    signatures: tuple[str, ...]
    seen: str

    def as_object(self) -> dict[str, Any]:
        """The row as ``stallkit pack matrix --json`` prints it."""
        return {
            "program": self.program,
            "version": self.version,
            "kind": self.kind,
            "severity": self.severity or None,
            "keys": self.keys or None,
            "signatures": list(self.signatures),
            "seen": self.seen or None,
        }


def matrix(packs: Iterable[Pack], package_dirs: PackageDirs) -> list[Row]:
    """The rows of all packs, by program, version and kind.

    `package_dirs` are the folders of each distribution's packages, as `holdout.installed_package_dirs` finds them.
    """
    found: dict[tuple[str, str, str, str, str], tuple[set[str], str]] = {}
    for pack in packs:
        for signature in pack.signatures:
            for home in package_dirs.get(pack.distribution, ()):
                for program, version, seen in _captures(home / "screens" / signature.id):
                    kind, severity, keys = _said(signature)
                    key = (program, version, kind, severity, keys)
                    names, latest = found.get(key, (set(), ""))
                    found[key] = (names | {f"{pack.name}:{signature.id}"}, max(latest, seen))
    rows = [Row(*key, signatures=tuple(sorted(names)), seen=seen) for key, (names, seen) in found.items()]
    return sorted(rows, key=lambda row: (row.program.lower(), _natural(row.version), row.kind, row))


def as_markdown(rows: Sequence[Row]) -> str:
    """A table in Markdown with a row for each program; bold is what a policy can press a key for."""
    lines = ["| program | versions | asks for, or is |", "| --- " * 3 + "|"]
    for program, own in groupby(rows, lambda row: row.program):
        of = list(own)
        versions = list(dict.fromkeys(row.version for row in of if row.version))
        span = " to ".join(dict.fromkeys((versions[0], versions[-1]))) if versions else ""
        pressed = {row.kind for row in of if row.keys}
        kinds = ", ".join(f"**{kind}**" if kind in pressed else kind for kind in sorted({row.kind for row in of}))
        cells = (program, span, kinds)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _said(signature: Signature) -> tuple[str, str, str]:
    if signature.kind is None:
        return str(signature.state), "", ""
    return str(signature.kind), str(signature.severity), str(signature.dismissal.keys) if signature.dismissal else ""


def _captures(folder: Traversable) -> Iterator[tuple[str, str, str]]:
    """Program, version and date of each captured hit; a hand-made one does not count."""
    for front in hits(folder):
        captured = str(front.get("captured", ""))
        if front.get("program") and not _HAND_MADE.search(f"{captured} {front.get('note', '')}"):
            date = _DATE.search(captured)
            yield str(front["program"]), str(front.get("version", "")), date[0] if date else ""


def _natural(version: str) -> list[tuple[int, str]]:
    """Sorts 2.9 before 2.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.findall(r"\d+|\D+", version)]


# --- the command ---


@click.command("matrix", short_help="Show what the packs recognise, program by program.")
@click.argument("programs", metavar="[PROGRAM...]", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", is_flag=True, help="Print a row for each program, for a document.")
def matrix_command(programs: tuple[str, ...], as_json: bool, markdown: bool) -> None:
    """Show what the installed packs recognise: program by version by kind, and when it was last captured.

    PROGRAM: show those only.  Read from the packs' captured hits.

    \b
    Exit codes: 0; 1 no pack is installed; 64 no such program was seen.
    Example:    stallkit pack matrix claude-code
    """
    rows = [
        row
        for row in matrix(installed_engine().packs, installed_package_dirs())
        if not programs or row.program in programs
    ]
    if not rows:
        asked = ", ".join(programs) or "any program"
        raise UnknownName(
            "matrix", asked, "no installed pack has a capture of it", "stallkit pack matrix lists those that have one"
        )
    if as_json:
        print_json({"version": 1, "rows": [row.as_object() for row in rows]})
    elif markdown:
        click.echo(as_markdown(rows), nl=False)
    else:
        _print(rows)


def _as_columns(rows: Sequence[Row]) -> Iterator[str]:
    """A whole row each, however long its last column is."""
    table: list[tuple[str, ...]] = [("program", "version", "asks or is", "severity", "keys", "last seen", "signatures")]
    for row in rows:
        cells = (row.program, row.version, row.kind, row.severity, row.keys, row.seen, " ".join(row.signatures))
        table.append(tuple(map(shown, cells)))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _print(rows: Sequence[Row]) -> None:
    """A heading for each version of each program, with its rows below; in a pipe a whole row each."""
    made = wide_console()
    if not made.is_terminal:
        for line in _as_columns(rows):
            click.echo(line)
        return
    parts: list[object] = []
    for (program, version), seen in groupby(rows, lambda row: (row.program, row.version)):
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for width in (14, 8, 16, 10):
            table.add_column(min_width=width, overflow="fold")
        for row in seen:
            table.add_row(*(f"  {shown(row.kind)}", *map(shown, (row.severity, row.keys, row.seen))))
        parts += [Text(f"{shown(program)} {shown(version)}".rstrip(), "bold"), table]
    page_table(made, *parts)
