"""Tables in Markdown: read from a page, and written."""

from __future__ import annotations

import re
from typing import Iterable, Iterator, Sequence

__all__ = ["cell", "prose", "read", "written"]

_CELL = re.compile(r"(?<!\\)\|")


def read(page: str) -> Iterator[list[dict[str, str]]]:
    """Each table of a page: its rows by the names of its columns; the second of a name is ``NAME (2)``.

    >>> next(read("| a | b |\\n| --- | --- |\\n| 1 | x \\\\| y |\\n"))
    [{'a': '1', 'b': 'x \\\\| y'}]
    >>> next(read("| P | left out: P | P |\\n| --- | --- | --- |\\n| 1 | 2 | 3 |\\n"))
    [{'P': '1', 'left out: P': '2', 'P (2)': '3'}]
    """
    rows: list[list[str]] = []
    for line in [*page.split("\n"), ""]:
        if line.startswith("|"):
            rows.append([part.strip() for part in _CELL.split(line.strip().strip("|"))])
        elif rows:
            names, _, *body = rows
            head = [name if name not in names[:at] else f"{name} (2)" for at, name in enumerate(names)]
            yield [dict(zip(head, row, strict=False)) for row in body]
            rows = []


def written(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without its empty columns; cells are Markdown already."""
    body = list(rows)
    kept = [at for at in range(len(head)) if any(row[at] for row in body)]
    lines = [head, ["---"] * len(head), *body]
    return "".join("| " + " | ".join(line[at] for at in kept) + " |\n" for line in lines)


def cell(text: str) -> str:
    """Plain text as a cell: on one line, and with none of Markdown's own signs in force.

    >>> cell("a_b | <c>")
    'a\\\\_b \\\\| \\\\<c\\\\>'
    """
    return _escaped(" ".join(text.split()))


def prose(text: str) -> str:
    """Plain text with code in backticks, on one line: the code stays code.

    >>> prose("what `a_b` says of c_d")
    'what `a_b` says of c\\\\_d'
    """
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|$~^])", r"\\\1", text)
