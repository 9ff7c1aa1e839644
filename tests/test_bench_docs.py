"""The measured pages are written by benchmarks: each block by its own command, and nothing else is touched."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PAGE = """# Figures

<!-- bench: one.py 5 -->
old
<!-- end -->
by hand

<!-- bench: two.py -->

| old |

<!-- end -->
"""


@pytest.fixture(scope="module")
def docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_docs", ROOT / "benchmarks" / "docs.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_every_block_is_replaced_by_what_its_command_printed(docs: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert docs.write(page, [], lambda command: f"new of {command}\\1\n") == []
    written = page.read_text()
    assert "old" not in written and "by hand" in written and written.startswith("# Figures\n")
    assert "<!-- bench: one.py 5 -->\n\nnew of one.py 5\\1\n\n<!-- end -->\nby hand" in written
    assert docs.commands(written) == ["one.py 5", "two.py"]
    assert docs.write(page, [], lambda command: f"new of {command}\\1\n") == []
    assert page.read_text() == written, "the same figures give the same page"


def test_only_those_named_run_and_what_fails_keeps_its_figures(docs: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    ran = []

    def fails(command: str) -> None:
        ran.append(command)

    assert docs.write(page, ["two"], fails) == ["two.py"] == ran
    assert page.read_text() == PAGE


def test_the_pages_name_scripts_that_are_there(docs: ModuleType) -> None:
    for page in docs.PAGES:
        text = page.read_text("utf-8")
        found = docs.commands(text)
        assert len(found) == len(set(found)) > 0
        assert text.count("<!-- bench:") == text.count("<!-- end -->") == len(found)
        for command in found:
            assert (ROOT / "benchmarks" / shlex.split(command)[0]).exists(), command


def test_the_page_of_reliability_says_what_was_kept(docs: ModuleType) -> None:
    """To write it: scripts/bench measured."""
    [page] = [page for page in docs.PAGES if page.stem == "reliability"]
    written = page.read_text("utf-8")
    for command in docs.commands(written):
        run = [sys.executable, str(ROOT / "benchmarks" / "measured.py"), *shlex.split(command)[1:]]
        printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
        assert docs.replaced(written, command, printed) == written, command
