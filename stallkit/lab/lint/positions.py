"""In which line of a TOML file each key of a signature stands, and each item of its lists.

Pure.  `tomllib` tells values and no lines, so the file is walked once more for its structure alone.  It is known to be
TOML by then: nothing is checked here.
"""

from __future__ import annotations

import re
from collections import defaultdict

from attrs import Factory, define

__all__ = ["Lines", "Positions", "positions"]

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
_ROW = "signature"


@define
class Lines:
    """The 1-based lines of one table: where it begins, each of its keys, and each item of its lists."""

    start: int = 1
    keys: dict[str, int] = Factory(dict)
    items: dict[str, list[int]] = Factory(lambda: defaultdict(list))

    def of(self, key: str, item: int | None = None) -> int:
        """The line of a key, or of one item (0-based) of its list; of the nearest thing known where it is not."""
        items = self.items.get(key, [])
        if item is not None and item < len(items):
            return items[item]
        return self.keys.get(key, self.start)


@define
class Positions:
    """The lines of the file's top level, and of each signature in order."""

    top: Lines = Factory(Lines)
    rows: list[Lines] = Factory(list)


def positions(text: str) -> Positions:
    """The lines of everything in a pack file that is TOML."""
    walk = _Walk()
    for token in _TOKEN.finditer(text):
        walk.take(token.lastgroup or "", token[0])
        walk.line += token[0].count("\n")
    walk.take("newline", "\n")
    return walk.found


class _Walk:
    """Where in the file the walk is: in a header, in a key, or so deep in a value."""

    def __init__(self) -> None:
        self.found = Positions()
        self.line = 1
        self._table: list[str] = []  # the header above
        self._path: list[str] = []  # of the key, or of the header that is being read
        self._begun = 1  # the line in which that started
        self._header = 0  # how many brackets opened it
        self._open: list[str] | None = None  # the brackets of the value; None outside of values
        self._item_due = False

    def take(self, sort: str, token: str) -> None:
        if sort in ("comment", "blank", "other"):
            return
        if self._open is not None:
            self._in_value(sort, token)
        elif sort == "newline":
            if self._header:
                self._end_header()
            self._path, self._header = [], 0
        elif token == "[" and not self._path:
            self._header += 1
            self._begun = self.line
        elif token == "=" and not self._header:
            self._note_key([*self._table, *self._path])
            self._open = []
        elif sort in ("word", "string"):
            if not self._path and not self._header:
                self._begun = self.line
            self._path.append(token.strip("\"'") if sort == "string" else token)

    def _in_value(self, sort: str, token: str) -> None:
        brackets = self._open
        assert brackets is not None
        if sort == "newline":
            if not brackets:
                self._open, self._path = None, []
            return
        if token in ("]", "}") and sort == "mark":
            if brackets:
                brackets.pop()
            self._item_due = False
            return
        if brackets == ["["]:
            if sort == "mark" and token == ",":
                self._item_due = True
            elif self._item_due:
                self._note_item([*self._table, *self._path])
                self._item_due = False
        if sort == "mark" and token in "[{":
            brackets.append(token)
            if brackets == ["["]:
                self._item_due = True

    def _end_header(self) -> None:
        self._table = self._path
        if self._path == [_ROW] and self._header > 1:
            self.found.rows.append(Lines(self._begun))
            return
        self._note_key(self._path)
        if self._header > 1 and len(self._path) > 1 and self.found.rows:
            self.found.rows[-1].items[".".join(self._path[1:])].append(self._begun)

    def _note_key(self, path: list[str]) -> None:
        lines = self._lines(path)
        parts = path[1:] if lines is not self.found.top else path
        for end in range(1, len(parts) + 1):
            lines.keys.setdefault(".".join(parts[:end]), self._begun)

    def _note_item(self, path: list[str]) -> None:
        if path == [_ROW]:  # the signatures as one list
            self.found.rows.append(Lines(self.line))
            return
        lines = self._lines(path)
        lines.items[".".join(path[1:] if lines is not self.found.top else path)].append(self.line)

    def _lines(self, path: list[str]) -> Lines:
        in_row = len(path) > 1 and path[0] == _ROW and self.found.rows
        return self.found.rows[-1] if in_row else self.found.top
