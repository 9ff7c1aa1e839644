"""A pack file read to its end: what the reader of packs refuses becomes a finding, and the rest is kept.

The pack reader stops at the first fault, as it must.  Here the part at fault is left out and the reader asked again, so
that the rules stay the reader's own.
"""

from __future__ import annotations

import re
import tomllib
import warnings
from importlib.resources.abc import Traversable
from typing import Any, Sequence

from stallkit.core.signature import NEVER_PRESSED, Clause, Dismissal, Pack, Signature
from stallkit.errors import PackError, PackFormatError
from stallkit.lab.lint.findings import CODES, Finding
from stallkit.lab.lint.positions import Lines, Positions, positions
from stallkit.lab.lint.subject import ROLES, Subject
from stallkit.packs import file as reader

__all__ = ["read_subject"]

_NAMELESS = Pack(name="unknown")


def read_subject(
    text: str, path: str, name: str, screens: Traversable | None = None, others: Sequence[Pack] = ()
) -> Subject:
    """What lint looks at, from a pack file's text; never raises for what is in it."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Subject(Pack(name=name), path, refused=(_unreadable(error, text, path, name),))
    lines = positions(text)
    refused: list[Finding] = []
    unsure: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of `re`: a rule of its own says it
        try:
            pack = reader.parse_pack(text, path, name)
        except (PackError, RecursionError):
            pack, refused, unsure = _Mender(text, path, name, lines).pack(data)
    places: dict[str, Lines] = {}
    for row, where in zip(_rows(data), lines.rows, strict=False):
        if isinstance(row, dict) and isinstance(row.get("id"), str):
            places.setdefault(row["id"], where)
    others = [other for other in others if other.name != pack.name]
    return Subject(pack, path, places, lines, screens, others, tuple(refused), unsure)


def _unreadable(error: Exception, text: str, path: str, name: str) -> Finding:
    at = re.search(r"at line (\d+)", str(error))
    line = int(at[1]) if at else text.count("\n") + 1
    return Finding("SK001", CODES["SK001"].level, f"it is no TOML: {error}", name, path, line)


def _rows(data: dict[str, Any]) -> list[Any]:
    rows = data.get("signature")
    return rows if isinstance(rows, list) else []


class _Mender:
    """Leaves out what the reader refuses, part by part, and keeps a finding for each."""

    def __init__(self, text: str, path: str, name: str, lines: Positions) -> None:
        self.path, self.name, self.lines = path, name, lines
        self.at = reader.Place(path, text)
        self.found: list[Finding] = []
        self.unsure: set[str] = set()

    def pack(self, data: dict[str, Any]) -> tuple[Pack, list[Finding], set[str]]:
        if isinstance(data.get("name"), str):
            self.name = data["name"]
        rest = dict.fromkeys(reader.TOP & data.keys())
        if data.get("format") != reader.FORMAT:
            self.refuse("SK002", f"format = {data.get('format')!r}: not a format known here", "", "format")
        for key in data.keys() - reader.TOP:
            self.refuse("SK002", f"unknown key {key!r}", "", key)
        if not _rows(data):
            self.refuse("SK002", "no signatures", "", "signature")
        signatures: dict[str, Signature] = {}
        for number, row in enumerate(_rows(data)):
            signature = self._signature(row, number)
            if signature is not None and signature.id in signatures:
                self.refuse("SK002", f"the id {signature.id!r} stands twice", signature.id, "id", number)
            elif signature is not None:
                signatures[signature.id] = signature
        for key in ("foreground", "priority", "name"):
            if key in rest:
                try:
                    self.at.known(None, {key: data[key]}, reader.TOP)
                    if key == "foreground":
                        self.at.strings(None, key, data[key])
                except PackFormatError as error:
                    self.refuse("SK002", error.why, "", key)
                    del rest[key]
        given = {key: data[key] for key in ("foreground", "priority") if key in rest}
        return Pack(name=self.name, signatures=signatures.values(), **given), self.found, self.unsure

    def refuse(
        self, code: str, why: str, id: str, key: str, number: int | None = None, item: int | None = None
    ) -> None:
        rows = self.lines.rows
        where = self.lines.top if number is None else rows[number] if number < len(rows) else None
        clause = f"{key}[{item + 1}]" if item is not None else ""
        line = where.of(key, item) if where else None
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
                return reader.read_signature(row, number, self.at)
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
        places: list[int] = self.lines.rows[number].items.get(role, []) if number < len(self.lines.rows) else []
        kept_places = []
        for item, row in enumerate(rows):
            try:
                clause: Clause = reader.read_clause(row, number, role, self.at)
            except (PackFormatError, ValueError, TypeError) as error:
                why = getattr(error, "why", str(error))
                self.refuse("SK101" if "is not a pattern" in why else "SK002", why, id, role, number, item)
                self.unsure.add(id)
            else:
                del clause
                kept.append(row)
                kept_places += places[item : item + 1]
        if places:
            self.lines.rows[number].items[role] = kept_places
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
                key = "dismissal.keys" if self._has_line(number, "dismissal.keys") else "dismissal"
                self.refuse("SK303", str(error), id, key, number)
                del row["dismissal"]

    def _has_line(self, number: int, key: str) -> bool:
        return number < len(self.lines.rows) and key in self.lines.rows[number].keys
