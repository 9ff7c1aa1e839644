"""Files of a store: other versions, what cannot be opened or written, and whose they are."""

from __future__ import annotations

import os
import re
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest
from stallkit_supervisor import store as module
from stallkit_supervisor.store import Store
from stored import ONE, intend, opened_by_many, reopened, unresolved

from stallkit.errors import StoreError


def one_line(error: pytest.ExceptionInfo[StoreError], path: Path) -> str:
    said = str(error.value)
    assert re.fullmatch(r"store [^\n]+: [^\n]+; [^\n]+", said) and str(path) in said
    return said


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(path: Path) -> None:
    Store(path).close()
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("pragma journal_mode=delete")
    base.execute(f"pragma user_version={len(module._STEPS) + 1}")
    base.close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        Store(path)
    assert f"it is of version {len(module._STEPS) + 1}; update stallkit" in one_line(caught, path)
    assert path.read_bytes() == before


def version_1(path: Path) -> None:
    """A file as the first version made it, with a press in it."""
    path.parent.mkdir()
    base = sqlite3.connect(path, isolation_level=None)
    base.executescript(module._STEPS[0])
    base.execute("insert into session (name, iteration, loop, halted) values (?, 2, 2, 'enough')", (ONE,))
    for loop in (1, 2):
        base.execute(
            "insert into recovery (session, iteration, loop, act, identity, fingerprint, shown, asked_at, boot, clock)"
            " values (?, ?, ?, 'press', '%1', 'f', 'waiting sure acme:asks abc', 5.0, '', 0)",
            (ONE, loop, loop),
        )
    base.execute("pragma user_version=1")
    base.close()


def test_a_file_of_the_first_version_is_brought_up_to_date(path: Path) -> None:
    version_1(path)
    store = Store(path)
    assert (store.halted(ONE), store.identity(ONE), store.counts(ONE, "press").total) == ("enough", None, 1)
    store.new_loop(ONE, "%1")
    store = reopened(store)
    assert (store.identity(ONE), store.counts(ONE, "press").total) == ("%1", 1), "whom it was of was not noted"
    assert len(unresolved(store)) == 2
    store.close()


def test_many_bring_a_file_up_to_date_at_once(tmp_path: Path) -> None:
    for number in range(10):
        path = tmp_path / str(number) / "watch.db"
        version_1(path)
        opened_by_many(path)


def test_a_file_of_this_version_is_not_written_to_when_it_is_opened(path: Path) -> None:
    """`stallkit status` need not wait for a supervisor that writes."""
    Store(path).close()
    holds = sqlite3.connect(path, isolation_level=None)
    holds.execute("begin immediate")
    store = Store(path, busy_s=0.05)
    assert store.sessions() == []
    store.close()
    holds.close()


def test_a_file_that_cannot_be_written_is_read_as_a_copy(path: Path) -> None:
    """Also one of an older version; nothing is written to it, and nothing to the copy."""
    version_1(path)
    path.with_name(f"{path.name}-wal").mkdir()
    before = path.read_bytes()
    with pytest.raises(StoreError):
        Store(path)
    store = Store(path, or_copy=True)
    assert store.unwritable and store.halted(ONE) == "enough" and store.home(ONE) is None
    with pytest.raises(StoreError) as caught:
        intend(store)
    assert store.unwritable in one_line(caught, path)
    store.close()
    assert path.read_bytes() == before


def test_a_file_that_somebody_else_may_have_laid_there_is_not_even_read_as_a_copy(path: Path) -> None:
    Store(path).close()
    link = path.with_name("link.db")
    link.symlink_to(path)
    with pytest.raises(StoreError, match="symbolic link"):
        Store(link, or_copy=True)


def _directory(path: Path) -> None:
    path.mkdir(parents=True)


