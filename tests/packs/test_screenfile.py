"""A saved screen: its front block, and what other files may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from stallkit.errors import PackFormatError
from stallkit.packs.screenfile import parse_screen, read_screen, render_screen
from stallkit.terminal.screen import Cursor, Size

FULL = """\
---
size = [80, 24]
cursor = [30, 0]
cursor_visible = false
alternate = true
title = "make"
foreground = "rm"
program = "rm"
version = "9.1"
captured = "tmux 3.3a"
note = "as it was"
---
rm: remove regular file 'a'?
"""


def test_the_front_block_says_more() -> None:
    saved = parse_screen(FULL)
    screen = saved.screen
    assert screen.lines == ("rm: remove regular file 'a'?",)
    assert (screen.cursor, screen.size) == (Cursor(30, 0, False), Size(80, 24))
    assert (screen.alternate, screen.title) == (True, "make")
    assert saved.front["version"] == "9.1"
    assert screen.prompt_line.text == "rm: remove regular file 'a'?  "


def test_a_snapshot_knows_what_the_file_says_and_no_more() -> None:
    now = parse_screen(FULL).snapshot("file:a.txt")
    assert (now.foreground, now.target, now.accepts_keys) == ("rm", "file:a.txt", False)
    assert (now.alive, now.exit_status, now.taken_at) == (None, None, None)
    assert parse_screen("x").snapshot().process is None


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Proceed? [y/N] ", ("Proceed? [y/N] ",)),
        ("", ("",)),
        ("---\nno end of it", ("---", "no end of it")),
        ("a\n---\nb\n---", ("a", "---", "b", "---")),
        ("---\n---\nbody", ("body",)),
        ("---  \nnote = 'x'\n---\t\nbody", ("body",)),
    ],
)
def test_what_is_screen_and_what_is_front(text: str, lines: tuple[str, ...]) -> None:
    assert parse_screen(text).screen.lines == lines


def test_line_ends_of_windows() -> None:
    assert parse_screen(FULL.replace("\n", "\r\n")) == parse_screen(FULL)


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("size = [80, 24]", "size = [80]", 2, "size"),
        ("size = [80, 24]", "size = [80, -1]", 2, "size"),
        ("cursor = [30, 0]", 'cursor = ["30", 0]', 3, "cursor"),
        ("cursor = [30, 0]", "cursor = [true, false]", 3, "cursor"),
        ("cursor = [30, 0]", "cursor = [1.5, 0]", 3, "cursor"),
        ("cursor_visible = false", "cursor_visible = 0", 4, "cursor_visible"),
        ("alternate = true", 'alternate = "yes"', 5, "alternate"),
        ('title = "make"', "title = 5", 6, "title"),
        ('title = "make"', 'titel = "make"', 6, "titel"),
        ('note = "as it was"', 'note = ["as", "it", "was"]', 11, "note"),
        ("alternate = true", "alternate = ", 5, "front block"),
    ],
)
def test_a_mistake_in_front_is_named_by_file_line_and_key(old: str, new: str, line: int, key: str) -> None:
    assert old in FULL
    with pytest.raises(PackFormatError) as caught:
        parse_screen(FULL.replace(old, new), "a.txt")
    assert (caught.value.path, caught.value.line, caught.value.key) == ("a.txt", line, key)


def test_binary_garbage_is_a_screen(tmp_path: Path) -> None:
    path = tmp_path / "garbage.txt"
    path.write_bytes(bytes(range(256)) * 64 + b"\nProceed? \xff")
    assert read_screen(path).screen.lines[-1] == "Proceed? \ufffd"


def test_a_name_with_characters_that_are_not_seen_is_shown_with_them() -> None:
    name = "cl\u202eaude \u200b\x1b[31m\x7f\x9b\U000e0041 ü日"
    written = render_screen("$ ", {"foreground": name})
    assert all(char.isprintable() or char == "\n" for char in written) and "ü日" in written
    assert parse_screen(written).front["foreground"] == name


def test_escapes_in_a_file_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "coloured.txt"
    path.write_bytes("---\ncursor = [5, 0]\n---\n\x1b[1m❯\u00a0Yes\x1b[0m".encode())
    assert read_screen(path).screen.prompt_line.text == "❯ Yes"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_screen(tmp_path / "none.txt")
