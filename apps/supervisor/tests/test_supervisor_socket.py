"""A supervisor at its socket: what it answers, what happens as it happens, and clients that hang, leave or lag."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any, Callable

import pytest
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.sources import SourceLook
from stallkit_supervisor.supervisor import Supervisor
from stallkit_supervisor.supervisor_socket import answering, events, remove_dead, sockets, statuses, verdict
from supervised import EAGER, PATIENCE_S
from terminals import wait_for

from stallkit.daemon_socket import DaemonGone, DaemonRefused, ask, stream
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.press.policy import OBSERVE
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Transport

SECRET = "ghp_" + "a1B2" * 9


class Shown:
    """Sessions that show a text each, which a test changes."""

    def __init__(self, **texts: str) -> None:
        self.texts = texts
        self.stop: Callable[[], object] = list  # its supervisor, from any thread

    async def sweep(self, due: Callable[[str], bool]) -> list[SourceLook]:
        return [SourceLook(name, _look(name, text)) for name, text in self.texts.items()]

    def open(self, target: str) -> Transport:
        raise NotImplementedError

    async def close(self) -> None: ...


def _look(name: str, text: str) -> Snapshot:
    cursor = (len(text.splitlines()[-1]), len(text.splitlines()) - 1)
    return Snapshot(Screen.from_text(text, cursor=cursor), target=name, identity="1", quiet_s=1.0)


def answered(source: Shown, test: Callable[[Supervisor, Path], Any], **options: Any) -> Any:
    """What a test in a thread returns, beside a supervisor that answers."""
    folder = Path(os.environ["STALLKIT_STATE_DIR"])
    complaints: list[str] = []

    async def run() -> Any:
        supervisor = Supervisor(policy=WatchConfig(OBSERVE, EAGER), sources=[source], engine=installed_engine())
        source.stop = partial(asyncio.get_running_loop().call_soon_threadsafe, supervisor.stop)
        async with asyncio.timeout(PATIENCE_S):
            async with answering(supervisor, complaints.append, folder, **options) as path, supervisor:
                assert path is not None, complaints
                while len(supervisor.sessions) < len(source.texts):
                    await asyncio.sleep(0.01)
                testing = asyncio.create_task(asyncio.to_thread(test, supervisor, path))
                testing.add_done_callback(lambda _: supervisor.stop())
                async for _ in supervisor:
                    pass
            return await testing

    result = asyncio.run(run())
    assert not sockets(folder)
    return result


def test_it_says_what_all_sessions_do_and_the_verdict_of_one_without_a_secret() -> None:
    source = Shown(a=f"Overwrite {SECRET}? [y/N] ", b="nothing")

    def test(supervisor: Supervisor, path: Path) -> None:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        (found,) = statuses()
        known = (found["version"], found["pid"], found["policy"], found["summary"])
        assert known == (1, os.getpid(), "observe", "1 wait: a")
        rows = {row["target"]: row for row in found["sessions"]}
        assert (rows["a"]["state"], rows["a"]["need"], rows["b"]["need"]) == ("waiting", "wait", None)
        assert rows["a"]["seen_at"] >= found["since"] - 1
        one = verdict("a")
        assert one is not None and one["verdict"]["line"] == "Overwrite [redacted]? [y/N]"
        assert one["verdict"]["signals"] == [] and one["session"]["error"] is None
        assert SECRET not in json.dumps([found, one]) and verdict("c") is None
        with pytest.raises(DaemonRefused, match="it is not watched here"):
            ask(path, {"do": "verdict", "target": "c"})
        with pytest.raises(DaemonRefused, match="unknown request 'wat'"):
            ask(path, {"do": "wat"})

    answered(source, test)
    assert statuses() == []


def test_events_come_as_they_happen_until_its_end() -> None:
    source = Shown(a="nothing")

    def test(supervisor: Supervisor, path: Path) -> list[dict[str, Any]]:
        lines = stream(path, {"do": "events"})
        assert next(lines) == {"progress": None}
        source.texts["b"] = "Overwrite the file? [y/N] "
        found = []
        for line in lines:
            found.append(line)
            if "escalation" in str(line):
                source.stop()
        return found

    *found, last = answered(source, test)
    names = [line["progress"]["event"] for line in found if line["progress"]]
    assert {"detection", "escalation"} < set(names) and names[-1] == "stop"
    assert last == {"over": True}


def listens(path: Path) -> socket.socket:
    """A client that asked for the events and heard the first line."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    connection.sendall(b'{"do": "events"}\n')
    assert connection.recv(100) == b'{"progress": null}\n'
    return connection


def test_a_client_that_leaves_is_noticed_and_one_that_hangs_or_does_not_read_holds_nobody_up() -> None:
    def test(supervisor: Supervisor, path: Path) -> None:
        before = threading.active_count()
        for _ in range(3):
            listens(path).close()
        hangs = socket.socket(socket.AF_UNIX)
        hangs.connect(str(path))  # and sends nothing
        assert statuses()
        wait_for(lambda: threading.active_count() <= before, "the threads of those who left")
        hangs.close()
        with listens(path) as connection:
            for number in range(2_000):
                supervisor._bus.say("detection", "a", {"number": number, "filling": "x" * 1_000})
            assert statuses()[0]["pid"] == os.getpid()
            said = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert len(said.splitlines()) < 2_000
        assert said.splitlines()[-1].startswith(b'{"error": '), "it was dropped"

    answered(Shown(a="nothing"), test, alive_s=0.1, held=100)


def test_so_many_clients_and_no_more() -> None:
    def test(supervisor: Supervisor, path: Path) -> None:
        held = [listens(path) for _ in range(32)]
        with pytest.raises(DaemonRefused, match="32 clients"):
            next(iter(events(path)))
        for connection in held:
            connection.close()

    answered(Shown(a="nothing"), test)


def test_a_socket_that_cannot_be_made_is_told_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    complaints: list[str] = []

    async def run() -> None:
        supervisor = Supervisor(sources=[Shown(a="nothing")])
        async with answering(supervisor, complaints.append, tmp_path / "file") as path, supervisor:
            assert path is None

    asyncio.run(run())
    assert len(complaints) == 1 and "it watches all the same" in complaints[0]


LEAVES = """
import os, sys
from pathlib import Path
from stallkit.daemon_socket import Server
from stallkit_supervisor.supervisor_socket import own_socket
server = Server(own_socket(Path(sys.argv[1])), lambda request, progress: {})
print("listens", flush=True)
sys.stdin.read()
"""


def test_what_a_killed_one_leaves_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LEAVES, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"listens\n"
        assert not remove_dead(tmp_path)
        os.kill(process.pid, signal.SIGKILL)
    (left,) = sockets(tmp_path)
    with pytest.raises(DaemonGone):
        next(events(left))
    assert statuses(tmp_path) == []
    assert remove_dead(tmp_path) and not sockets(tmp_path)
