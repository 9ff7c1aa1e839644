"""The subject of lint: a pack, the place of each part in its file, its screens, and the other packs."""

from __future__ import annotations

from functools import cached_property
from importlib.resources.abc import Traversable
from typing import Collection, Iterator, Literal, Sequence

from attrs import define, evolve, field

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.errors import PackFormatError
from stallkit.testing.example import Example, Place, entries, inline
from stallkit.toml_file import Lines
from stallkit_lab.lint.findings import CODES, Finding, Level

Role = Literal["all_of", "none_of"]
ROLES: tuple[Role, Role] = ("all_of", "none_of")


@define(slots=False)
class Subject:
    """A pack to lint: `pack` holds the parts that could be read, `refused` the others.

    `path` is its file, or another name for it; `lines` and `rows` (each signature's place in the file) are empty for a
    pack without a file.  `unsure` are signatures with a missing part, so that their examples prove nothing.
    """

    pack: Pack
    path: str
    lines: Lines = field(factory=Lines)
    rows: dict[str, int] = field(factory=dict)
    screens: Traversable | None = None
    others: Sequence[Pack] = ()
    refused: tuple[Finding, ...] = ()
    unsure: Collection[str] = frozenset()

    def finding(
        self,
        code: str,
        message: str,
        signature: Signature | str = "",
        key: str = "",
        item: int | None = None,
        level: Level | None = None,
        file: str | None = None,
    ) -> Finding:
        """A finding on one key of a signature, or on one item (0-based) of its list; `file`: not of the pack file."""
        id = signature if isinstance(signature, str) else signature.id
        line = None
        if file is None and (not id or id in self.rows):
            table = ("signature", self.rows[id]) if id else ()
            line = self.lines.of(*table, *key.split("."), *([] if item is None else [item]))
        clause = f"{key}[{item + 1}]" if item is not None and key in ROLES else ""
        return Finding(
            code=code,
            level=level or CODES[code].level,
            message=message,
            pack=self.pack.name,
            file=file or self.path,
            line=line,
            signature=id,
            clause=clause,
        )

    def clauses(self) -> Iterator[tuple[Signature, Role, int, Clause]]:
        """Every clause, with its signature, role and place in the list."""
        for signature in self.pack.signatures:
            for role in ROLES:
                for item, clause in enumerate(getattr(signature, role)):
                    yield signature, role, item, clause

    @cached_property
    def examples(self) -> tuple[Example, ...]:
        """Every example of every signature: inline ones, and those of its files that can be read.

        Without those of unreadable signatures, which have no known requirements.
        """
        ids = {signature.id for signature in self.pack.signatures}
        return tuple(example for example, _ in self._files if example.signature in ids) + tuple(self._inline())

    @cached_property
    def misplaced(self) -> tuple[Finding, ...]:
        """A finding for each screen file that is not an example of any signature."""
        self._files  # noqa: B018  # it fills the list
        return tuple(self._misplaced)

    @cached_property
    def alone(self) -> Engine:
        """An engine of this pack."""
        return Engine([self.pack])

    @cached_property
    def together(self) -> Engine:
        """An engine of this pack among all the others."""
        return Engine([self.pack, *self.others]) if self.others else self.alone

    def _inline(self) -> Iterator[Example]:
        for signature in self.pack.signatures:
            yield from (place.read() for place in inline(signature))

    @cached_property
    def _files(self) -> list[tuple[Example, str]]:
        self._misplaced: list[Finding] = []
        found = []
        ids = {signature.id for signature in self.pack.signatures} | set(self.unsure) | set(self.rows)
        if self.screens is None or not self.screens.is_dir():
            return []
        for folder in entries(self.screens):
            if folder.name not in ids:
                why = "no signature has this id"
                self._misplaced.append(self.finding("SK405", f"screens/{folder.name}: {why}", file=str(folder)))
            elif not folder.is_dir():
                why = "a file in place of a signature's folder"
                self._misplaced.append(self.finding("SK405", f"screens/{folder.name}: {why}", file=str(folder)))
            else:
                for file in entries(folder):
                    example = self._example(folder.name, file)
                    if example is not None:
                        found.append((example, str(file)))
        return found

    def _example(self, id: str, file: Traversable) -> Example | None:
        place = Place(id, file.name, file=file)
        line = None
        if place.wanted is None:
            why = "its name begins with none of hit-, miss-, todo-"
        else:
            try:
                return place.read()
            except PackFormatError as error:
                line = error.line
                why = f"{error.key}: {error.why}" if error.key else error.why
            except OSError as error:
                why = f"it cannot be read: {error.strerror or error}"
        finding = self.finding("SK405", f"{id}/{file.name}: {why}", id, file=str(file))
        self._misplaced.append(evolve(finding, line=line))
        return None
