"""The pytest plug-in, in runs of pytest of its own: what it collects, what it says, and where it keeps out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = """\
format = 1
name = "deploys"

[[signature]]
id = "allow"
title = "acme asks"
state = "waiting"
kind = "confirm"
all_of = [{ pattern = '^Deploy to \\S+ now\\? \\[yes/no\\]: *$', where = "prompt_line" }]
hits = ["Deploy to staging now? [yes/no]: "]
misses = ["Deploy to staging now? [yes/no]: yes"]
"""
SHOWN = "Building\nDeploy to production now? [yes/no]: \n"
PACK = "src/deploys/signatures.toml"
OTHERS = ("cacheprovider", "hypothesispytest", "schemathesis", "anyio", "xdist")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """The folder of a project with one good pack in it."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    write(tmp_path, "signatures.toml", GOOD)
    write(tmp_path, "screens/allow/hit-80x24.txt", SHOWN)
    return tmp_path


def write(project: Path, name: str, content: str | bytes) -> Path:
    file = project / "src/deploys" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def run(project: Path, *arguments: str) -> tuple[int, str]:
    """A run of pytest in that project, without other plug-ins, which take longer; its exit code and what it printed."""
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "COLUMNS": "200", "NO_COLOR": "1"}
    without = [word for name in OTHERS for word in ("-p", f"no:{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *without, *arguments],
        cwd=project, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def outcomes(text: str) -> dict[str, str]:
    """What became of each item, by its node id."""
    return dict(re.findall(r"^(\S+::.+?) (PASSED|FAILED|XFAIL|XPASS|ERROR)", text, re.MULTILINE))


def test_each_example_is_an_item_with_a_readable_id(pack: Path) -> None:
    write(pack, "screens/allow/todo-windows.txt", "C:\\> Deploy (yes/no)\n")
    code, text = run(pack, "-v")
    assert outcomes(text) == {
        f"{PACK}::allow/hits[1]": "PASSED",
        f"{PACK}::allow/misses[1]": "PASSED",
        f"{PACK}::allow/hit-80x24": "PASSED",
        f"{PACK}::allow/todo-windows": "XFAIL",
        f"{PACK}::complete": "PASSED",
    }
    assert code == 0


@pytest.mark.parametrize(
    ("named", "ran"),
    [
        (f"{PACK}::allow/hit-80x24", [f"{PACK}::allow/hit-80x24"]),
        (f"{PACK}::allow/misses[1]", [f"{PACK}::allow/misses[1]"]),
        ("src/deploys/screens/allow/hit-80x24.txt", ["src/deploys/screens/allow/hit-80x24.txt::allow/hit-80x24"]),
    ],
)
def test_one_of_them_can_be_named(pack: Path, named: str, ran: list[str]) -> None:
    code, text = run(pack, "-v", named)
    assert list(outcomes(text)) == ran
    assert code == 0


@pytest.mark.parametrize(
    ("file", "content", "item", "said"),
    [
        ("hit-1.txt", "Deploy?\n", "allow/hit-1", "a hit that nothing matches"),
        ("hit-1.txt", "Deploy?\n", "allow/hit-1", "the prompt line is 'Deploy?'"),
        ("miss-1.txt", SHOWN, "allow/miss-1", "it matched: Deploy to production now?"),
        ("todo-1.txt", SHOWN, "allow/todo-1", "[XPASS(strict)] a known gap; once it passes, rename it to hit-"),
        ("todo-miss-1.txt", "x\n", "allow/todo-miss-1", "once it passes, rename it to miss-"),
        ("shot-1.txt", SHOWN, "allow/shot-1", "begin its name with hit-, miss- or todo-"),
        ("hit-1.txt", "---\nsizes = 3\n---\nx\n", "allow/hit-1", "unknown key"),
    ],
)
def test_what_is_wrong_is_said(pack: Path, file: str, content: str, item: str, said: str) -> None:
    write(pack, f"screens/allow/{file}", content)
    code, text = run(pack, "-v")
    assert [name for name, what in outcomes(text).items() if what == "FAILED"] == [f"{PACK}::{item}"]
    assert said in text
    assert code == 1


def test_a_missing_miss_and_a_stray_folder_are_named(pack: Path) -> None:
    write(pack, "signatures.toml", GOOD.split("misses")[0])
    write(pack, "screens/gone/hit-1.txt", SHOWN)
    code, text = run(pack)
    assert "allow: it has no miss" in text
    assert "screens/gone: no signature has this id" in text
    assert code == 1


def test_a_broken_pack_is_an_error_of_its_own_file(pack: Path) -> None:
    write(pack, "signatures.toml", GOOD.replace("state", "stat"))
    (pack / "test_other.py").write_text("def test_it(): pass\n")
    code, text = run(pack, "--continue-on-collection-errors")
    assert f"ERROR {PACK}" in text
    assert "unknown key 'stat'" in text
    assert "1 passed" in text
    assert code == 1


def test_a_capture_with_control_codes_is_rewritten_on_demand(pack: Path) -> None:
    file = write(pack, "screens/allow/hit-raw.txt", b"12%\r\x1b[2KDeploy to \x1b[1mstaging\x1b[0m now? [yes/no]: ")
    before = file.read_bytes()
    code, text = run(pack)
    assert code == 1
    assert "pytest --update-screens rewrites it" in text
    assert r"-12%\r\x1b[2KDeploy to \x1b[1mstaging\x1b[0m now?" in text
    assert "\x1b" not in text
    assert file.read_bytes() == before
    code, text = run(pack, "--update-screens")
    assert code == 0
    assert "screens rewritten" in text
    assert "+Deploy to staging now? [yes/no]: " in text
    assert file.read_bytes() == b"Deploy to staging now? [yes/no]: \n"
    assert [one.name for one in sorted(file.parent.iterdir())] == ["hit-80x24.txt", "hit-raw.txt"]
    code, text = run(pack, "--update-screens")
    assert (code, "screens rewritten" in text) == (0, False)


def test_only_screens_are_rewritten_and_only_text(pack: Path) -> None:
    latin = write(pack, "screens/allow/hit-latin.txt", b"caf\xe9\nDeploy to staging now? [yes/no]: \x1b[0m")
    hidden = write(pack, "screens/allow/.hit-raw.txt.swp", b"\0\xff\x1b[1m")
    stray = write(pack, "screens/allow/notes.md", b"\x1b[1m")
    folder = write(pack, "screens/allow/hit-folder.txt/x", b"").parent
    before = [file.read_bytes() for file in (latin, hidden, stray)]
    code, text = run(pack, "-v", "--update-screens")
    assert code == 1
    # pytest writes a dot in an item's name as ::
    assert [name for name, what in outcomes(text).items() if what == "FAILED"] == [
        f"{PACK}::allow/{name}" for name in ("hit-folder", "hit-latin", "notes::md")
    ]
    assert f"{latin}:1: not UTF-8" in text
    assert f"{folder}: it cannot be read: Is a directory" in text
    assert "Traceback" not in text
    assert "screens rewritten" not in text
    assert [file.read_bytes() for file in (latin, hidden, stray)] == before


@pytest.mark.parametrize("other", ["[virus]\nbytes = 'EICAR'\n", "format = 'pgp'\n", "\x00\xff not even TOML"])
def test_a_file_of_that_name_that_is_no_pack_and_stray_screens_are_left_alone(pack: Path, other: str) -> None:
    write(pack, "signatures.toml", other)
    write(pack, "screens/allow/hit-other.txt", "\x1b[1m")
    code, text = run(pack, "--update-screens")
    assert "collected 0 items" in text
    assert code == 5  # pytest's own: nothing was collected


def test_it_can_be_turned_off(pack: Path) -> None:
    code, text = run(pack, "-p", "no:stallkit")
    assert "collected 0 items" in text
    assert code == 5


def test_nothing_of_stallkit_is_loaded_where_no_pack_is(tmp_path: Path) -> None:
    names = {"stallkit", "stallkit.old_names", "stallkit.testing", "stallkit.testing.plugin"}
    (tmp_path / "signatures.toml").write_text("[virus]\n")
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n"
        f"    assert {{n for n in sys.modules if n.split('.')[0] == 'stallkit'}} == {names}\n"
        "    assert not {'regex', 'attr', 'click', 'rich'} & set(sys.modules)\n"
    )
    code, text = run(tmp_path)
    assert code == 0, text


def test_the_bundled_packs_rely_on_it(pytestconfig: pytest.Config) -> None:
    """Their own tests do not hold them to their examples any more."""
    assert pytestconfig.pluginmanager.has_plugin("stallkit")
    root = Path(__file__).parents[2]
    _, text = run(root, "--collect-only", "-q", "plugins")
    for name in ("claude_code", "node_prompts", "shell_auth", "shell_tools", "shell_yn"):
        assert f"plugins/{name}/src/stallkit_{name}/signatures.toml::complete" in text
