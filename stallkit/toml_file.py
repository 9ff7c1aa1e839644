"""TOML files: read, structured strictly, and the line in which each of their keys stands.

`tomllib` gives values and no lines, so a file in which something is wrong is walked once more for its structure alone.
cattrs is imported where a table is structured: a pack is read without it, in fewer milliseconds than its import takes.
"""

from __future__ import annotations

import re
import tomllib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar, get_args, get_origin

from attrs import Factory, field, fields, frozen

from stallkit.errors import Portable

if TYPE_CHECKING:
    import cattrs

__all__ = ["Keys", "Lines", "TomlError", "TomlFile", "parse_toml", "read_toml", "structured"]

Keys = tuple[str | int, ...]  # the way to a value: the names of tables and keys, and places (0-based) in lists
_T = TypeVar("_T")
_TOKEN = re.compile(
    r"""
    (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')
    |(?P<comment>\#[^\n]*)
    |(?P<newline>\n)
    |(?P<blank>[ \t\r]+)
    |(?P<mark>[\[\]{}=,.])
    |(?P<word>[^\s\[\]{}=,.\#"']+)
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class TomlError(Portable, ValueError):
    """A file is not TOML, or says what does not fit; `line` is 1-based, None where it is unknown."""

    def __init__(self, why: str, line: int | None) -> None:
        self.why, self.line = why, line
        super().__init__(why)


@frozen
class Lines:
    """The 1-based lines of a file's tables, keys and items, or of those under one table; none where `at` is empty."""

    at: dict[Keys, int] = Factory(dict)
    base: Keys = ()

    def of(self, *keys: str | int) -> int | None:
        """The line of a value, or of the nearest table or list around it that is known."""
        way = (*self.base, *keys)
        known = next((way[:end] for end in range(len(way), 0, -1) if way[:end] in self.at), None)
        return self.at[known] if known else 1 if self.at else None

    def under(self, *keys: str | int) -> Lines:
        """The lines under one of the tables."""
        return Lines(self.at, (*self.base, *keys))


@frozen(slots=False)
class TomlFile:
    """What a file holds; `text` is empty where the values come from more than one."""

    path: str
    data: dict[str, Any]
    text: str = field(default="", repr=False)

    @cached_property
    def lines(self) -> Lines:
        """Where everything in it stands."""
        return Lines(_Walk(self.text).found if self.text else {})


def read_toml(path: Path) -> TomlFile:
    """The file at a path.  Raises OSError where it cannot be read, TomlError where it is not TOML in UTF-8."""
    return parse_toml(path.read_bytes(), str(path))


def parse_toml(content: bytes | str, path: str) -> TomlFile:
    """The same from the file's content; `path` is for messages."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TomlError("not UTF-8", error.object.count(b"\n", 0, error.start) + 1) from error
    try:
        return TomlFile(path, tomllib.loads(text), text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError
        line = re.search(r"at line (\d+)", str(error))
        last = text.count("\n") + 1  # where the text ends before a value does, tomllib names no line
        raise TomlError(str(error), int(line[1]) if line else last) from error


def structured(file: TomlFile, kind: type[_T]) -> _T:
    """The file's values as an attrs class: every key known, no value made into another.

    Raises TomlError with all that is wrong, in the line of the first.
    """
    import cattrs

    try:
        return _converter().structure(file.data, kind)
    except (cattrs.BaseValidationError, ValueError, TypeError) as error:
        why = "; ".join(cattrs.transform_error(error, format_exception=_said))
        raise TomlError(why, file.lines.of(*_way(error))) from error


def _converter() -> cattrs.Converter:
    import cattrs

    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, name in _NAMES.items():
        converter.register_structure_hook(kind, _only(kind, name))

    def items(value: object, of: Any) -> list[Any]:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is no list")
        return [converter.structure(one, *get_args(of)) for one in value]

    converter.register_structure_hook_func(_is_list, items)
    return converter


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is list


_NAMES: dict[type, str] = {str: "text", int: "whole number", float: "number", bool: "truth value"}


def _only(kind: type, name: str) -> Callable[[object, object], Any]:
    def same(value: object, _: object) -> Any:
        fits = (int, float) if kind is float else kind
        if not isinstance(value, fits) or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"{value!r} is no {name}")
        return kind(value)

    return same


def _said(error: BaseException, kind: type | None) -> str:
    import cattrs

    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = ", ".join(one.name for one in fields(error.cl))
        return f"nobody knows the key {', '.join(sorted(error.extra_fields))}, but {known}"
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


def _way(error: BaseException) -> Keys:
    """The way to the value that the first of the errors is about."""
    import cattrs

    way: list[str | int] = []
    while isinstance(error, cattrs.BaseValidationError):
        error = error.exceptions[0]
        notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, cattrs.AttributeValidationNote)]
        way += [note.name for note in notes]
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        way.append(min(error.extra_fields))
    return tuple(way)


class _Walk:
    """A walk through the tokens of a text that is known to be TOML: nothing is checked, and no text makes it fail."""

    def __init__(self, text: str) -> None:
        self.found: dict[Keys, int] = {}
        self._counts: dict[Keys, int] = {}  # how many tables each [[list]] has
        self._tokens = self._read(text)
        self._next()
        table: Keys = ()
        while self._sort != "end":
            if self._token == "[" and self._sort == "mark":
                table = self._header()
            elif self._sort in ("word", "string"):
                self._pair(table)
            else:
                self._next()

    def _read(self, text: str) -> Iterator[tuple[str, str, int]]:
        line = 1
        for token in _TOKEN.finditer(text):
            sort = token.lastgroup or ""
            if sort not in ("comment", "blank", "other"):
                yield sort, token[0], line
            line += token[0].count("\n")
        while True:
            yield "end", "", line

    def _next(self) -> None:
        self._sort, self._token, self._line = next(self._tokens)

    def _is(self, marks: str) -> bool:
        return self._sort == "mark" and self._token in marks

    def _names(self, end: str) -> list[str]:
        """The parts of a dotted key, up to one of the marks behind it."""
        names = []
        while self._sort not in ("newline", "end") and not self._is(end):
            if self._sort in ("word", "string"):
                names.append(self._token.strip("\"'") if self._sort == "string" else self._token)
            self._next()
        return names

    def _header(self) -> Keys:
        line = self._line
        self._next()
        many = self._is("[")
        if many:
            self._next()
        *around, last = self._names("]") or [""]
        while self._sort not in ("newline", "end"):
            self._next()
        way: Keys = ()
        for name in around:
            way = self._latest((*way, name))
            self.found.setdefault(way, line)
        way = (*way, last)
        self.found.setdefault(way, line)
        if many:
            self._counts[way] = self._counts.get(way, 0) + 1
            self.found[self._latest(way)] = line
        return self._latest(way)

    def _latest(self, way: Keys) -> Keys:
        """The last table of a [[list]]; any other way is as it is."""
        return (*way, self._counts[way] - 1) if way in self._counts else way

    def _pair(self, way: Keys) -> None:
        line = self._line
        for name in self._names("="):
            way = (*way, name)
            self.found.setdefault(way, line)
        self._next()
        self._value(way)

    def _value(self, way: Keys) -> None:
        if self._is("["):
            self._list(way)
        elif self._is("{"):
            self._next()
            while self._sort != "end" and not self._is("}"):
                if self._sort in ("word", "string"):
                    self._pair(way)
                else:
                    self._next()
            self._next()
        else:
            while self._sort not in ("newline", "end") and not self._is(",]}"):
                self._next()

    def _list(self, way: Keys) -> None:
        item = 0
        self._next()
        while self._sort != "end" and not self._is("]"):
            if self._sort == "newline" or self._is(",}"):
                item += self._is(",")
                self._next()
            else:
                self.found.setdefault((*way, item), self._line)
                self._value((*way, item))
        self._next()
