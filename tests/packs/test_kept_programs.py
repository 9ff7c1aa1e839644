"""The programs of patterns in the user's cache: read by the next process, and by none that is another.

What may be in the file's place (cut, foreign, a link) is the same for all of the cache: `test_compiled`.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stallkit
from stallkit.cache import Cache
from stallkit.packs.kept_programs import KeptPrograms, user_programs

MADE_BY = b"a" * 32
KEY = ("re", 1, "a+", 8)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    (tmp_path / "home").mkdir(mode=0o700)
    return Cache(tmp_path / "home" / "packs")


def test_the_next_process_finds_what_was_put(cache: Cache) -> None:
    assert KeptPrograms(cache, MADE_BY).get(KEY) is None
    KeptPrograms(cache, MADE_BY).put({KEY: (8, [1, 2])})
    assert KeptPrograms(cache, MADE_BY).get(KEY) == (8, [1, 2])
    assert KeptPrograms(cache, b"b" * 32).get(KEY) is None, "another Python, or other code"


def test_two_at_once_keep_what_both_learnt_and_what_was_asked_for_last_stays(cache: Cache) -> None:
    one, other = KeptPrograms(cache, MADE_BY), KeptPrograms(cache, MADE_BY)
    one.put({KEY: 1})
    other.put({("re", 1, "b", 8): 2})
    both = KeptPrograms(cache, MADE_BY)
    assert (both.get(KEY), both.get(("re", 1, "b", 8))) == (1, 2)
    both.put({("re", 1, str(number), 8): number for number in range(1_999)})
    full = KeptPrograms(cache, MADE_BY)
    assert (full.get(KEY), full.get(("re", 1, "b", 8)), full.get(("re", 1, "1998", 8))) == (None, 2, 1_998)


@pytest.mark.parametrize("payload", [b"", b"x", pickle.dumps(3), pickle.dumps({KEY: 1}), pickle.dumps({KEY: b"x"})])
def test_a_payload_of_something_else_is_no_answer(cache: Cache, payload: bytes) -> None:
    KeptPrograms(cache, MADE_BY).put({KEY: 1})
    (file,) = cache.folder.iterdir()
    cache.write(file.name, MADE_BY, payload)
    assert KeptPrograms(cache, MADE_BY).get(KEY) is None


def test_a_poisoned_file_runs_nothing(cache: Cache, tmp_path: Path) -> None:
    class Runs:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "ran"),)

    for payload in (pickle.dumps(Runs()), pickle.dumps({KEY: pickle.dumps(Runs())})):
        KeptPrograms(cache, MADE_BY).put({KEY: 1})
        (file,) = cache.folder.iterdir()
        cache.write(file.name, MADE_BY, payload)
        assert KeptPrograms(cache, MADE_BY).get(KEY) is None
        assert not (tmp_path / "ran").exists()


def test_a_command_leaves_what_the_next_one_needs(tmp_path: Path) -> None:
    environment = os.environ | {"STALLKIT_CACHE": str(tmp_path / "c"), "STALLKIT_STATE_DIR": str(tmp_path / "s")}
    words = [sys.executable, "-m", "stallkit", "check", "-"]

    def said() -> str:
        given = "Continue? [y/N] "
        return subprocess.run(words, env=environment, input=given, capture_output=True, text=True, check=False).stdout

    def written() -> tuple[int, int]:
        found = (tmp_path / "c" / "packs" / "programs").stat()
        return found.st_ino, found.st_mtime_ns

    first = said()
    once = written()
    assert first.startswith("-: maybe")
    assert said() == first
    assert written() == once, "nothing was compiled a second time"
    file = tmp_path / "c" / "packs" / "programs"
    file.write_bytes(file.read_bytes()[:-1])
    assert said() == first
    again = written()
    assert again != once, "what was cut short was not taken"
    assert (said(), written()) == (first, again)


def test_other_code_finds_nothing(tmp_path: Path) -> None:
    """Even with the same size and the same time."""
    shutil.copytree(Path(stallkit.__file__).parent, tmp_path / "stallkit", ignore=shutil.ignore_patterns("__pycache__"))
    code = "from stallkit.packs import kept_programs; print(kept_programs._made_by())"
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}

    def told() -> str:
        words = [sys.executable, "-c", code]
        return subprocess.run(words, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    first = told()
    assert first == told() != "None"
    changed = tmp_path / "stallkit" / "core" / "bounds.py"
    before, text = changed.stat(), changed.read_text()
    changed.write_text(text.replace("MOST = 2_000_000", "MOST = 3_000_000"))
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert told() not in (first, "None")


def test_off_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STALLKIT_CACHE", "off")
    assert user_programs() is None
