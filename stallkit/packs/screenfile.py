"""One screen in one file: plain text, after an optional front block of TOML between ``---`` lines.

    ---
    size = [80, 24]
    cursor = [15, 0]
    program = "rm"
    ---
    rm: remove regular file 'a'?

Known keys: size [columns, rows], cursor [column, row] (0-based), cursor_visible, alternate, title, foreground; the
kernel facts listening, how, relay, through, reader, echo, canonical, quiet_s; for human readers program, version,
captured, note; and state and kind, the label of a screen in a corpus.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Mapping

from attrs import frozen

from stallkit.errors import PackFormatError
from stallkit.evidence.snapshot import KernelFacts, ProcessFacts, Snapshot, TtyFacts
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import escaped
from stallkit.toml_file import TomlError, parse_toml

_FENCE = "---"
_PAIRS = {"size", "cursor"}
_TEXTS = {"title", "foreground", "program", "version", "captured", "note", "state", "kind"}
_TEXTS |= {"how", "relay", "through", "reader"}
_FLAGS = {"cursor_visible", "alternate", "listening", "echo", "canonical"}
_NUMBERS = {"quiet_s"}
_CHOICES = {"how": ("read", "poll", "select", "epoll")}
_FRONT_LINE = re.compile(r"[a-z_]+ *= *(?:[\[\"'\d]|true\b|false\b)")
_KERNEL = ("listening", "how", "relay", "through", "reader")
_TTY = ("echo", "canonical")


@frozen
class ScreenFile:
    """A saved screen, and the keys of its front block."""

    screen: Screen
    front: dict[str, Any]

    def snapshot(self, target: str = "") -> Snapshot:
        """The screen with the facts of the front block; it accepts no keys, and everything else is unknown."""
        foreground = self.front.get("foreground")
        kernel: dict[str, Any] = {name: self.front[name] for name in _KERNEL if name in self.front}
        tty: dict[str, Any] = {name: self.front[name] for name in _TTY if name in self.front}
        return Snapshot(
            screen=self.screen,
            process=ProcessFacts(foreground) if foreground else None,
            kernel=KernelFacts(foreground=foreground, **kernel) if kernel else None,
            tty=TtyFacts(**tty) if tty else None,
            quiet_s=self.front.get("quiet_s"),
            accepts_keys=False,
            target=target,
        )


def read_screen(path: Path) -> ScreenFile:
    """The screen in a file; bytes that are not UTF-8 are kept as replacement characters.

    Raises OSError if the file cannot be read, PackFormatError if its front block is broken.
    """
    return parse_screen(path.read_bytes().decode("utf-8", "replace"), str(path))


def parse_screen(text: str, path: str = "<text>") -> ScreenFile:
    """The screen in a file's text; `path` is for messages."""
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


def ensure_closed(found: ScreenFile, path: str) -> None:
    """Raises PackFormatError for a front block without an end, all of which was taken for the screen.

    For labelled screens; any other text may begin like one.
    """
    lines = found.screen.lines
    if not found.front and len(lines) > 1 and lines[0].rstrip() == _FENCE and _FRONT_LINE.match(lines[1]):
        raise PackFormatError(path, 1, "", "its front block has no end", "write a line of --- below it")


def _front(block: str, path: str) -> dict[str, Any]:
    try:
        file = parse_toml(block, path)
    except TomlError as error:
        why = re.sub(r" \(at [^()]*\)$", "", error.why)  # it counts from the block's own first line
        raise PackFormatError(path, 1 + (error.line or 0), "front block", why) from error
    for key, value in file.data.items():
        if key in _PAIRS:
            fits = isinstance(value, list) and len(value) == 2 and all(type(n) is int and n >= 0 for n in value)
        elif key in _TEXTS:
            fits = isinstance(value, str)
        elif key in _FLAGS:
            fits = isinstance(value, bool)
        elif key in _NUMBERS:
            fits = type(value) in (int, float) and 0 <= value < 1e9
        else:
            known = ", ".join(sorted(_PAIRS | _TEXTS | _FLAGS | _NUMBERS))
            raise PackFormatError(path, 1 + (file.lines.of(key) or 0), key, "unknown key", f"use {known}")
        fits = fits and value in _CHOICES.get(key, (value,))
        if not fits:
            raise PackFormatError(path, 1 + (file.lines.of(key) or 0), key, f"{value!r} is not a valid value")
    return {key: tuple(value) if key in _PAIRS else value for key, value in file.data.items()}


def front_of(seen: Snapshot) -> dict[str, Any]:
    """The front block of a look: its screen's properties and the facts around it; unknown ones are left out."""
    screen, kernel, tty = seen.screen, seen.kernel or KernelFacts(), seen.tty or TtyFacts()
    front: dict[str, Any] = {
        "size": screen.size and (screen.size.columns, screen.size.rows),
        "cursor": screen.cursor and (screen.cursor.column, screen.cursor.row),
        "cursor_visible": screen.cursor.visible if screen.cursor else None,
        "alternate": screen.alternate,
        "title": screen.title,
        "foreground": seen.foreground,
        **{name: getattr(kernel, name) for name in _KERNEL},
        **{name: getattr(tty, name) for name in _TTY},
        "quiet_s": None if seen.quiet_s is None else round(seen.quiet_s, 3),
    }
    return {key: value for key, value in front.items() if value is not None}


def render_screen(text: str, front: Mapping[str, Any]) -> str:
    """A screen file's content, which `parse_screen` reads; `text` is the screen's lines, joined."""
    lines = [f"{key} = {_toml(value)}" for key, value in front.items()]
    return "\n".join([_FENCE, *lines, _FENCE, text]) + "\n"


def _toml(value: Any) -> str:
    """One value in TOML, which writes strings much as JSON does; a character that would not be seen is escaped."""
    if isinstance(value, str):
        text = json.dumps(value.encode("utf-8", "replace").decode(), ensure_ascii=False)
        return "".join([char if escaped(char) == char else f"\\U{ord(char):08x}" for char in text])
    return json.dumps(list(value) if isinstance(value, tuple) else value)
