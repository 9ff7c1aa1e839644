"""``stallkit try``: rows, counts, and who would win."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e


@pytest.fixture
def screens(tmp_path: Path) -> Path:
    made = {
        "asks": "Step 1\nDeploy to staging now? ",
        "known": "Deploy to staging now? [y/N] ",
        "gone": "Deploy to staging now? yes\nIt went on.\n",
        "twice": "Deploy to a now?\nDeploy to b now? ",
        "other": "nothing of that",
    }
    for name, text in made.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def tried(command: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, "try", *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_rows_counts_and_who_wins(stallkit_command: str, screens: Path) -> None:
    done = tried(stallkit_command, screens, r"Deploy to \S+ now\?", ".", "--json")
    told = json.loads(done.stdout)
    by_name = {one["screen"]: one for one in told["screens"]}
    assert done.returncode == 0 and len(by_name) == 5
    assert [row["row"] for row in by_name["twice.txt"]["rows"]] == [0, 1]
    assert by_name["asks.txt"]["rows"] == [{"row": 1, "text": "Deploy to staging now?"}]
    assert by_name["other.txt"]["wins"] == "no" and told["counts"]["no"] == 1
    at_cursor = json.loads(tried(stallkit_command, screens, "Deploy", ".", "--where", "prompt_line", "--json").stdout)
    wins = {one["screen"]: (one["wins"], one["other"], one["today"]) for one in at_cursor["screens"]}
    assert wins["known.txt"][0] == "shadowed" and str(wins["known.txt"][1]).startswith("shell_yn:")
    words = ["Deploy", "known.txt", "--where", "prompt_line", "--foreground", "acme", "--json"]
    ours = json.loads(tried(stallkit_command, screens, *words).stdout)
    assert ours["screens"][0]["wins"] == "wins" and ours["screens"][0]["today"] == wins["known.txt"][1]


def test_it_is_told_in_lines_and_mistakes_in_one(stallkit_command: str, screens: Path) -> None:
    done = tried(stallkit_command, screens, "Deploy to", "asks.txt", "other.txt", "--literal")
    assert "asks.txt: wins" in done.stdout and "  row 1: 'Deploy to'" in done.stdout
    assert "other.txt" not in done.stdout and done.stdout.endswith("holds on 1 of 2 screens: wins 1\n")
    assert tried(stallkit_command, screens, "none of them", ".").returncode == 7
    for words in (["(", "asks.txt"], ["x", "asks.txt", "--where", "somewhere"], ["x", "none.txt"], ["x"]):
        wrong = tried(stallkit_command, screens, *words)
        assert wrong.returncode == 64 and len(wrong.stderr.splitlines()) == 1
