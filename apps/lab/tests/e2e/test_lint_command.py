"""``stallkit pack lint`` and ``tune`` as they are typed: exit codes, JSON, plain lines, what is half installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.e2e

GOOD = """\
format = 1

[[signature]]
id = "deploy"
title = "acme asks before it deploys"
state = "waiting"
kind = "confirm"
all_of = [{ pattern = '^Deploy\\? $', where = "prompt_line" }]
hits = ["Deploy? "]
misses = ["Deploy? yes"]
source = "acme 4.2"
"""
BAD = GOOD.replace('source = "acme 4.2"', 'dismissal = { keys = "Entre" }')


def stallkit(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "stallkit"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(path)} if path else None
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "src" / "stallkit_acme"
    folder.mkdir(parents=True)
    (folder / "signatures.toml").write_text(GOOD, "utf-8")
    return folder / "signatures.toml"


def test_a_good_pack(pack: Path) -> None:
    for path in (pack, pack.parent, pack.parents[2]):
        done = stallkit("pack", "lint", str(path), "--fast")
        assert (done.returncode, done.stdout, done.stderr) == (0, "acme: 0 errors, 0 warnings\n", "")


def test_errors_exit_7_and_name_the_line(pack: Path) -> None:
    pack.write_text(BAD, "utf-8")
    done = stallkit("pack", "lint", str(pack), "--fast")
    assert done.returncode == 7
    assert f"\n{pack}:11: SK303 error: deploy: unknown key 'Entre'" in done.stdout
    assert done.stdout.endswith("acme: 1 error, 1 warning\n")
    assert "(stallkit pack lint --explain SK303)" in done.stdout
    assert "\x1b" not in done.stdout
    told = json.loads(stallkit("pack", "lint", str(pack), "--json", "--fast").stdout)
    assert (told["version"], told["packs"], told["errors"], told["warnings"]) == (1, ["acme"], 1, 1)
    first = next(one for one in told["findings"] if one["code"] == "SK303")
    assert (first["level"], first["pack"], first["signature"], first["line"]) == ("error", "acme", "deploy", 11)
    assert set(first) == {
        "code", "level", "title", "pack", "signature", "clause", "file", "line", "message", "todo", "page",
            "explain",
    }  # fmt: skip
    pack.write_text(GOOD.replace('"deploy"', '"ask_password"').replace('"Deploy? yes"', '"Deploy? "'), "utf-8")
    done = stallkit("pack", "lint", str(pack), "--fast")
    assert "SK404 error: ask_password: misses[1]: a miss that acme:ask_password matches" in done.stdout


def test_a_pack_that_is_half_installed_is_one_finding(tmp_path: Path) -> None:
    info = tmp_path / "stallkit_half-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stallkit-half\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[stallkit.packs]\nhalf = stallkit_half\n")
    done = stallkit("pack", "lint", "half", "--json", path=tmp_path)
    assert done.returncode == 7
    found = json.loads(done.stdout)["findings"]
    assert [(one["code"], one["pack"], one["file"]) for one in found] == [("SK001", "half", "stallkit-half")]
    assert "No module named 'stallkit_half'" in found[0]["message"]


def test_tune() -> None:
    corpus = Path(__file__).parents[4] / "tests" / "corpus" / "agents.jsonl"
    done = stallkit("pack", "tune", "shell_yn:typed_yes", "--corpus", str(corpus), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["version"], told["signature"], told["state"]) == (1, "shell_yn:typed_yes", "waiting")
    assert {"all_of[1]", "all_of[2]"} == {one["clause"] for one in told["effects"]}
    table = stallkit("pack", "tune", "shell_yn:typed_yes", str(corpus)).stdout
    rows = [line.split() for line in table.splitlines() if line.startswith("all_of[")]
    assert [row[:2] for row in rows if row[1] == "dropped"] == [["all_of[1]", "dropped"], ["all_of[2]", "dropped"]]


def test_a_narrow_terminal_cuts_no_figure_of_tune_off() -> None:
    command = [str(Path(sys.executable).parent / "stallkit"), "tune", "shell_yn:typed_yes"]
    wide, narrow = (
        subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": columns})
        for columns in ("200", "30")
    )
    assert "no --corpus: only the examples of shell_yn were judged" in wide.stderr and "without use" not in wide.stdout
    rows = [line.split() for line in wide.stdout.splitlines() if line.startswith("all_of[")]
    assert rows
    assert [line.split() for line in narrow.stdout.splitlines() if line.startswith("all_of[")] == rows


def test_tune_takes_a_folder_of_captures_without_a_label(tmp_path: Path) -> None:
    (tmp_path / "asks.txt").write_text("Type 'yes' to continue: ")
    (tmp_path / "prints.txt").write_text("It printed: type 'yes' to continue")
    done = stallkit("pack", "tune", "shell_yn:typed_yes", "--corpus", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["cases"], told["precision"], told["recall"], told["wrong_keys"]) == (2, None, None, 0)
    assert not any(one["without_use"] for one in told["effects"] if one["changed"] or one["broken"])


def test_tune_names_lines_that_it_cannot_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "a", "screen": "x"}\n')
    done = stallkit("pack", "tune", "shell_yn:typed_yes", "--corpus", str(broken))
    assert done.returncode == 7
    assert f"{broken}:1" in done.stderr


def test_several_packs_and_the_page_of_a_finding(pack: Path, tmp_path: Path) -> None:
    (other := tmp_path / "other" / "signatures.toml").parent.mkdir()
    other.write_text(GOOD.replace("Deploy", "Remove"), "utf-8")
    done = stallkit("pack", "lint", "--fast", str(pack), str(other))
    assert (done.returncode, done.stdout.count("0 errors")) == (0, 2)
    page = stallkit("pack", "lint", "--explain", "sk105")
    assert page.returncode == 0 and page.stdout.startswith("## SK105: ") and "# wrong" in page.stdout
    assert stallkit("pack", "lint", "--explain", "SK999").returncode == 64
    for words in (
        ["pack", "lint"],
        ["pack", "lint", "--all", str(pack)],
        ["pack", "lint", "no_such_pack"],
        ["pack", "tune", "no:such"],
    ):
        done = stallkit(*words)
        assert done.returncode == 64 and "Traceback" not in done.stderr, words


def test_a_comment_takes_a_finding_out_with_its_reason(pack: Path) -> None:
    without = GOOD.replace('source = "acme 4.2"\n', "")
    pack.write_text(without, "utf-8")
    done = stallkit("pack", "lint", "--fast", str(pack))
    assert done.returncode == 0 and "SK403 warning" in done.stdout, "warnings alone"
    above = "# lint: ignore SK403: not released yet\n[[signature]]"
    pack.write_text(without.replace("[[signature]]", above), "utf-8")
    assert stallkit("pack", "lint", "--fast", str(pack)).stdout == "acme: 0 errors, 0 warnings\n"
    for comment, why in [
        ("# lint: ignore SK403", "say why"),
        ("# lint: ignore SK999: x", "no such code"),
        ("# lint: ignore SK303: x", "cannot be taken out"),
        ("# lint: ignore", "names no code"),
    ]:
        pack.write_text(without.replace("[[signature]]", f"{comment}\n[[signature]]"), "utf-8")
        done = stallkit("pack", "lint", "--fast", str(pack))
        assert done.returncode == 7 and f"{pack}:3: SK002 error: lint: ignore" in done.stdout and why in done.stdout
        assert "SK403" in done.stdout
    pack.write_text(GOOD.replace("[[signature]]", above), "utf-8")
    assert "lint: ignore SK403 is without use: remove it" in stallkit("pack", "lint", "--fast", str(pack)).stderr


def test_the_hook_for_pre_commit_is_that_command(pack: Path) -> None:
    root = Path(__file__).parents[4]
    (hook,) = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language", "files"} <= set(hook)
    assert re.search(hook["files"], "src/stallkit_acme/signatures.toml") and not re.search(
        hook["files"], "a/settings.toml"
    )
    program, *words = hook["entry"].split()
    assert program == "stallkit"
    assert stallkit(*words, str(pack)).returncode == 0
    pack.write_text(BAD, "utf-8")
    assert stallkit(*words, str(pack)).returncode == 7


# --- try ---
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
    return subprocess.run(
        [command, "pack", "try", *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


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
