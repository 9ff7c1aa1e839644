"""What the installed packs have seen: program by version by kind, with the date of the last capture.

It is read from the captured hits (``screens/<signature>/hit-*.txt``) alone, so a signature known from notes has no row.
Pure, but for reading the screens.
"""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable
from typing import Any, Iterable, Iterator, Sequence

from attrs import frozen

from stallkit.detect.signature import Pack, Signature
from stallkit_lab.evaluate.holdout import PackageDirs, hits

__all__ = ["Row", "as_markdown", "matrix"]

_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_HAND_MADE = re.compile(r"\bhand-?made\b|\bnotes\b", re.IGNORECASE)


@frozen(order=True)
class Row:
    """One prompt or state of one version of a program, and its signatures.

    `kind` is what it asks for, or its state where it asks for nothing; `keys` is empty where a person answers;
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
        """The row as ``stallkit matrix --json`` prints it."""
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
    """The rows as one table in Markdown."""
    lines = ["| program | version | asks for, or is | severity | keys | signatures | last seen |", "| --- " * 7 + "|"]
    for row in rows:
        keys = f"`{row.keys}`" if row.keys else ""
        names = ", ".join(f"`{name}`" for name in row.signatures)
        cells = (row.program, row.version, row.kind, row.severity, keys, names, row.seen)
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