def _garbage(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all" * 1000)


def _half(path: Path) -> None:
    Store(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def _file_above(path: Path) -> None:
    path.parent.write_text("")


def _nowhere(path: Path) -> None:
    path.parent.symlink_to("/proc/nothing")


@pytest.mark.parametrize("broken", [_directory, _garbage, _half, _file_above, _nowhere])
def test_what_is_no_store_is_a_store_error(path: Path, broken: Callable[[Path], None]) -> None:
    broken(path)
    with pytest.raises(StoreError) as caught:
        store = Store(path)
        intend(store)
    one_line(caught, path)


def in_a_child(path: Path, code: str, wrap: tuple[str, ...] = (), **options: object) -> str:
    """What a child prints that opens the store and then runs this."""
    begin = (
        "import sys; from pathlib import Path; from stallkit_supervisor.store import Store\npath = Path(sys.argv[1])\n"
    )
    command = [*wrap, sys.executable, "-c", begin + code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


TRY_TO_OPEN = """
try:
    Store(path)
    print("opened")
except Exception as error:
    print(type(error).__name__, error)
"""


def may_unshare() -> bool:
    """Whether a file system can be mounted, in a namespace that ends with its process."""
    try:
        return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


needs_mounts = pytest.mark.skipif(not may_unshare(), reason="needs the right to mount, in a namespace of its own")


@needs_mounts
def test_a_read_only_disk_is_a_store_error(path: Path) -> None:
    Store(path).close()
    mount = f"mount --bind {path.parent} {path.parent} && mount -o remount,ro,bind {path.parent}"
    said = in_a_child(path, TRY_TO_OPEN, ("unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh"))
    assert said == f"StoreError store {path}: [Errno 30] Read-only file system; check for free space " \
        "and permission to write\n"  # fmt: skip


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be somebody else")
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_file_of_somebody_else_is_a_store_error(tmp_path: Path, mode: int) -> None:
    """Unreadable, or not writable: nobody uses another user's."""
    path = tmp_path / "watch.db"
    Store(path).close()
    path.chmod(mode)
    for folder in (tmp_path, *tmp_path.parents):
        if folder != Path("/") and folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o111)
    code = "import os; os.setuid(65534)\n" + TRY_TO_OPEN
    said = in_a_child(path, code, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert said.startswith(f"StoreError store {path}: {tmp_path} belongs to another user (uid 0)"), said
    assert said.count("\n") == 1


FILL = """
store, written, failures = Store(path), 0, []
for number in range(3000):
    try:
        intent = store.intend("tmux:one", "press", "i" * 500, "f", "waiting sure acme:asks 1", "y")
    except Exception as error:
        failures.append(f"{type(error).__name__} {error}")
        if len(failures) == 3:
            break
    else:
        assert not failures
        written += 1
assert len(store.recoveries("tmux:one")) == written, "what was refused is not there, what was written is"
print(written)
print("\\n".join(failures))
"""


def full(said: str, path: Path) -> None:
    """The child was told of a full disk, three times; what it wrote before is there."""
    written, *failures = said.splitlines()
    assert int(written) > 10 and len(failures) == 3
    assert all(re.fullmatch(rf"StoreError store {re.escape(str(path))}: [^\n]+; [^\n]+", one) for one in failures)
    store = Store(path)
    assert len(store.recoveries(ONE)) == int(written)
    intend(store)  # there is room again
    assert len(store.recoveries(ONE)) == int(written) + 1
    store.close()


def test_a_file_that_may_not_grow_is_a_store_error(path: Path) -> None:
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, 256 * 1024))  # noqa: E731
    full(
        in_a_child(path, "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + FILL, preexec_fn=limit),
        path,
    )


@needs_mounts
def test_a_full_disk_is_a_store_error(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    kept = tmp_path / "kept"
    kept.mkdir()
    mount = f"mount -t tmpfs -o size=512k none {path.parent}"
    keep = f"cp {path.parent}/* {kept}"
    wrap = ("unshare", "-m", "sh", "-c", f'{mount} && "$@" && {keep}', "sh")
    said = in_a_child(path, FILL, wrap)
    assert "full" in said
    full(said.replace(str(path), str(kept / path.name)), kept / path.name)


def test_a_store_that_was_closed_says_so(path: Path) -> None:
    store = Store(path)
    store.close()
    store.close()
    for use in (lambda: intend(store), store.sessions, lambda: store.conclude(1, "cleared", "")):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_the_file_is_its_owners_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        store = Store(path)
        intend(store)
    finally:
        os.umask(before)
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file
    assert path.parent.stat().st_mode & 0o777 == 0o700
    store.close()
