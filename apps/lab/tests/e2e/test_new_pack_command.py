"""`stallkit pack new` as it is typed: what it makes installs, tests and lints green as it stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has all that this one has, and takes a pack without this one's knowing."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root, with_pip=False, symlinks=True)
    site = sysconfig.get_path("purelib", vars={"base": str(root), "platbase": str(root)})
    (Path(site) / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    return root / "bin"


def call(where: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTEST_ADDOPTS": "", "NO_COLOR": "1"}
    return subprocess.run(
        list(map(str, command)), cwd=where, env=variables, check=False, capture_output=True, text=True, timeout=300
    )


def green(pack: Path, environment: Path) -> str:
    """What its tests print: it installs, and tests and lint pass."""
    python = environment / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    installed = call(pack, *pip, "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "-e", ".")
    assert installed.returncode == 0, installed.stderr
    tested = call(pack, python, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    linted = call(pack, python, "-m", "stallkit", "pack", "lint", *pack.glob("src/stallkit_*"), "--fast", "--json")
    assert linted.returncode == 0, linted.stdout + linted.stderr
    assert json.loads(linted.stdout)["findings"] == []
    return tested.stdout


def test_it_installs_tests_and_lints_green_as_it_stands(
    environment: Path, stallkit_command: str, tmp_path: Path
) -> None:
    pack = tmp_path / "stallkit-acme"
    made = call(tmp_path, stallkit_command, "pack", "new", "acme")
    assert (made.returncode, made.stderr) == (0, "")
    assert "7 passed" in green(pack, environment)  # four examples, complete, and two tests of its own
    stallkit = [environment / "python", "-m", "stallkit"]
    listed = json.loads(call(pack, *stallkit, "pack", "list", "--json").stdout)
    assert "acme" in [one["name"] for one in listed["packs"]]
    (pack / "asks.txt").write_text("acme: continue with it? [yes/no]: ")
    shown = call(pack, *stallkit, "check", "file:asks.txt", "--json")
    assert json.loads(shown.stdout)["signature"] == "asks_to_continue"
    again = call(tmp_path, *stallkit, "pack", "new", "acme", "elsewhere")
    assert (again.returncode, "a pack acme is installed already" in again.stderr) == (64, True)


def test_so_does_an_agents(environment: Path, stallkit_command: str, tmp_path: Path) -> None:
    made = call(tmp_path, stallkit_command, "pack", "new", "--agent", "acme-smith")
    assert (made.returncode, made.stderr) == (0, "")
    assert "5 passed" in green(tmp_path / "stallkit-acme-smith", environment)


def test_the_object_says_what_was_written(stallkit_command: str, tmp_path: Path) -> None:
    made = call(tmp_path, stallkit_command, "pack", "new", "Stallkit_Acme", "here/pack", "--json")
    told = json.loads(made.stdout)
    assert (told["version"], told["pack"], told["distribution"]) == (1, "acme", "stallkit-acme")
    assert told["directory"] == "here/pack"
    assert all((tmp_path / "here/pack" / file).is_file() for file in told["files"])


def test_a_file_where_a_folder_is_due_is_not_called_a_directory_that_exists(
    stallkit_command: str, tmp_path: Path
) -> None:
    (tmp_path / "here").touch()
    done = call(tmp_path, stallkit_command, "pack", "new", "acme", "here/pack")
    assert (done.returncode, "Not a directory: 'here'" in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_made_is_said_in_a_line(stallkit_command: str, tmp_path: Path) -> None:
    for arguments, said in (
        (["a b"], "'a b' is not a name for a distribution"),
        (["shell-yn"], "a pack shell_yn is installed already"),
        (["acme", "."], ". exists already; name a directory that does not"),
    ):
        done = call(tmp_path, stallkit_command, "pack", "new", *arguments)
        assert (done.returncode, said in done.stderr) == (64, True), done.stderr
    assert list(tmp_path.iterdir()) == []
