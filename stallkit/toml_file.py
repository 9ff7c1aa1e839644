"""TOML files: read, structured strictly, and the line of each of their keys.

`tomllib` gives values without lines, so an invalid file is read again for its structure alone.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Iterator, Mapping, TypeVar

import cattrs
from attrs import field, fields, frozen, has, resolve_types

from stallkit import private
from stallkit.durations import SPAN, seconds_of
from stallkit.errors import ConfigError, Portable, UnknownFile
from stallkit.json_form import strict

Keys = tuple[str | int, ...]  # the path of a value: the names of tables and keys, and indexes (0-based) in lists
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
    """A file is not TOML, or its values are invalid; `line` is 1-based, None if it is unknown."""

    def __init__(self, why: str, line: int | None) -> None:
        self.why, self.line = why, line
        super().__init__(why)


@frozen
class Lines:
    """The 1-based lines of a file's tables, keys and items, or of those under one table; `at` may be empty."""

    at: dict[Keys, int] = field(factory=dict)
    base: Keys = ()

    def of(self, *keys: str | int) -> int | None:
        """The line of a value, or of the nearest table or list around it that is known."""
        path = (*self.base, *keys)
        known = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in self.at), None)
        return self.at[known] if known else 1 if self.at else None

    def under(self, *keys: str | int) -> Lines:
        """The lines under one of the tables."""
        return Lines(self.at, (*self.base, *keys))


@frozen
class TomlFile:
    """The content of a file; `text` is empty if the values come from several files."""

    path: str
    data: dict[str, Any]
    text: str = field(default="", repr=False)

    @cached_property
    def lines(self) -> Lines:
        """The lines of everything in the file."""
        return Lines(_LineReader(self.text).found if self.text else {})


def read_toml(path: Path) -> TomlFile:
    """The file at a path.  Raises TomlError if it is not TOML in UTF-8.

    Raises OSError if it cannot be read, and if another user could have written it: such files decide much.
    """
    return parse_toml(private.content(path), str(path))


def read_settings(path: Path) -> TomlFile:
    """The content of a TOML file that decides.  Raises ConfigError if it cannot be read, or others can write it."""
    try:
        return read_toml(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnknownFile(str(path), "there is no such file", "name one that is there") from error
    except OSError as error:
        todo = "or name another file" if isinstance(error, private.NotPrivate) else "make it readable, or name another"
        raise ConfigError(str(path), error.strerror or str(error), todo) from error
    except TomlError as error:
        raise ConfigError(str(path), error.why, "correct it: it has to be TOML in UTF-8", error.line) from error
    except ValueError as error:  # a NUL in its name
        raise ConfigError(str(path), str(error), "name a file") from error


def parse_toml(content: bytes | str, path: str) -> TomlFile:
    """The file with this content; `path` is for messages."""
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
    """The file's values as an attrs class: every key must be known, and no value is converted but a span of time.

    A number of seconds may be written as a span: ``"3m"``.
    Raises TomlError with all errors, and the line of the first.
    """
    try:
        return _CONVERTER.structure(file.data, kind)
    except (cattrs.BaseValidationError, ValueError, TypeError) as error:
        said = partial(_message, homes=_homes(kind))
        why = "; ".join(cattrs.transform_error(error, format_exception=said))
        raise TomlError(why, file.lines.of(*_path(error))) from error


def _seconds(value: object, kind: Any) -> float:
    spelled = isinstance(value, str) and re.match(SPAN, value)
    return seconds_of(str(value)) if spelled else float(_NUMBER(value, kind))


_CONVERTER = strict(cattrs.Converter(forbid_extra_keys=True))
_NUMBER = _CONVERTER.get_structure_hook(float)
_CONVERTER.register_structure_hook(float, _seconds)


def _message(error: BaseException, kind: type | None, homes: Mapping[str, str]) -> str:
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = ", ".join(one.name for one in fields(error.cl))
        unknown = [f"{key} (it belongs {homes[key]})" if key in homes else key for key in sorted(error.extra_fields)]
        return f"unknown key {', '.join(unknown)}, known are {known}"
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


def _homes(kind: type) -> dict[str, str]:
    """Where each key of a file of this class belongs, except those that several tables have."""
    if not has(kind):
        return {}
    tops = fields(resolve_types(kind))
    inner = [(key.name, one.name) for one in tops if has(one.type) for key in fields(one.type)]
    count = Counter(key for key, _ in inner)
    homes = {key: f"in [{table}]" for key, table in inner if count[key] == 1}
    return homes | {one.name: f"in a table [{one.name}]" for one in tops if has(one.type)}


def _path(error: BaseException) -> Keys:
    """The path of the value that the first error is about."""
    path: list[str | int] = []
    while isinstance(error, cattrs.BaseValidationError):
        error = error.exceptions[0]
        for note in getattr(error, "__notes__", ()):
            if isinstance(note, cattrs.AttributeValidationNote):
                path.append(note.name)
            elif isinstance(note, cattrs.IterableValidationNote):  # of a table of tables
                path.append(note.index)
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        path.append(min(error.extra_fields))
    return tuple(path)


class _LineReader:
    """Finds the lines in a text that is known to be TOML: it checks nothing, and no text makes it fail."""

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
        """The parts of a dotted key, up to one of the marks after it."""
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
        path: Keys = ()
        for name in around:
            path = self._latest((*path, name))
            self.found.setdefault(path, line)
        path = (*path, last)
        self.found.setdefault(path, line)
        if many:
            self._counts[path] = self._counts.get(path, 0) + 1
            self.found[self._latest(path)] = line
        return self._latest(path)

    def _latest(self, path: Keys) -> Keys:
        """The last table of a [[list]]; any other path as it is."""
        return (*path, self._counts[path] - 1) if path in self._counts else path

    def _pair(self, path: Keys) -> None:
        line = self._line
        for name in self._names("="):
            path = (*path, name)
            self.found.setdefault(path, line)
        self._next()
        self._value(path)

    def _value(self, path: Keys) -> None:
        if self._is("["):
            self._list(path)
        elif self._is("{"):
            self._next()
            while self._sort != "end" and not self._is("}"):
                if self._sort in ("word", "string"):
                    self._pair(path)
                else:
                    self._next()
            self._next()
        else:
            while self._sort not in ("newline", "end") and not self._is(",]}"):
                self._next()

    def _list(self, path: Keys) -> None:
        item = 0
        self._next()
        while self._sort != "end" and not self._is("]"):
            if self._sort == "newline" or self._is(",}"):
                item += self._is(",")
                self._next()
            else:
                self.found.setdefault((*path, item), self._line)
                self._value((*path, item))
        self._next()
