"""The examples of the pages pass ``mypy --strict``: what a person copies into a typed program is typed.

A page's ``>>>`` lines are one program; so is a ``python`` block that imports what it uses, and each of docs/examples.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(page: Path) -> list[str]:
    """The examples of a page."""
    text = page.read_text()
    lines = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    blocks = [block for block in _BLOCK.findall(text) if ">>>" not in block]
    whole = [
        block for block in blocks if re.match(r"(import|from) ", block) and "SOURCE" not in block
    ]  # to be filled in
    return [one for one in (lines, *whole) if one]


def complaints(folder: Path, sources: dict[str, str]) -> str:
    """What mypy says of these programs; empty where it is content."""
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    files = [str(folder / f"{name}.py") for name in sources]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_examples_are_typed(tmp_path: Path) -> None:
    sources = {path.stem: path.read_text() for path in (ROOT / "docs" / "examples").glob("*.py")}
    sources["target"] = (
        "from stallkit import open_target\n\nwith open_target('tmux:w1') as session:\n    session.capture()\n"
    )
    for page in PAGES:
        name = re.sub(r"[^a-z]", "_", str(page.relative_to(ROOT)).lower())
        sources |= {f"{name}_{number}": source for number, source in enumerate(programs(page))}
    assert len(sources) >= 12
    assert complaints(tmp_path, sources) == ""


def test_what_the_examples_import_is_typed_where_it_is_installed() -> None:
    """The search path of this checkout finds types without the marker; that of a user does not."""
    text = "".join(program for page in PAGES for program in programs(page))
    packages = set(re.findall(r"^(?:from|import) (stallkit(?:_[a-z]+)?)\b", text, re.MULTILINE))
    assert {"stallkit", "stallkit_sessions", "stallkit_supervisor"} <= packages
    for package in packages:
        assert Path(str(import_module(package).__file__)).with_name("py.typed").is_file(), package


@pytest.mark.parametrize("source", ["def f(x):\n    return x\n", "from stallkit import check\ncheck(3)\n"])
def test_an_untyped_example_is_noticed(tmp_path: Path, source: str) -> None:
    assert "error" in complaints(tmp_path, {"wrong": source})
