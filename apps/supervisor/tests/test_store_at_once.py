"""Many at one store at once: processes, threads, readers, and who is kept out."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from stallkit_supervisor.recovery_state import Counts
from stallkit_supervisor.store import Store
from stored import ONE, intend, opened_by_many, unresolved, writer

from stallkit.errors import StoreError


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


def test_a_new_file_is_opened_by_many_at_once(tmp_path: Path) -> None:
    for number in range(10):
        path = tmp_path / str(number) / "watch.db"
        opened_by_many(path)
        store = Store(path)
        assert store.counts("tmux:two", "press").total == 6
        store.close()


def test_who_reads_waits_for_nobody_who_writes(store: Store) -> None:
    """A look must not wait for the lock of the thread that writes, which waits for another process."""
    holds = sqlite3.connect(store.path, isolation_level=None)
    holds.execute("begin immediate")
    waits = threading.Thread(target=store.halt, args=(ONE, "enough"))
    waits.start()
    assert store.halted(ONE) is None and store.sessions() == [], "else it would be halted by now"
    holds.execute("rollback")
    waits.join()
    assert store.halted(ONE) == "enough"
    holds.close()


def test_threads_share_one_store(store: Store) -> None:
    def work() -> None:
        for _ in range(10):
            store.conclude(intend(store), "cleared", "")
            store.incident(ONE, "dismissal", {})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.counts(ONE, "press").total == len(store.incidents()) == 40 and unresolved(store) == []


def test_who_is_kept_out_for_long_says_so(store: Store) -> None:
    other = Store(store.path, busy_s=0.05)
    holds = sqlite3.connect(store.path, isolation_level=None)
    holds.execute("begin immediate")
    with pytest.raises(StoreError, match="locked"):
        intend(other)
    assert other.counts(ONE, "press") == Counts(), "reading is never kept out"
    holds.execute("rollback")
    intend(other)
    assert store.counts(ONE, "press").total == 1
    holds.close()
    other.close()


def test_what_was_begun_and_failed_leaves_nothing_behind(store: Store) -> None:
    """A transaction that stayed open would keep everybody out."""
    with pytest.raises(StoreError):
        store._set(ONE, no_such_column=1)
    with pytest.raises(TypeError):
        store.incident(ONE, "escalation", {"set": set()})
    intend(store)
    other = Store(store.path)
    intend(other)
    assert other.counts(ONE, "press").total == 2
    other.close()
