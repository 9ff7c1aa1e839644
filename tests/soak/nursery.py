"""Supervisors that can be killed, cheaply: one process that has loaded everything, and forks one for each request.

`Nursery` is the asking side; run as a program, this file is the other.  What a supervisor does is what its request
describes, with the faults that are asked for: SIGTERM ends it, SIGUSR1 sets off the fault, SIGUSR2 mends it.  Every
event is appended to ``events``, a file apart from those that the faults are about; what the store acknowledged is
appended to ``acks`` the moment it did.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import resource
import select
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, Callable

from stallkit_supervisor.recovery_state import Limits
from stallkit_supervisor.session_state import RecoveryCommands, Schedule, WatchConfig
from stallkit_supervisor.sources import FleetSource
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from terminals import wait_for

from stallkit import dump
from stallkit.detect.engine import Engine
from stallkit.errors import StoreError
from stallkit.packs.registry import installed_engine
from stallkit.press.events import Event, EventLog
from stallkit.press.policy_file import load_policy
from stallkit.probes.procfs import stat_of
from stallkit.transports.base import Options

_READY: list[Engine] = []
_CLONE_NEWNS = 0x00020000


class _Told(Store):
    """A store that says on a file of its own what it acknowledged."""

    acks: int = -1

    def intend(self, *given: Any, **more: Any) -> int:
        number = super().intend(*given, **more)
        self._ack(f"intend {number}")
        return number

    def conclude(self, id: int, outcome: str, why: str) -> None:
        super().conclude(id, outcome, why)
        self._ack(f"conclude {id} {outcome}")

    def incident(self, session: str, event: str, facts: dict[str, Any]) -> None:
        super().incident(session, event, facts)
        self._ack("incident")

    def _ack(self, said: str) -> None:
        if self.acks >= 0:
            os.write(self.acks, f"{said}\n".encode())


class _Failing:
    """A connection whose nth call from now on fails, and those after it for `last` calls more."""

    def __init__(self, base: sqlite3.Connection, nth: int, last: int, why: str, failed: Callable[[], None]) -> None:
        self._base, self._left, self._last, self._why, self._failed = base, nth, last, why, failed

    def execute(self, *given: Any) -> Any:
        self._left -= 1
        if -self._last <= self._left < 0:
            self._failed()
            raise sqlite3.OperationalError(self._why)
        return self._base.execute(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)


async def work(spec: dict[str, Any]) -> None:
    """Supervise until SIGTERM."""
    events = os.open(spec["events"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def tell(event: Event) -> None:
        os.write(events, f'{json.dumps(dump(event))[:-1]}, "at": {time.monotonic()}}}\n'.encode())

    fault = spec.get("fault", {})
    if "tmpfs" in fault:
        _own_mount(Path(spec["store"]).parent, fault["tmpfs"])
    store = _store(spec)
    hooks: list[Callable[[Event], None]] = [tell]
    if spec.get("log"):
        hooks.append(EventLog(Path(spec["log"]), max_bytes=spec.get("log_bytes")).write)
    supervisor = Supervisor(
        policy=WatchConfig(
            load_policy(spec["policy"]),
            Schedule(spec.get("interval_s", 0.2), stall_s=spec.get("stall_s"), eager_s=spec.get("interval_s", 0.2)),
            Limits(**spec.get("limits", {"per_iteration": 10**6, "total": 10**6, "in_window": 10**6})),
        ),
        engine=_READY[0],
        store=store,
        sources=[FleetSource(targets, Options(tmux_socket_path=socket)) for socket, targets in spec["servers"]],
        commands=RecoveryCommands(tuple(spec.get("restart", ()))),
        hooks=hooks,
        directories={target: Path(home) for target, home in spec.get("homes", {}).items()},
    )
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, supervisor.stop)
    loop.add_signal_handler(signal.SIGUSR1, lambda: _set_off(fault, spec, store, events))
    mended = {"full": {"kind": "room"}, "path": {"kind": "restore", "path": os.environ["PATH"]}}
    mend = mended.get(fault.get("kind", ""), {})
    loop.add_signal_handler(signal.SIGUSR2, lambda: _set_off(mend, spec, store, events))
    async with supervisor:
        async for _ in supervisor:
            pass


def _store(spec: dict[str, Any]) -> Store | None:
    if not spec.get("store"):
        return None
    try:
        store = _Told(Path(spec["store"]))
    except StoreError:
        if "fault" not in spec:
            raise
        return None
    if spec.get("acks"):
        store.acks = os.open(spec["acks"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    return store


def _set_off(fault: dict[str, Any], spec: dict[str, Any], store: Store | None, told: int) -> None:
    folder = Path(spec["store"]).parent if spec.get("store") else Path()
    match fault.get("kind"):
        case "call":
            assert store is not None
            given = (fault["nth"], fault["last"], fault["why"], lambda: _note(told, "call failed"))
            store._base = _Failing(store._base, *given)  # type: ignore[assignment]
        case "full":
            left = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize - fault["left"]
            (folder / "filler").write_bytes(b"x" * max(0, left))
        case "room":
            (folder / "filler").unlink(missing_ok=True)
        case "read-only":
            assert store is not None
            store._base.execute("pragma query_only=1")
        case "size":
            size = max(one.stat().st_size for one in folder.iterdir())
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + fault["left"], resource.RLIM_INFINITY))
        case "clock":
            real, by = time.time, fault["by_s"]
            time.time = lambda: real() + by
        case "path":
            os.environ["PATH"] = "/nowhere"
        case "restore":
            os.environ["PATH"] = fault["path"]
    _note(told, "set off")


def _note(told: int, name: str) -> None:
    os.write(told, f'{{"event": "{name}", "at": {time.monotonic()}}}\n'.encode())


def _own_mount(folder: Path, size: str) -> None:
    """A small disk of its own at that folder, which nobody else sees; needs root."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)


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
    stat = stat_of(pid)
    return stat is None or stat.state in "ZX"


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Signal it, and wait for its end."""
    os.kill(pid, number)  # not another's: the nursery reaps at its next request only
    wait_for(lambda: ended(pid), f"process {pid} to end by {number.name}", 60.0)


def main() -> None:
    _READY.append(installed_engine())  # everything that takes time, once for all that are forked
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
