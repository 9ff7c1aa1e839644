"""Kept packs: the same values and the same verdicts as those read from their files, and a cache never wrong.

Each test of the cache first sees that the cache answers: it holds another pack under the right key.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stallkit
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Pack, Signature
from stallkit.errors import PackFormatError
from stallkit.packs import registry
from stallkit.packs.pack_file import parse_pack
from stallkit.packs.registry import find, load_pack, restored, through
from stallkit.testing.strategies import Case, cases

CONTENT = b"""format = 1
[[signature]]
id = "real"
title = "the one in the file"
state = "waiting"
kind = "confirm"
all_of = [{ pattern = "Proceed[?] $", where = "prompt_line" }]
"""
REAL = parse_pack(CONTENT, "p", "acme")
DECOY = Pack("decoy", signatures=[Signature("decoy", "from the cache", "idle", ["nothing at all"])])
USER_IS_ROOT = os.geteuid() == 0


def loaded(folder: Path, content: bytes = CONTENT, **made_by: bytes) -> Pack:
    return through(folder, content, "/somewhere/signatures.toml", "acme", **made_by)


def file_of(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def lay(folder: Path, payload: bytes) -> None:
    """Write a payload under the very key that the pack's content has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_read", lambda file, key: registry._write(file, key + payload))
        patch.setattr("pickle.dumps", lambda pack: payload)
        loaded(folder)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder that answers, with the decoy: what is then changed decides whether it is believed."""
    (tmp_path / "home").mkdir(mode=0o700)
    folder = tmp_path / "home" / "packs"
    assert loaded(folder) == REAL
    lay(folder, pickle.dumps(DECOY))
    assert loaded(folder) == DECOY, "nothing is read from the cache, so this test would show nothing"
    return folder


@pytest.fixture(scope="module")
def shipped() -> list[tuple[str, bytes]]:
    files = [Path(str(import_module(entry.module).__file__)).with_name("signatures.toml") for entry in find()]
    return [(str(file), file.read_bytes()) for file in files if file.exists()]


def test_shipped_packs_are_restored_as_they_were_parsed(shipped: list[tuple[str, bytes]]) -> None:
    assert len(shipped) >= 7
    for path, content in shipped:
        pack = parse_pack(content, path, "a")
        again = restored(pickle.dumps(pack))
        assert again == pack
        assert [one.tier for one in again.signatures] == [one.tier for one in pack.signatures]


@given(cases())
def test_random_packs_are_restored_and_give_the_same_verdicts(case: Case) -> None:
    again = [restored(pickle.dumps(pack)) for pack in case.packs]
    assert again == list(case.packs)
    before, after = Engine(case.packs), Engine(again)
    for screen in case.screens:
        assert after.detect(screen) == before.detect(screen)
        assert after.explain(screen) == before.explain(screen)


def test_an_error_of_a_file_is_told_every_time_and_nothing_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    for _ in range(2):
        with pytest.raises(PackFormatError, match="all_of"):
            loaded(folder, content=CONTENT.replace(b"all_of", b"some_of"))
    assert not folder.exists()


class Runs:
    """What a pickle can be made to do: call anything."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_poisoned_file_runs_nothing(cache: Path, tmp_path: Path) -> None:
    for payload in (Runs(tmp_path / "ran"), (DECOY, Runs(tmp_path / "ran"))):
        poison = pickle.dumps(payload)
        lay(cache, poison)
        assert loaded(cache) == REAL
        assert not (tmp_path / "ran").exists()
        with pytest.raises(ValueError):
            restored(poison)
    pickle.loads(poison)  # so that it is seen to be poison
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("payload", [(), 1, (DECOY,), DECOY.signatures])
def test_a_pickle_of_something_else_is_not_taken(cache: Path, payload: object) -> None:
    lay(cache, pickle.dumps(payload))
    assert loaded(cache) == REAL


@pytest.mark.parametrize(
    "name", ["builtins.eval", "builtins.getattr", "os.system", "stallkit.packs.registry.load_pack"]
)
def test_only_the_values_of_a_pack_are_made(name: str) -> None:
    module, _, function = name.rpartition(".")
    with pytest.raises(ValueError):
        restored(b"c" + f"{module}\n{function}\n".encode() + b".")


def test_another_python_or_other_code_parses_anew(cache: Path) -> None:
    assert loaded(cache, made_by=b"b" * 32) == REAL
    assert loaded(cache) == REAL, "the earlier one was replaced: one file a pack"
    assert len(list(cache.iterdir())) == 1


