"""The variables that a program is given, by words and by files of them: ``--env NAME[=VALUE]``, ``--env-file FILE``.

Values may be secrets: no message and no `repr` has one.  A file is a small part of what others call dotenv: lines of
``NAME=VALUE``, perhaps with ``export`` in front; ``NAME`` alone for the caller's value; blank lines and comments (``#``
in front, or behind a blank).  ``'...'`` is taken as it is, ``"..."`` with ``\\n``, ``\\r``, ``\\t``, ``\\"``, ``\\\\``
and ``\\$``; a value ends on its line, and nothing in it is expanded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable, Mapping, Sequence

from attrs import field, frozen

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*(?:(=)\s*(.*))?", re.DOTALL)
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)
_SINGLE = re.compile(r"'([^']*)'\s*(?:#.*)?")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


@frozen
class Variables:
    """Variables and their values, and what another start of the same program would know of them."""

    values: Mapping[str, str] = field(factory=dict, repr=False)
    named: tuple[str, ...] = ()  # those of which no file has the value
    files: tuple[str, ...] = ()  # absolute paths, in order: each takes precedence over those before it


def shell_name(name: str) -> bool:
    """Whether a shell can export a variable of this name: letters, digits and `_` of ASCII, no digit in front."""
    return _NAME.fullmatch(name) is not None


def read_variables(words: Iterable[str], files: Sequence[str | Path], own: Mapping[str, str]) -> Variables:
    """The variables of words, which take precedence, and of files; `own` has the caller's values, for names alone.

    Raises ValueError, which names the word by its number or the line of the file, never its text; OSError if a file
    cannot be read.

    >>> read_variables(["COLUMNS=80", "LANG"], [], {"LANG": "C"}).values
    {'COLUMNS': '80', 'LANG': 'C'}
    """
    values: dict[str, str] = {}
    named: set[str] = set()
    for file in map(Path, files):
        for number, name, value in _lines(file):
            values[name] = _own(name, own, f"{file}, line {number}") if value is None else value
            named = named | {name} if value is None else named - {name}
    for number, word in enumerate(words, 1):
        name, equals, value = word.partition("=")
        if not name or "\0" in word:
            raise ValueError(f"--env, the {number}. one: write NAME=VALUE, or NAME for the value that it has here")
        values[name] = value if equals else _own(name, own, "--env")
        named.add(name)
    return Variables(values, tuple(sorted(named)), tuple(str(Path(file).absolute()) for file in files))


def _own(name: str, own: Mapping[str, str], where: str) -> str:
    if name not in own:
        raise ValueError(f"{where}: {name} is not set here: write NAME=VALUE, or set it")
    return own[name]


def _lines(file: Path) -> Iterable[tuple[int, str, str | None]]:
    """Number, name and value (None: the caller's) of each variable in a file."""
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: it is not UTF-8: write it anew") from error
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _LINE.fullmatch(stripped)
        value = _value(found[3]) if found and found[2] else None
        if found is None or (found[2] and value is None) or "\0" in line:
            raise ValueError(f"{file}, line {number}: write NAME=VALUE, on one line")
        yield number, found[1], value


def _value(text: str) -> str | None:
    """A value as it is written, without its quotes or comment; None if a quote does not end, or more follows it."""
    if text.startswith("'"):
        single = _SINGLE.fullmatch(text)
        return single and single[1]
    if text.startswith('"'):
        double = _DOUBLE.fullmatch(text)
        return double and re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), double[1])
    return _COMMENT.sub("", text).rstrip()
