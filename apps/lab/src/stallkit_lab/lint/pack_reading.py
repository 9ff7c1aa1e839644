"""A whole pack file read: what the reader of packs refuses becomes a finding, and the rest is kept.

The pack reader must stop at the first fault.  Here the part at fault is left out and the reader called again, so that
its rules stay the only ones.
"""

from __future__ import annotations

from importlib.resources.abc import Traversable
from typing import Any, Sequence

from stallkit.detect.signature import NEVER_PRESSED, Dismissal, Pack, Signature
from stallkit.errors import PackError, PackFormatError
from stallkit.packs import pack_file
from stallkit.toml_file import Lines, TomlError, TomlFile, parse_toml
from stallkit_lab.lint.findings import CODES, Finding
from stallkit_lab.lint.subject import ROLES, Subject

__all__ = ["read_subject"]


def read_subject(
    text: str, path: str, name: str, screens: Traversable | None = None, others: Sequence[Pack] = ()
) -> Subject:
    """The subject of lint, from a pack file's text; never raises for its content."""
    try:
        file = parse_toml(text, path)
    except TomlError as error:
        found = Finding("SK001", CODES["SK001"].level, f"it is not TOML: {error}", name, path, error.line)
        return Subject(Pack(name=name), path, refused=(found,))
    refused: list[Finding] = []
    unsure: set[str] = set()
    lines = file.lines
    try:
        pack = pack_file.parse_pack(text, path, name)
    except (PackError, RecursionError):
        partial = _PartialReader(file, name)
        pack, refused, unsure, lines = partial.pack(file.data), partial.found, partial.unsure, partial.lines
    rows: dict[str, int] = {}
    for number, row in enumerate(_rows(file.data)):
        if isinstance(row, dict) and isinstance(row.get("id"), str):
            rows.setdefault(row["id"], number)
    others = [other for other in others if other.name != pack.name]
    return Subject(pack, path, lines, rows, screens, others, tuple(refused), unsure)


def _rows(data: dict[str, Any]) -> list[Any]:
    rows = data.get("signature")
    return rows if isinstance(rows, list) else []


class _PartialReader:
    """Leaves out the parts that the pack reader refuses, and keeps a finding for each."""

    def __init__(self, file: TomlFile, name: str) -> None:
        self.path, self.name = file.path, name
        self.lines = Lines(dict(file.lines.at))  # without the items that are left out
        self.at = pack_file.Checker(file)
        self.found: list[Finding] = []
        self.unsure: set[str] = set()

    def pack(self, data: dict[str, Any]) -> Pack:
        if isinstance(data.get("name"), str):
            self.name = data["name"]
        rest = dict.fromkeys(pack_file.TOP & data.keys())
        if data.get("format") != pack_file.FORMAT:
            self.refuse("SK002", f"format = {data.get('format')!r}: not a format known here", "", "format")
        for key in data.keys() - pack_file.TOP:
            self.refuse("SK002", f"unknown key {key!r}", "", key)
        if not _rows(data):
            self.refuse("SK002", "no signatures", "", "signature")
        signatures: dict[str, Signature] = {}
        for number, row in enumerate(_rows(data)):
            signature = self._signature(row, number)
            if signature is not None and signature.id in signatures:
                self.refuse("SK002", f"the id {signature.id!r} occurs twice", signature.id, "id", number)
            elif signature is not None:
                signatures[signature.id] = signature
        for key in ("foreground", "priority", "name"):
            if key in rest:
                try:
                    self.at.known(None, {key: data[key]}, pack_file.TOP)
                    if key == "foreground":
                        self.at.strings(None, key, data[key])
                except PackFormatError as error:
                    self.refuse("SK002", error.why, "", key)
                    del rest[key]
        given = {key: data[key] for key in ("foreground", "priority") if key in rest}
        return Pack(name=self.name, signatures=signatures.values(), **given)

    def refuse(
        self, code: str, why: str, id: str, key: str, number: int | None = None, item: int | None = None
    ) -> None:
        table = () if number is None else ("signature", number)
        clause = f"{key}[{item + 1}]" if item is not None else ""
        line = self.lines.of(*table, *key.split("."), *([] if item is None else [item]))
        self.found.append(Finding(code, CODES[code].level, why, self.name, self.path, line, id, clause))

    def _signature(self, row: Any, number: int) -> Signature | None:
        if not isinstance(row, dict):
            self.refuse("SK002", "a signature that is not a table", "", "", number)
            return None
        id = row["id"] if isinstance(row.get("id"), str) else ""
        row = dict(row)
        for role in ROLES:
            if isinstance(row.get(role), list):
                row[role] = self._clauses(row[role], id, number, role)
                if role == "all_of" and not row[role]:
                    if not self.found or self.found[-1].signature != id:
                        self.refuse("SK002", "no clause: it would match every screen", id, role, number)
                    return None
        self._dismissal(row, id, number)
        while True:
            try:
                return pack_file.read_signature(row, number, self.at)
            except PackFormatError as error:
                key = error.key
                self.refuse("SK002", f"{key}: {error.why}" if key else error.why, id, key, number)
                unknown = [name for name in row if f"unknown key {name!r}" in error.why]
                self.unsure.add(id)
                drop = key if key in row else next(iter(unknown), "")
                if drop in ("", "id", "title", "state", "all_of", "kind"):  # without these there is no signature
                    return None
                del row[drop]

    def _clauses(self, rows: list[Any], id: str, number: int, role: str) -> list[Any]:
        kept: list[Any] = []
        lines: list[int | None] = []
        for item, row in enumerate(rows):
            try:
                pack_file.read_clause(row, number, role, self.at)
            except (PackFormatError, ValueError, TypeError) as error:
                why = getattr(error, "why", str(error))
                self.refuse("SK101" if "is not a pattern" in why else "SK002", why, id, role, number, item)
                self.unsure.add(id)
            else:
                kept.append(row)
                lines.append(self.lines.of("signature", number, role, item))
        self.lines.at.update({("signature", number, role, item): line for item, line in enumerate(lines) if line})
        return kept

    def _dismissal(self, row: dict[str, Any], id: str, number: int) -> None:
        dismissal = row.get("dismissal")
        if dismissal is None:
            return
        if row.get("kind") in tuple(NEVER_PRESSED):
            self.refuse("SK301", f"a machine never answers a {row['kind']}", id, "dismissal", number)
            del row["dismissal"]
            return
        keys = dismissal.get("keys") if isinstance(dismissal, dict) else None
        if isinstance(keys, str):
            try:
                Dismissal(keys=keys)
            except ValueError as error:
                self.refuse("SK303", str(error), id, "dismissal.keys", number)
                del row["dismissal"]
