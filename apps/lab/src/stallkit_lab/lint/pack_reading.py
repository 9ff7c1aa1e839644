"""A whole pack file read: what the reader of packs refuses becomes a finding, and the rest is kept.

The pack reader must stop at the first fault.  Here the part at fault is left out and the reader called again, so that
its rules stay the only ones.
"""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable
from typing import Any, Iterable, Iterator, Sequence

from attrs import frozen

from stallkit.detect.signature import NEVER_PRESSED, Dismissal, Pack, Signature
from stallkit.errors import PackError, PackFormatError
from stallkit.packs import pack_file
from stallkit.toml_file import Lines, TomlError, TomlFile, parse_toml
from stallkit_lab.lint.findings import CODES, ROLES, Finding, Subject

# --- comments in a pack file that take findings out ---

_COMMENT = re.compile(r"#[ ]*lint:[ ]*ignore\b[ ]*(?P<codes>[^:#]*)(?::[ ]*(?P<why>.*))?$")
_CODE = re.compile(r"[^\s,]+")
_STAYS = re.compile(r"SK[03]")  # what does not load, and what a machine would press


@frozen
class Comment:
    """One comment: its line (1-based), the codes that it names, and the line that it is about."""

    line: int
    codes: tuple[str, ...]
    about: int
    fault: str = ""


def comments(text: str) -> Iterator[Comment]:
    """The comments of a pack file.

    >>> [(one.about, one.codes) for one in comments("# lint: ignore SK105: short\\n[[signature]]")]
    [(2, ('SK105',))]
    """
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        found = _COMMENT.search(line)
        if found is None:
            continue
        codes = tuple(_CODE.findall(found["codes"]))
        alone = line.lstrip().startswith("#")
        below = (below for below, other in enumerate(lines[number:], number + 1) if not other.lstrip().startswith("#"))
        yield Comment(number, codes, next(below, number) if alone else number, _fault(codes, found["why"] or ""))


def _fault(codes: tuple[str, ...], why: str) -> str:
    unknown = next((code for code in codes if code not in CODES), None)
    if not codes or unknown:
        return f"lint: ignore {unknown}: there is no such code" if unknown else "lint: ignore names no code"
    if stays := next((code for code in codes if _STAYS.match(code)), None):
        return f"lint: ignore {stays}: that finding cannot be taken out"
    return "" if why.strip() else f"lint: ignore {', '.join(codes)}: say why behind a colon"


def sorted_out(findings: Iterable[Finding], text: str, subject: Subject) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The findings that stay, with those on comments that are wrong; and a note for each comment without use."""
    given = list(comments(text))
    stays = [
        Finding("SK002", CODES["SK002"].level, one.fault, subject.pack.name, subject.path, one.line)
        for one in given
        if one.fault
    ]
    used: set[tuple[int, str]] = set()
    for finding in findings:
        lines = {finding.line} if finding.file == subject.path else set()
        if finding.signature in subject.rows:
            lines.add(subject.lines.of("signature", subject.rows[finding.signature]))
        hits = [one for one in given if not one.fault and finding.code in one.codes and one.about in lines]
        used |= {(one.line, finding.code) for one in hits}
        if not hits:
            stays.append(finding)
    idle = [(one, code) for one in given if not one.fault for code in one.codes if (one.line, code) not in used]
    notes = tuple(f"{subject.path}:{one.line}: lint: ignore {code} is without use: remove it" for one, code in idle)
    return tuple(stays), notes


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
