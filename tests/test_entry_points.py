"""Entry points that are remembered: what `importlib.metadata` finds, as long as nothing was installed or removed."""

from __future__ import annotations

import os
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from stallkit.cache import user_cache
from stallkit.entry_points import GROUPS, EntryPoint, entry_points, own_version, stamp

LONG_AGO = time.time() - 3600


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory on the path that distributions are laid in, and a cache of the test's own."""
    monkeypatch.setenv("STALLKIT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "site").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    return tmp_path / "site"


def lay(site: Path, points: str, name: str = "acme", version: str = "1.2") -> Path:
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[stallkit.packs]\n{points}\n")
    for path in (info / "METADATA", info / "entry_points.txt", info):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return info


def packs() -> list[EntryPoint]:
    return entry_points("stallkit.packs")


def kept() -> list[Path]:
    cache = user_cache("entry-points")
    assert cache is not None
    return list(cache.folder.iterdir()) if cache.folder.exists() else []


def test_what_is_remembered_is_what_is_installed() -> None:
    for group in GROUPS:
        installed = sorted((one.name, one.value) for one in metadata.entry_points(group=group))
        for _ in range(2):
            assert sorted((one.name, one.value) for one in entry_points(group)) == installed
    assert own_version() == metadata.version("stallkit")


def test_it_is_asked_from_the_cache(site: Path) -> None:
    lay(site, "a = acme_pack")
    assert packs() == [EntryPoint("a", "acme_pack", "acme", "1.2")]
    (file,) = kept()
    cache = user_cache("entry-points")
    assert cache is not None
    for rubbish in (b"", b"stallkit.pack\tb\tc", b"\xff"):
        cache.write(file.name, stamp()[1], rubbish)
        assert packs() == [EntryPoint("a", "acme_pack", "acme", "1.2")], "it is not what was written"
    cache.write(file.name, stamp()[1], b"stallkit.packs\tb\tc\td\te")
    assert packs() == [EntryPoint("b", "c", "d", "e")]


def test_what_is_installed_changed_or_removed_is_seen(site: Path) -> None:
    info = lay(site, "a = acme_pack")
    assert [one.name for one in packs()] == ["a"]
    lay(site, "b = other", "other")
    assert [one.name for one in packs()] == ["a", "b"]
    points = info / "entry_points.txt"
    points.write_text(points.read_text() + "more = acme_more\n")
    assert [one.name for one in packs()] == ["a", "more", "b"]
    for file in info.iterdir():
        file.unlink()
    info.rmdir()
    assert [one.name for one in packs()] == ["b"]


def test_what_was_just_installed_is_not_remembered_yet(site: Path) -> None:
    """Its files could change again within one tick of the file system's clock."""
    info = lay(site, "a = acme_pack")
    os.utime(info / "METADATA")
    assert [one.name for one in packs()] == ["a"]
    assert kept() == []


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
