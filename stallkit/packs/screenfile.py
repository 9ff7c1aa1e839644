"""One screen in one file: plain text, with an optional first block between ``---`` lines that says more in TOML.

    ---
    size = [80, 24]
    cursor = [15, 0]
    program = "rm"
    ---
    rm: remove regular file 'a'?

Known keys: size [columns, rows], cursor [column, row] (0-based), cursor_visible, alternate, title, foreground, and for
the reader program, version, captured, note; state and kind are its label, where it is one of a corpus.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from attrs import frozen

from stallkit.core.screen import Screen
from stallkit.core.verdict import ProcessFacts, Snapshot
from stallkit.errors import PackFormatError

__all__ = ["ScreenFile", "parse_screen", "read_screen"]

_FENCE = "---"
_PAIRS = {"size", "cursor"}
_TEXTS = {"title", "foreground", "program", "version", "captured", "note", "state", "kind"}
_FLAGS = {"cursor_visible", "alternate"}


@frozen
class ScreenFile:
    """A screen as it was saved, and what was noted beside it."""

    screen: Screen
    front: dict[str, Any]

    def snapshot(self, target: str = "") -> Snapshot:
        """The screen with the facts of the front block; everything else is unknown, but that it takes no keys."""
        foreground = self.front.get("foreground")
        process = ProcessFacts(foreground) if foreground else None
        return Snapshot(screen=self.screen, process=process, accepts_keys=False, target=target)


def read_screen(path: Path) -> ScreenFile:
    """The screen in a file; bytes that are not UTF-8 are kept as replacement characters.

    Raises OSError where the file cannot be read, PackFormatError where its front block is broken.
    """
    return parse_screen(path.read_bytes().decode("utf-8", "replace"), str(path))


def parse_screen(text: str, path: str = "<text>") -> ScreenFile:
    """The same from the file's text; `path` is for messages."""
    front: dict[str, Any] = {}
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() == _FENCE:
        end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
        if end is not None:
            front = _front("\n".join(lines[1:end]), path)
            text = "\n".join(lines[end + 1 :])
    screen = Screen.from_text(
        text,
        cursor=front.get("cursor"),
        size=front.get("size"),
        cursor_visible=front.get("cursor_visible"),
        title=front.get("title"),
        alternate=front.get("alternate"),
    )
    return ScreenFile(screen, front)


def _front(block: str, path: str) -> dict[str, Any]:
    try:
        front = tomllib.loads(block)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line (\d+)", str(error))
        raise PackFormatError(path, 1 + int(place[1]) if place else None, "front block", str(error)) from error
    for key, value in front.items():
        line = 2 + next((n for n, text in enumerate(block.split("\n")) if text.split("=")[0].strip() == key), 0)
        if key in _PAIRS:
            fits = isinstance(value, list) and len(value) == 2 and all(type(n) is int and n >= 0 for n in value)
        elif key in _TEXTS:
            fits = isinstance(value, str)
        elif key in _FLAGS:
            fits = isinstance(value, bool)
        else:
            raise PackFormatError(path, line, key, "unknown key", f"use {', '.join(sorted(_PAIRS | _TEXTS | _FLAGS))}")
        if not fits:
            raise PackFormatError(path, line, key, f"{value!r} is not what belongs there")
    return {key: tuple(value) if key in _PAIRS else value for key, value in front.items()}
