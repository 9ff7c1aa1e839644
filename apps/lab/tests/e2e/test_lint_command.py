"""``stallkit lint`` and ``stallkit tune`` as they are typed: exit codes, JSON, plain lines, what is half installed."""

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
        done = stallkit("lint", str(path), "--fast")
        assert (done.returncode, done.stdout, done.stderr) == (0, "acme: 0 errors, 0 warnings\n", "")


def test_errors_exit_7_and_name_the_line(pack: Path) -> None:
    pack.write_text(BAD, "utf-8")
    done = stallkit("lint", str(pack), "--fast")
    assert done.returncode == 7
    assert f"\n{pack}:11: SK303 error: deploy: unknown key 'Entre'" in done.stdout
    assert done.stdout.endswith("acme: 1 error, 1 warning\n")
    assert "(stallkit lint --explain SK303)" in done.stdout
    assert "\x1b" not in done.stdout


def test_json(pack: Path) -> None:
    pack.write_text(BAD, "utf-8")
    done = stallkit("lint", str(pack), "--json", "--fast")
    told = json.loads(done.stdout)
    assert (done.returncode, told["version"], told["packs"], told["errors"], told["warnings"]) == (7, 1, ["acme"], 1, 1)
    first = next(one for one in told["findings"] if one["code"] == "SK303")
    assert (first["level"], first["pack"], first["signature"], first["line"]) == ("error", "acme", "deploy", 11)
    assert set(first) == {
        "code", "level", "title", "pack", "signature", "clause", "file", "line", "message", "todo", "page",
            "explain",
    }  # fmt: skip


def test_an_example_of_a_signature_that_is_called_secret_is_named(pack: Path) -> None:
    pack.write_text(GOOD.replace('"deploy"', '"ask_password"').replace('"Deploy? yes"', '"Deploy? "'), "utf-8")
    done = stallkit("lint", str(pack), "--fast")
    assert "SK404 error: ask_password: misses[1]: a miss that acme:ask_password matches" in done.stdout


def test_warnings_alone_exit_0(pack: Path) -> None:
    pack.write_text(GOOD.replace('source = "acme 4.2"\n', ""), "utf-8")
    done = stallkit("lint", str(pack), "--fast")
    assert done.returncode == 0
    assert "SK403 warning" in done.stdout


def test_an_installed_pack_by_name() -> None:
    done = stallkit("lint", "node_prompts", "--fast")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("node_prompts: 0 errors")


def test_a_pack_that_is_half_installed_is_one_finding(tmp_path: Path) -> None:
    info = tmp_path / "stallkit_half-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stallkit-half\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[stallkit.packs]\nhalf = stallkit_half\n")
    done = stallkit("lint", "half", "--json", path=tmp_path)
    assert done.returncode == 7
    found = json.loads(done.stdout)["findings"]
    assert [(one["code"], one["pack"], one["file"]) for one in found] == [("SK001", "half", "stallkit-half")]
    assert "No module named 'stallkit_half'" in found[0]["message"]


def test_usage() -> None:
    for arguments in [["lint"], ["lint", "no_such_pack"], ["lint", "x", "--all"], ["tune", "no:such"]]:
        done = stallkit(*arguments)
        assert done.returncode == 64, arguments
        assert "Traceback" not in done.stderr, arguments


def test_tune() -> None:
    corpus = Path(__file__).parents[4] / "tests" / "corpus" / "agents.jsonl"
    done = stallkit("tune", "shell_yn:typed_yes", "--corpus", str(corpus), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["version"], told["signature"], told["state"]) == (1, "shell_yn:typed_yes", "waiting")
    assert {"all_of[1]", "all_of[2]"} == {one["clause"] for one in told["effects"]}
    table = stallkit("tune", "shell_yn:typed_yes", str(corpus)).stdout
    rows = [line.split() for line in table.splitlines() if line.startswith("all_of[")]
    assert [row[:2] for row in rows if row[1] == "dropped"] == [["all_of[1]", "dropped"], ["all_of[2]", "dropped"]]


def test_a_narrow_terminal_cuts_no_figure_of_tune_off() -> None:
    command = [str(Path(sys.executable).parent / "stallkit"), "tune", "shell_yn:typed_yes"]
    wide, narrow = (
        subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": columns})
        for columns in ("200", "30")
    )
    rows = [line.split() for line in wide.stdout.splitlines() if line.startswith("all_of[")]
    assert rows
    assert [line.split() for line in narrow.stdout.splitlines() if line.startswith("all_of[")] == rows


def test_tune_names_lines_that_it_cannot_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "a", "screen": "x"}\n')
    done = stallkit("tune", "shell_yn:typed_yes", "--corpus", str(broken))
    assert done.returncode == 7
    assert f"{broken}:1" in done.stderr


def test_several_packs_and_the_page_of_a_finding(pack: Path, tmp_path: Path) -> None:
    (other := tmp_path / "other" / "signatures.toml").parent.mkdir()
    other.write_text(GOOD.replace("Deploy", "Remove"), "utf-8")
    done = stallkit("lint", "--fast", str(pack), str(other))
    assert (done.returncode, done.stdout.count("0 errors")) == (0, 2)
    page = stallkit("lint", "--explain", "sk105")
    assert page.returncode == 0 and page.stdout.startswith("# SK105: ") and "Passes:" in page.stdout
    assert stallkit("lint", "--explain", "SK999").returncode == 64
    assert stallkit("lint").returncode == stallkit("lint", "--all", str(pack)).returncode == 64


def test_a_comment_takes_a_finding_out_with_its_reason(pack: Path) -> None:
    without = GOOD.replace('source = "acme 4.2"\n', "")
    pack.write_text(without, "utf-8")
    assert "SK403" in stallkit("lint", "--fast", str(pack)).stdout
    above = "# lint: ignore SK403: not released yet\n[[signature]]"
    pack.write_text(without.replace("[[signature]]", above), "utf-8")
    assert stallkit("lint", "--fast", str(pack)).stdout == "acme: 0 errors, 0 warnings\n"
    for comment, why in [
        ("# lint: ignore SK403", "say why"),
        ("# lint: ignore SK999: x", "no such code"),
        ("# lint: ignore SK303: x", "cannot be taken out"),
        ("# lint: ignore", "names no code"),
    ]:
        pack.write_text(without.replace("[[signature]]", f"{comment}\n[[signature]]"), "utf-8")
        done = stallkit("lint", "--fast", str(pack))
        assert done.returncode == 7 and f"{pack}:3: SK002 error: lint: ignore" in done.stdout and why in done.stdout
        assert "SK403" in done.stdout
    pack.write_text(GOOD.replace("[[signature]]", above), "utf-8")
    assert "lint: ignore SK403 is without use: remove it" in stallkit("lint", "--fast", str(pack)).stderr


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


def test_tune_without_a_corpus_says_so() -> None:
    done = stallkit("tune", "shell_yn:yes_no")
    assert done.returncode == 0 and "no --corpus: only the examples of shell_yn were judged" in done.stderr
