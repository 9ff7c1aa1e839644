"""What wheels installed is what is written here: every file of every distribution, every module can be loaded, and
every example of every pack is met by what was installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stallkit.testing import examples

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(ROOT.glob("plugins/*/src/stallkit_*"))
PACKS = [path for path in PLUGINS if (path / "signatures.toml").exists()]
PACKAGES = [ROOT / "stallkit", *PLUGINS]


def place_of(package: str, elsewhere: Path) -> Path:
    """Where another process finds a package: the tests' own may have one from the checkout."""
    code = f"import {package}; print({package}.__file__)"
    return Path(subprocess.check_output([sys.executable, "-c", code], cwd=elsewhere, text=True).strip()).parent


@pytest.mark.parametrize("source", PACKAGES, ids=lambda path: path.name)
def test_every_file_is_installed(source: Path, tmp_path: Path) -> None:
    listed = subprocess.check_output(["git", "ls-files", "-z", "."], cwd=source, text=True).split("\0")[:-1]
    installed = place_of(source.name, tmp_path)
    assert installed != source
    assert listed and [name for name in listed if (installed / name).read_bytes() != (source / name).read_bytes()] == []


@pytest.mark.parametrize("source", PACKAGES, ids=lambda path: path.name)
def test_every_module_can_be_loaded(source: Path, tmp_path: Path) -> None:
    code = (
        "import importlib, pkgutil, sys\n"
        "package = importlib.import_module(sys.argv[1])\n"
        "for found in pkgutil.walk_packages(package.__path__, sys.argv[1] + '.'): importlib.import_module(found.name)"
    )
    subprocess.run([sys.executable, "-c", code, source.name], cwd=tmp_path, check=True)


@pytest.mark.parametrize("source", PACKS, ids=lambda path: path.name)
def test_every_example_is_met(source: Path, tmp_path: Path) -> None:
    code = "import sys; from stallkit.testing import check_pack; print(check_pack(sys.argv[1]))"
    count = subprocess.check_output([sys.executable, "-c", code, source.name], cwd=tmp_path, text=True)
    assert int(count) == len(list(examples(source))) > 0
