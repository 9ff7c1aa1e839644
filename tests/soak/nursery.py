"""Supervisors that can be killed, cheaply: one process that has loaded everything, and forks one for each request.

`Nursery` is the asking side; run as a program, this file is the other.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

TESTS = Path(__file__).resolve().parents[1]


class Nursery:
    """Starts supervisors as they are described (`work`); whatever it started ends with it."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "STALLKIT_STATE_DIR": str(folder / "state")}
        environment.pop("TMUX", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "soak.nursery"],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._ask({})  # it is there

    def start(self, **spec: Any) -> int:
        """The pid of a new supervisor."""
        return int(self._ask(spec))

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, spec: dict[str, Any]) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(spec) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the nursery ended"
        return answer


def ended(pid: int) -> bool:
    """Whether that process is no more, or waits only to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def kill(pid: int, number: signal.Signals = signal.SIGKILL, patience_s: float = 60.0) -> None:
    """Signal it, and wait for its end."""
    os.kill(pid, number)  # not another's: the nursery reaps at its next request only
    deadline = time.monotonic() + patience_s
    while not ended(pid):
        assert time.monotonic() < deadline, f"process {pid} does not end by {number.name}"
        time.sleep(0.002)


def main() -> None:
    from soak.work import prepare, work

    prepare()
    alive: set[int] = set()
    while True:
        if not select.select([sys.stdin.fileno()], [], [], 60.0)[0]:
            continue
        asked = sys.stdin.readline()
        alive = {pid for pid in alive if os.waitpid(pid, os.WNOHANG)[0] == 0}
        if not asked:
            break
        spec = json.loads(asked)
        if not spec:
            print("ready", flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                null = os.open(os.devnull, os.O_RDWR)
                os.dup2(null, 0)
                os.dup2(null, 1)
                asyncio.run(work(spec))
                status = 0
            except BaseException:
                with open(spec["events"], "a", encoding="utf-8") as file:  # noqa: PTH123
                    file.write(json.dumps({"event": "crash", "why": traceback.format_exc()}) + "\n")
            finally:
                os._exit(status)
        alive.add(pid)
        print(pid, flush=True)
    for pid in alive:
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
