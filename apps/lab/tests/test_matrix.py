"""The matrix of what packs have seen: from captured hits alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from stallkit_lab.evaluate.holdout import installed_package_dirs
from stallkit_lab.matrix import Row, as_markdown, matrix

from stallkit import Pack
from stallkit.packs.pack_file import read_pack
from stallkit.packs.registry import installed

DOCUMENT = Path(__file__).parents[3] / "docs" / "matrix.md"
PACK = """
format = 1
name = "acme"

[[signature]]
id = "asks"
title = "asks"
state = "waiting"
kind = "confirm"
severity = "low"
all_of = ["Go on?"]
dismissal = { keys = "y Enter", because = "it only goes on", expect = "gone" }

[[signature]]
id = "rests"
title = "rests"
state = "idle"
all_of = ["Ready"]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "signatures.toml").write_text(PACK)
    return tmp_path


def shot(home: Path, place: str, front: str) -> None:
    file = home / "screens" / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\n{front}\n---\nGo on?\n")


def rows(home: Path) -> list[Row]:
    pack: Pack = evolve(read_pack(home / "signatures.toml"), distribution="stallkit-acme")
    return matrix([pack], {"stallkit-acme": [home]})


def test_a_row_for_each_version_and_what_it_asks_for(home: Path) -> None:
    shot(home, "asks/hit-a.txt", 'program = "acme"\nversion = "2.10"\ncaptured = "2026-10-30, tmux 3.3a"')
    shot(home, "asks/hit-b.txt", 'program = "acme"\nversion = "2.10"\ncaptured = "2026-11-02, tmux 3.3a"')
    shot(home, "asks/hit-c.txt", 'program = "acme"\nversion = "2.9"\ncaptured = "long ago"')
    shot(home, "rests/hit-d.txt", 'program = "acme"\nversion = "2.9"\ncaptured = "2026-11"')
    assert rows(home) == [
        Row("acme", "2.9", "confirm", "low", "y Enter", ("acme:asks",), ""),
        Row("acme", "2.9", "idle", "", "", ("acme:rests",), "2026-11"),
        Row("acme", "2.10", "confirm", "low", "y Enter", ("acme:asks",), "2026-11-02"),
    ]


def test_what_was_not_captured_has_no_row(home: Path) -> None:
    for name, front in [
        ("miss-a.txt", 'program = "acme"\ncaptured = "2026-11"'),
        ("todo-a.txt", 'program = "acme"\ncaptured = "2026-11"'),
        ("hit-nobody.txt", 'captured = "2026-11"'),
        ("hit-hand.txt", 'program = "acme"\ncaptured = "2026-11"\nnote = "hand-made, from notes"'),
        ("hit-broken.txt", "program = "),
    ]:
        shot(home, f"asks/{name}", front)
        assert rows(home) == [], (name, front)


def test_the_table_has_a_row_for_each_program_and_a_bar_in_a_name_keeps_it_whole() -> None:
    rows = [
        Row("a|b", "1", "confirm", "high", "", ("p:s",), "2026-11"),
        Row("a|b", "2", "confirm", "low", "y Enter", ("p:t",), "2026-11-02"),
        Row("a|b", "2", "working", "", "", ("p:u",), ""),
        Row("c", "", "secret", "high", "", ("p:v",), ""),
    ]
    assert as_markdown(rows).splitlines()[2:] == [
        "| a\\|b | 1 to 2 | **confirm**, working |",
        "| c |  | secret |",
    ]


def test_the_document_is_what_the_packs_say() -> None:
    table = as_markdown(matrix(installed().packs, installed_package_dirs()))
    assert DOCUMENT.read_text().partition("\n| ")[2] == table[2:], "write it again: docs/matrix.md says how"
