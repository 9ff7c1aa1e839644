"""The store: what it keeps of presses and sessions, over kill -9 and a full disk; its files; many at it at once."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from stallkit_supervisor import store as module
from stallkit_supervisor.recovery_state import Counts, Limits
from stallkit_supervisor.store import Halted, Recovery, Store

from stallkit.errors import StoreError

ONE = "tmux:one"

# Writes rows in a loop and acknowledges each on its standard output, once the store said that it is written.
WRITER = """
import sys
from pathlib import Path
from stallkit_supervisor.store import Store
store = Store(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    intent = store.intend(sys.argv[2], "press", f"%{number}", "f", f"waiting sure acme:asks {number}", "y Enter")
    print("intended", intent, flush=True)
    if number % 3:
        store.conclude(intent, "cleared", "it went away")
        print("concluded", intent, flush=True)
    store.incident(sys.argv[2], "dismissal", {"intent": intent})
    print("incident", intent, flush=True)
"""


def writer(path: Path, session: str = ONE, rows: int = 1_000_000) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), session, str(rows)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def intend(store: Store, act: str = "press", session: str = ONE, keys: str | None = "y Enter") -> int:
    return store.intend(session, act, "%1", "f", "waiting sure acme:asks abc", keys)


def unresolved(store: Store) -> list[Recovery]:
    """What has no end, or none that anybody knows."""
    return [one for one in store.recoveries(ONE) if one.outcome in (None, "unknown")]


def reopened(store: Store) -> Store:
    store.close()
    return Store(store.path)


def opened_by_many(path: Path) -> None:
    """By six threads at the same moment, each of which notes a press."""
    failed: list[BaseException] = []
    gate = threading.Barrier(6)

    def open_it() -> None:
        gate.wait()
        try:
            store = Store(path)
            intend(store, session="tmux:two")
            store.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_counts_survive(store: Store) -> None:
    for end in ("cleared", "unchanged", "unknown", "gone", "refused"):
        store.conclude(intend(store), end, "because")
    intend(store)  # whose end nobody knows
    intend(store, session="tmux:two")
    store.conclude(intend(store, "restart"), "cleared", "")
    store = reopened(store)
    counts = store.counts(ONE, "press")
    assert (counts.iteration, counts.total, len(counts.times)) == (5, 5, 5), "what was refused counts for nothing"
    assert store.counts(ONE, "restart").total == 1 and store.counts(ONE, "resume") == Counts()
    assert store.counts(ONE, "press", "restart").total == 6
    assert store.counts("tmux:three", "press") == Counts()
    store.close()


def test_a_signal_begins_an_iteration_and_a_loop_once_whoever_sees_it(store: Store) -> None:
    """Requirement D6."""
    intend(store)
    store.new_iteration(ONE, stamp="1:2")
    intend(store)
    store.new_iteration(ONE, stamp="1:2")  # by another supervisor, later
    assert (store.counts(ONE, "press").iteration, store.counts(ONE, "press").total) == (1, 2)
    store.new_iteration(ONE, stamp="1:3")
    assert store.counts(ONE, "press").iteration == 0
    store.new_iteration(ONE, reset_total=True)
    store = reopened(store)
    counts = store.counts(ONE, "press")
    assert (counts.iteration, counts.total, len(counts.times)) == (0, 0, 2), "the window goes on"
    store.close()


def test_no_intent_passes_a_halt_or_a_limit_whoever_counted(store: Store) -> None:
    other, limits = Store(store.path), Limits(per_iteration=2)
    for one in (store, other):
        one.intend(ONE, "press", "%1", "f", "waiting sure acme:asks abc", None, limits)
    with pytest.raises(Halted, match="2 recoveries in this iteration, 2 are allowed"):
        store.intend(ONE, "resume", "%1", "f", "waiting sure acme:asks abc", None, limits)
    store.intend(ONE, "restart", "%1", "f", "", None, limits)
    other.halt(ONE, "a rule")
    with pytest.raises(Halted, match="a rule"):
        store.intend(ONE, "restart", "%1", "f", "", None)
    assert len(store.recoveries(ONE)) == 3, "nothing was written of those"
    other.close()


def test_a_release_forgets_what_was_done(store: Store) -> None:
    intend(store)
    store.halt(ONE, "enough", "/srv/.auto-stop")
    store.halt(ONE, None)
    store = reopened(store)
    assert (store.halted(ONE), store.stop_file(ONE), store.counts(ONE, "press")) == (None, None, Counts())
    assert store.last(ONE) is None and store.recoveries(ONE) == []
    intend(store)
    assert store.counts(ONE, "press").total == 1
    store.close()


def test_another_identity_is_a_new_loop_once(store: Store) -> None:
    store.new_loop(ONE, "%1")
    intend(store)
    store.new_loop(ONE, "%1")
    assert store.counts(ONE, "press").total == 1 and store.identity(ONE) == "%1"
    for _ in range(2):
        store.new_loop(ONE, "%2")
    assert (store.counts(ONE, "press").total, store.identity(ONE)) == (0, "%2")
    intend(store)
    assert len(store.counts(ONE, "press").times) == 2, "the window goes on"
    store.belongs(ONE, None)
    store.new_loop(ONE, "%3")
    assert (store.counts(ONE, "press").total, store.identity(ONE)) == (1, "%3"), "one that we started goes on"
    assert store.identity("other") is None


def test_what_was_done_before_the_machine_started_is_long_ago(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is as old as the start would fill the window of the first minutes."""
    intend(store)
    store.new_iteration(ONE, reset_total=True)
    intend(store)
    assert all(at > 0 for at in store.counts(ONE, "press").times)
    monkeypatch.setattr(module, "boot_id", lambda: "another start of the machine")
    assert store.counts(ONE, "press").times == (0.0,)


def test_what_is_noted_of_a_session_survives(store: Store) -> None:
    store.halt(ONE, "enough", "/srv/.auto-stop")
    store.new_iteration(ONE, stamp="1:2")
    store.wait(ONE, 5000.5)
    store.saw({ONE: {"state": "waiting"}})
    store = reopened(store)
    waiting = store.waiting(ONE)
    assert (store.halted(ONE), store.stop_file(ONE), store.signalled(ONE)) == ("enough", "/srv/.auto-stop", "1:2")
    assert waiting is not None and waiting.free_at == 5000.5
    (row,) = store.sessions()
    assert (row["name"], row["status"]) == (ONE, '{"state": "waiting"}')
    store.halt(ONE, None)
    store.wait_over(ONE)
    assert (store.halted(ONE), store.stop_file(ONE), store.waiting(ONE)) == (None, None, None)
    assert (store.halted("other"), store.stop_file("other"), store.waiting("other")) == (None, None, None)
    store.wait(ONE, None)
    waiting = store.waiting(ONE)
    assert waiting is not None and waiting.free_at is None
    store.close()


def test_the_newest_incidents_are_kept_and_listed_oldest_first(path: Path) -> None:
    store = Store(path, incidents=4)
    for number in range(6):
        store.incident(ONE if number % 2 else "tmux:two", "escalation", {"number": number})
    listed = [store.incidents(), store.incidents(limit=2), store.incidents(ONE), store.incidents("other")]
    assert [[one["facts"]["number"] for one in found] for found in listed] == [[2, 3, 4, 5], [4, 5], [3, 5], []]
    store.close()


def test_an_intent_without_an_end_is_unresolved(store: Store) -> None:
    store.conclude(intend(store), "cleared", "")
    begun, doubtful = intend(store), intend(store)
    store.conclude(doubtful, "unknown", "the server did not answer")
    store.conclude(intend(store), "refused", "")
    store = reopened(store)
    found = unresolved(store)
    assert [(one.id, one.outcome) for one in found] == [(begun, None), (doubtful, "unknown")]
    assert (found[0].identity, found[0].shown, found[0].keys) == ("%1", "waiting sure acme:asks abc", "y Enter")
    last = store.last(ONE)
    assert last is not None and last.id == doubtful, "what was refused was not done"
    assert store.last("other") is None
    store.close()


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    for number in (0, 1, 2, 5, 11, 19):
        path = tmp_path / str(number) / "watch.db"
        process = writer(path)
        assert process.stdout is not None
        with process.stdout as pipe:
            said = [pipe.readline() for _ in range(1 + number)]
            process.send_signal(signal.SIGKILL)
            said += pipe.readlines()  # what it said before it was killed
        assert process.wait() == -signal.SIGKILL
        told = {"intended": set[int](), "concluded": set[int](), "incident": set[int]()}
        for line in said:
            if line.endswith("\n"):  # whole
                what, intent = line.split()
                told[what].add(int(intent))
        store = Store(path)
        found = {one.id: one for one in store.recoveries(ONE)}
        assert told["intended"] and told["intended"] <= found.keys()
        assert all(found[intent].outcome == "cleared" for intent in told["concluded"])
        assert told["incident"] <= {one["facts"]["intent"] for one in store.incidents(limit=1_000_000)}
        assert len(found) <= len(told["intended"]) + 1, "one more may be written than could be said"
        left = {one.id for one in unresolved(store)}
        assert left == {intent for intent, one in found.items() if one.outcome is None}
        assert left >= {intent for intent in told["intended"] if intent % 3 == 1}  # which it never ends
        assert store.counts(ONE, "press").total == len(found)
        store.close()
        base = sqlite3.connect(path)
        assert base.execute("pragma integrity_check").fetchall() == [("ok",)]
        base.close()


def test_no_secret_is_in_the_file(path: Path) -> None:
    secret = "gh" + "p_" + "q7Zt2Kx9Wm4Bv6Rn1Lc8" * 2
    store = Store(path)
    for session in (secret, f"tmux:{secret}", f"acme:token={secret}"):
        intent = intend(store, session=session, keys=f"'{secret}' Enter")
        store.conclude(intent, "refused", f"another prompt is there: 'Use {secret}?'")
        store.halt(session, f"a rule: {secret}")
        store.saw({session: {"line": f"Use {secret}?", "more": [{"deep": secret}]}})
        store.incident(session, "escalation", {"why": f"api_key={secret}"})
        assert store.incidents(session) and store.halted(session)
    files = [file.read_bytes() for file in path.parent.iterdir()]
    assert files and not any(secret.encode() in held for held in files)
    store.close()
    assert secret.encode() not in path.read_bytes()


def test_names_that_differ_in_a_secret_alone_are_two(store: Store) -> None:
    first, second = (f"acme:token=hunter{number}x" for number in (1, 2))
    intend(store, session=first)
    store.halt(first, "enough")
    assert (store.halted(first), store.halted(second)) == ("enough", None)
    assert (store.counts(first, "press").total, store.counts(second, "press").total) == (1, 0)
    (row,) = store.sessions()
    assert "hunter" not in row["name"] and store.halted(row["name"]) == "enough", "a name that was listed is found"


def test_any_text_can_be_kept(store: Store) -> None:
    for odd in ("\ud800", "tmux:\udcff", "a\0b", "", " ", "x" * 10_000, "'; drop table session; --"):
        intent = store.intend(odd, "press", odd, "f", "waiting sure - -", None)
        store.conclude(intent, "unchanged", odd)
        store.halt(odd, odd or "enough", odd)
        store.incident(odd, "escalation", {"why": odd})
        assert [one.id for one in store.recoveries(odd)] == [intent]
        assert len(store.incidents(odd)) == 1 and store.last(odd) is not None


def test_a_transaction_that_could_not_be_taken_back_stops_no_later_write(store: Store) -> None:
    store._base.execute("begin immediate")  # what a failed commit leaves whose rollback failed as well
    store.wait(ONE, None)
    assert store.waiting(ONE) is not None


def test_two_processes_write_at_once(path: Path) -> None:
    processes = [writer(path, f"tmux:{number}", 60) for number in range(2)]
    said = [process.communicate()[0].split("\n") for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    store = Store(path)
    for number, lines in enumerate(said):
        assert len(store.recoveries(f"tmux:{number}")) == 60
        assert {one.id for one in store.recoveries(f"tmux:{number}")} == {
            int(line.split()[1]) for line in lines if line.startswith("intended")
        }
    assert len(store.incidents(limit=1000)) == 120
    store.close()


def test_a_new_file_and_an_old_one_are_opened_by_many_at_once(tmp_path: Path) -> None:
    for number in range(6):
        new, old = (tmp_path / f"{number}{name}" / "watch.db" for name in ("new", "old"))
        version_1(old)
        for path in (new, old):
            opened_by_many(path)
            store = Store(path)
            assert store.counts("tmux:two", "press").total == 6
            store.close()


def test_who_reads_waits_for_nobody_who_writes(store: Store) -> None:
    holds = sqlite3.connect(store.path, isolation_level=None)
    holds.execute("begin immediate")
    waits = threading.Thread(target=store.halt, args=(ONE, "enough"))
    waits.start()
    assert store.halted(ONE) is None and store.sessions() == [], "else it would be halted by now"
    holds.execute("rollback")
    waits.join()
    assert store.halted(ONE) == "enough"
    holds.close()


def test_who_is_kept_out_for_long_says_so(store: Store) -> None:
    holds = sqlite3.connect(store.path, isolation_level=None)
    holds.execute("begin immediate")
    other = Store(store.path, busy_s=0.05)  # to open a file of this version writes nothing
    with pytest.raises(StoreError, match="locked"):
        intend(other)
    assert other.counts(ONE, "press") == Counts(), "reading is never kept out"
    holds.execute("rollback")
    intend(other)
    assert store.counts(ONE, "press").total == 1
    holds.close()
    other.close()


def test_what_was_begun_and_failed_leaves_nothing_behind(store: Store) -> None:
    with pytest.raises(StoreError):
        store._set(ONE, no_such_column=1)
    with pytest.raises(TypeError):
        store.incident(ONE, "escalation", {"set": set()})
    intend(store)
    other = Store(store.path)
    intend(other)
    assert other.counts(ONE, "press").total == 2
    other.close()


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


def test_a_file_that_cannot_be_written_is_read_as_a_copy(path: Path) -> None:
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


def test_what_is_no_store_is_a_store_error(tmp_path: Path) -> None:
    places = [tmp_path / name / "watch.db" for name in ("directory", "garbage", "half", "above", "nowhere")]
    directory, garbage, half, above, nowhere = places
    directory.mkdir(parents=True)
    garbage.parent.mkdir()
    garbage.write_bytes(b"no database at all" * 1000)
    Store(half).close()
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    above.parent.write_text("")
    nowhere.parent.symlink_to("/proc/nothing")
    for path in places:
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

MOUNTS = shutil.which("unshare") and subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0
needs_mounts = pytest.mark.skipif(not MOUNTS, reason="needs the right to mount, in a namespace that ends with it")


@needs_mounts
def test_a_read_only_disk_is_a_store_error(path: Path) -> None:
    Store(path).close()
    mount = f"mount --bind {path.parent} {path.parent} && mount -o remount,ro,bind {path.parent}"
    said = in_a_child(path, TRY_TO_OPEN, ("unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh"))
    why = "[Errno 30] Read-only file system; check for free space and permission to write"
    assert said == f"StoreError store {path}: {why}\n"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be somebody else")
def test_a_file_of_somebody_else_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / "watch.db"
    Store(path).close()
    for folder in (tmp_path, *tmp_path.parents):
        if folder != Path("/") and folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o111)
    code = "import os; os.setuid(65534)\n" + TRY_TO_OPEN
    for mode in (0o000, 0o444):  # unreadable, or not writable
        path.chmod(mode)
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


@needs_mounts
def test_a_full_disk_is_a_store_error_each_time_and_what_was_written_is_there(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    (tmp_path / "kept").mkdir()
    kept = tmp_path / "kept" / path.name
    mount = f'mount -t tmpfs -o size=512k none {path.parent} && "$@" && cp {path.parent}/* {kept.parent}'
    written, *failures = in_a_child(path, FILL, ("unshare", "-m", "sh", "-c", mount, "sh")).splitlines()
    assert int(written) > 10 and len(failures) == 3 and "full" in failures[0]
    assert all(re.fullmatch(rf"StoreError store {re.escape(str(path))}: [^\n]+; [^\n]+", one) for one in failures)
    store = Store(kept)
    assert len(store.recoveries(ONE)) == int(written)
    intend(store)  # there is room again
    assert len(store.recoveries(ONE)) == int(written) + 1
    store.close()


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