def test_the_key_is_of_the_code_and_of_the_phrases(tmp_path: Path) -> None:
    """A copy of stallkit has the same one, until a line of it changes, with the same size and time."""
    shutil.copytree(Path(stallkit.__file__).parent, tmp_path / "stallkit", ignore=shutil.ignore_patterns("__pycache__"))
    code = "from stallkit.packs import registry; print(registry._MADE_BY)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}

    def told() -> str:
        words = [sys.executable, "-c", code]
        return subprocess.run(words, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    assert told().strip() == str(registry._MADE_BY)
    keys = [told()]
    for name, old, new in (
        ("detect/signature.py", "\nAPI = 2 ", "\nAPI = 3 "),
        ("data/phrases.toml", "(?:cancel|abort", "(?:cancel|avert"),  # they stand in the patterns of packs
    ):
        changed = tmp_path / "stallkit" / name
        before, text = changed.stat(), changed.read_text()
        changed.write_text(text.replace(old, new))
        os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert changed.stat().st_size == before.st_size and changed.read_text() != text
        keys.append(told())
    assert len(set(keys)) == 3


def test_a_changed_file_with_the_same_size_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "stallkit_stale"
    package.mkdir()
    (package / "__init__.py").touch()
    file = package / "signatures.toml"
    file.write_bytes(CONTENT)
    monkeypatch.syspath_prepend(tmp_path)
    before = file.stat()
    assert load_pack("stallkit_stale").signatures[0].id == "real"
    file.write_bytes(CONTENT.replace(b'"real"', b'"late"'))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert load_pack("stallkit_stale").signatures[0].id == "late"


def test_a_file_cut_short_or_changed_anywhere_is_not_taken(cache: Path) -> None:
    whole = file_of(cache).read_bytes()
    ends = [*range(0, 90), *range(90, len(whole), 37), len(whole) - 1]
    for end in ends:
        file_of(cache).write_bytes(whole[:end])
        assert loaded(cache) == REAL, end
    for place in ends:
        file_of(cache).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert loaded(cache) == REAL, place
    file_of(cache).write_bytes(whole + b"\0")
    assert loaded(cache) == REAL
    file_of(cache).write_bytes(whole)
    assert loaded(cache) == DECOY


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_restored_or_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        restored(content)


def replaced_by_a_link(file: Path) -> None:
    moved = file.parent.parent / "elsewhere"
    file.rename(moved)
    file.symlink_to(moved)


def given_a_second_name(file: Path) -> None:
    (file.parent.parent / "elsewhere").hardlink_to(file)


def replaced_by_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


FOUL: dict[str, Callable[[Path], object]] = {
    "the file can be written by others": lambda file: file.chmod(0o606),
    "by the group": lambda file: file.chmod(0o620),
    "the file is a link": replaced_by_a_link,
    "the file has another name": given_a_second_name,
    "the file is a pipe": replaced_by_a_pipe,
    "the folder can be written by others": lambda file: file.parent.chmod(0o777),
    "so can the one above it": lambda file: file.parent.parent.chmod(0o777),
    "the folder is a link": lambda file: (
        file.parent.rename(file.parent.parent / "e") and file.parent.symlink_to(file.parent.parent / "e")
    ),
}


@pytest.mark.parametrize("how", FOUL)
def test_what_others_can_have_written_is_not_taken(cache: Path, how: str) -> None:
    FOUL[how](file_of(cache))
    assert loaded(cache) == REAL


@pytest.mark.skipif(not USER_IS_ROOT, reason="gives files to another user")
@pytest.mark.parametrize("whose", ["file", "folder"])
def test_what_belongs_to_another_user_is_not_taken(cache: Path, whose: str) -> None:
    os.chown(file_of(cache) if whose == "file" else cache, 4711, 4711)
    assert loaded(cache) == REAL


def test_many_processes_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    code = "from stallkit import load_pack\nfor _ in range(5): print(len(load_pack('stallkit_shell_yn').signatures))"
    environment = os.environ | {"STALLKIT_CACHE": str(tmp_path)}
    words = [sys.executable, "-c", code]
    running = [subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = {line for one in running for line in one.communicate()[0].splitlines()}
    assert all(one.returncode == 0 for one in running)
    assert told == {str(len(load_pack("stallkit_shell_yn").signatures))}
    assert len(list((tmp_path / "packs").iterdir())) == 1, "nothing half written is left"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert loaded(tmp_path / "file" / "packs") == REAL
    (tmp_path / "full").mkdir(mode=0o500)
    assert loaded(tmp_path / "full" / "packs") == REAL
    assert loaded(Path("/proc/stallkit")) == REAL


def test_off_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("STALLKIT_CACHE", "off")
    assert load_pack("stallkit_shell_yn").signatures
    assert not list(tmp_path.iterdir())
    monkeypatch.delenv("STALLKIT_CACHE")
    assert load_pack("stallkit_shell_yn").signatures
    folder = tmp_path / "cache" / "stallkit" / "packs"
    assert len(list(folder.iterdir())) == 1
    assert folder.stat().st_mode & 0o777 == 0o700
