"""Findings as values: a rule, a clause, a line; the closed list of codes; and the subject that they are of.

The subject is a pack, the place of each part in its file, its screens, and the other packs.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator, Literal, Sequence

from attrs import define, evolve, field, frozen

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.errors import PackFormatError
from stallkit.testing.example import Example, Place, entries, inline
from stallkit.toml_file import Lines

_PAGE = "docs/lint.md"
_BRIEF = 60  # characters of a clause in a message, which also has its line


class Level(StrEnum):
    """How grave: an `error` makes a pack wrong or unsafe, a `warning` slow, brittle or hard to maintain."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class Code:
    """One rule: its code, how grave a breach is, the breach's name, and what to do about it."""

    id: str
    level: Level
    title: str
    todo: str

    @property
    def page(self) -> str:
        """The page that explains it, from the root of the repository."""
        anchor = re.sub(r"[^\w -]", "", f"{self.id} {self.title}".lower()).replace(" ", "-")
        return f"{_PAGE}#{anchor}"

    @property
    def explain(self) -> str:
        """The command that shows that section."""
        return f"stallkit pack lint --explain {self.id}"


def _codes(level: Level, *rows: tuple[str, str, str]) -> list[Code]:
    return [Code(id, level, title, todo) for id, title, todo in rows]


_ALL = [
    *_codes(
        Level.ERROR,
        ("SK001", "the pack does not load", "fix the installation or the file, then lint again"),
        ("SK002", "an unknown key or an invalid value", "correct the key or its value"),
        ("SK101", "a pattern does not compile", "correct it: patterns are read by regex"),
        ("SK103", "a pattern runs away", "anchor it, bound its repeats, make what they repeat exclude each other"),
        ("SK106", "a blank is needed where captures have none", "allow for its absence: ' ?$' or ' *$'"),
        ("SK107", "a chevron that may stand anywhere", "anchor it: ^\\s*\\?\\s.*[›❯▸▶]\\s*$ on the prompt line"),
        ("SK108", "keywords that a hit does not have", "add what the hit has, or leave them out: they are derived"),
        ("SK202", "a signature that is never reached", "put the narrow signature first, or narrow the other one"),
        ("SK203", "a hit that another signature takes", "put the narrow signature first, or narrow the other one"),
        ("SK204", "a signature that can never hold", "drop one of the two clauses"),
        ("SK206", "tried before what may be dismissed", "put it behind, or say first_because = why it comes first"),
        ("SK301", "a machine would answer what it must not", "leave the dismissal out"),
        ("SK302", "plain Enter where the default is No", "name the wanted answer in the keys, or leave them out"),
        ("SK303", "unknown keys", "use tmux's names (Enter, Escape, C-c), a bare word, or quoted text"),
        ("SK304", "keys for a dialog that is not described", "describe every row of it in dialog, and its edge"),
        ("SK305", "a hit that its dialog does not read", "correct the dialog, or the hit"),
        ("SK401", "no hit", "add a screen that it must match"),
        ("SK402", "no miss", "add a screen that only looks alike: answered, quoted, in a log"),
        ("SK404", "an example that is not met", "correct the clauses, or the example"),
        ("SK405", "a screen file out of place", "rename or correct it, or remove it"),
        (
            "SK408",
            "a hit that its own program cannot show",
            "name the program in foreground, or narrow what takes the hit",
        ),
    ),
    *_codes(
        Level.WARNING,
        ("SK104", "a pattern takes too long on a long text", "anchor it, or bound its repeats"),
        ("SK105", "nothing that must be on the screen", "add a literal or keywords, or look at the prompt line alone"),
        ("SK201", "a clause that another one implies", "drop it"),
        ("SK205", "a clause without use", "add a miss that needs it, or drop it"),
        ("SK403", "no source", "say which program, which version, and how it was captured"),
        ("SK406", "a form that one program alone shows", "capture another program, or give it to a program's pack"),
        (
            "SK407",
            "a form that is wrong on as many programs as it is right",
            "add a clause, and a miss for each of them",
        ),
    ),
]
CODES = {code.id: code for code in sorted(_ALL, key=lambda code: code.id)}


@frozen
class Finding:
    """One breach of one rule.

    `signature` and `clause` (``all_of[1]``, counted from 1) are empty if it is not of one; `line` is 1-based, None
    if the pack has no file.
    """

    code: str
    level: Level
    message: str
    pack: str
    file: str
    line: int | None = None
    signature: str = ""
    clause: str = ""

    @property
    def rule(self) -> Code:
        """The rule of its code."""
        return CODES[self.code]

    @property
    def place(self) -> str:
        """``file:line``, or the file alone."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def as_object(self) -> dict[str, Any]:
        """As ``stallkit pack lint --json`` prints it."""
        return {
            "code": self.code,
            "level": self.level,
            "title": self.rule.title,
            "pack": self.pack,
            "signature": self.signature or None,
            "clause": self.clause or None,
            "file": self.file,
            "line": self.line,
            "message": self.message,
            "todo": self.rule.todo,
            "page": self.rule.page,
            "explain": self.rule.explain,
        }


def brief(clause: Clause) -> str:
    """A clause in short."""
    text = str(clause)
    region = f" in {clause.where}"
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - len(region) - 4]} ...{region}"


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By file and line, each once."""
    return tuple(sorted(set(findings), key=lambda one: (one.file, one.line or 0, one.code, one.message)))


# --- what is said of each code ---


def section_of(code: str) -> str:
    """What a finding of this code means and what to do, in Markdown.  Raises ValueError for an unknown code.

    >>> section_of("sk105").splitlines()[0]
    '## SK105: nothing that must be on the screen'
    """
    code = code.upper()
    if code not in CODES:
        raise ValueError(f"there is no finding {code!r}: the codes are {', '.join(CODES)}")
    page: Traversable = resources.files("stallkit_lab") / "lint.md"
    if not page.is_file():
        page = Path(__file__).parents[5] / _PAGE
    start, end = f"## {code}: ", "\n## "
    return start + page.read_text(encoding="utf-8").partition(start)[2].partition(end)[0].rstrip("\n") + "\n"


# --- what is looked at ---

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
