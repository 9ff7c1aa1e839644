"""Entry points: what `importlib.metadata` finds, in order."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from stallkit.distributions import EntryPoint, entry_points, own_version

GROUPS = ("stallkit.classifiers", "stallkit.packs", "stallkit.signals", "stallkit.transports")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory on the path that distributions are laid in, alone on it."""
    (tmp_path / "site").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    return tmp_path / "site"


def lay(site: Path, points: str, name: str = "acme", version: str = "1.2") -> Path:
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[stallkit.packs]\n{points}\n")
    return info


def packs() -> list[EntryPoint]:
    return entry_points("stallkit.packs")


def test_what_is_found_is_what_is_installed() -> None:
    for group in GROUPS:
        installed = sorted((one.name, one.value) for one in metadata.entry_points(group=group))
        assert sorted((one.name, one.value) for one in entry_points(group)) == installed
    assert own_version() == metadata.version("stallkit")


def test_an_interrupted_install_has_no_name(site: Path) -> None:
    info = lay(site, "a = acme_pack")
    (info / "METADATA").unlink()
    assert packs() == [EntryPoint("a", "acme_pack", "", "")]


def test_a_module_or_an_object_in_it_is_loaded() -> None:
    assert EntryPoint("a", "json").load() is sys.modules["json"]
    assert EntryPoint("a", "os.path:join").load() is os.path.join
    assert EntryPoint("a", "os.path:join").module == "os.path"
    with pytest.raises(ModuleNotFoundError):
        EntryPoint("a", "stallkit_that_is_not_there").load()
