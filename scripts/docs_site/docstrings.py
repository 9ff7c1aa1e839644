"""Docstrings are plain text with code in single or double backticks; this is the little that sphinx needs beside."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["as_rst", "escaped"]

_CODE = re.compile(r"(``.+?``|`[^`]+`)")


def as_rst(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: changes the lines in place."""
    lines[:] = escaped(lines)


def escaped(lines: list[str]) -> list[str]:
    """The lines with stars and bars outside code taken as they are; a word between two stars stays stressed.

    >>> escaped(["*maybe*, or **kwargs of `a*b`"])
    ['*maybe*, or \\\\*\\\\*kwargs of `a*b`']
    """
    return [line if line.lstrip().startswith((">>> ", "... ")) else _plain(line) for line in lines]


def _plain(line: str) -> str:
    parts = _CODE.split(line)
    return "".join(part if part.startswith("`") else _stars(part) for part in parts)


def _stars(text: str) -> str:
    kept = re.split(r"((?<![\w*])\*[^\s*](?:[^*\n]*[^\s*])?\*(?![\w*]))", text)
    return "".join(
        part if index % 2 else re.sub(r"([*|_](?=\W|$)|\*)", r"\\\1", part) for index, part in enumerate(kept)
    )
