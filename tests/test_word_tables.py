"""The tables of words and patterns: all of them compile, and each is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import stallkit
from stallkit.detect.layout import PARTS
from stallkit.word_tables import Patterns, filled, table

PACKAGE = Path(str(stallkit.__file__)).parent
TABLES = sorted(path.stem for path in (PACKAGE / "data").glob("*.toml") if "[patterns]" in path.read_text())
CODE = "\n".join(path.read_text() for path in sorted(PACKAGE.rglob("*.py")))


@pytest.mark.parametrize("name", TABLES)
def test_every_pattern_compiles_and_is_used(name: str) -> None:
    patterns = Patterns(name)
    for one in table(name)["patterns"]:
        assert isinstance(getattr(patterns, one), re.Pattern)
        used = re.search(rf"\b(?:_of|_tries|patterns)\.{one}\b|says\(\"{one}\"\)", CODE)
        assert used, f"{name}.toml: nothing uses {one}"


@pytest.mark.parametrize("name", TABLES)
def test_every_piece_is_used(name: str) -> None:
    text = (PACKAGE / "data" / f"{name}.toml").read_text()
    unused = [piece for piece in table(name)["pieces"] if f"(?&{piece})" not in text]
    assert not unused


def test_the_page_on_packs_has_every_part_and_phrase() -> None:
    page = (PACKAGE.parent / "docs" / "packs.md").read_text()
    parts, phrases = re.findall(r"^\| (?:part|phrases) \|.*\n.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    first_cells = [
        [cell for row in rows.splitlines() for cell in re.findall(r"`(\w+)`", row.split("|")[1])]
        for rows in (parts, phrases)
    ]
    assert first_cells[0] == list(PARTS)
    assert sorted(first_cells[1]) == sorted(table("phrases")["pieces"])


def test_a_piece_may_name_others_and_a_name_that_is_none_stays() -> None:
    pieces = table("phrases")["pieces"]
    assert filled("a(?&yes)b(?&nobody)(?&no)", "phrases") == f"a{pieces['yes']}b(?&nobody){pieces['no']}"
    for name in TABLES:
        known = table(name)["pieces"]
        for piece in known:
            whole = filled(f"(?&{piece})", name)
            assert not [one for one in known if f"(?&{one})" in whole], f"{name}: {piece}"
            re.compile(whole)


def test_a_pattern_that_is_not_there_is_no_attribute() -> None:
    assert not hasattr(Patterns(TABLES[0]), "no_such_pattern")
