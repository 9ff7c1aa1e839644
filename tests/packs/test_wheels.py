"""What is installed is what is written here: every file of every distribution, and every module of it can be loaded."""

from __future__ import annotations

import os
import pkgutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted([ROOT / "stallkit", *ROOT.glob("plugins/*/src/stallkit_*")])


@pytest.mark.parametrize("source", PACKAGES, ids=lambda path: path.name)
def test_every_file_is_installed(source: Path) -> None:
    listed = subprocess.check_output(["git", "ls-files", "-z", "."], cwd=source, text=True).split("\0")[:-1]
    package = import_module(source.name)
    assert package.__file__ is not None
    installed = Path(package.__file__).parent
    assert os.environ.get("STALLKIT_INSTALLED") is None or installed != source
    assert listed and [name for name in listed if (installed / name).read_bytes() != (source / name).read_bytes()] == []


@pytest.mark.parametrize("source", PACKAGES, ids=lambda path: path.name)
def test_every_module_can_be_loaded(source: Path) -> None:
    package = import_module(source.name)
    for found in pkgutil.walk_packages(package.__path__, f"{source.name}."):
        import_module(found.name)
