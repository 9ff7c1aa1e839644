"""The picture of the dashboard is drawn from a real run, and asks no other server for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytestmark = pytest.mark.e2e
TESTS = Path(__file__).parents[1]
MOST = 60_000  # bytes: it is part of every checkout


def words_in(svg: str) -> str:
    """What is to be read in it."""
    return " ".join("".join(one.itertext()) for one in ElementTree.fromstring(svg).iter() if one.text).replace(
        "\xa0", " "
    )


def test_it_is_drawn_from_a_real_run(tmp_path: Path) -> None:
    drawn = tmp_path / "dashboard.svg"
    done = subprocess.run(
        [sys.executable, str(TESTS / "dashboard_picture.py"), str(drawn)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for svg in (drawn.read_text(), (TESTS.parent / "docs" / "dashboard.svg").read_text()):
        words = words_in(svg)
        for said in (
            "3 wait for a person",
            "Deploy to",
            "npm publish",
            "approve",
            "docs asks: permission",
            "Do you want to make this edit to retry.py?",
        ):
            assert said in words, words
        assert "@font-face" not in svg and len(svg.encode()) < MOST
        assert not re.findall(r"(?:href|src|url)[=(]['\"]?https?:", svg)
