"""What tests of the store share: who writes to one and who opens it, and what is read from it."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from stallkit_supervisor.store import Recovery, Store

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
