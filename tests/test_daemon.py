"""Daemons as real processes: started apart, one at a time, killed where they say nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Iterator

import pytest
from terminals import wait_for

from stallkit import daemon
from stallkit.daemon_socket import DaemonError, DaemonGone, DaemonRefused, DaemonSilent, ask, listens
from stallkit.probes.procfs import stat_of

pytestmark = pytest.mark.e2e

SERVING = """
import json, os, signal, sys
from pathlib import Path
from stallkit import daemon
from stallkit.daemon_socket import Server

folder = Path(sys.argv[1])
given = json.load(sys.stdin)
if daemon.lock(folder / "lock") is None:
    daemon.announce(error="another one runs")
    sys.exit(0)
facts = {"pid": os.getpid(), "session": os.getsid(0), "cwd": os.getcwd(), "given": given}
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
with Server(folder / "socket", lambda request, progress: facts):
    daemon.announce(ready=True, pid=os.getpid())
    print("printed later")
    signal.sigwait([signal.SIGTERM])
"""
SILENT = """
import pathlib, os, sys, time
pathlib.Path(sys.argv[1], "pid").write_text(str(os.getpid()))
time.sleep(1000)
"""


@pytest.fixture
def modules(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules a daemon may be."""
    folder = tmp_path_factory.mktemp("modules")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    for name, code in {"serving": SERVING, "silent": SILENT}.items():
        (folder / f"{name}.py").write_text(code)
    return folder


@pytest.fixture
def serving(modules: Path, tmp_path: Path) -> Iterator[int]:
    """A daemon that serves in the test's folder; its process id."""
    pid = daemon.start("serving", str(tmp_path), log=tmp_path / "log")["pid"]
    yield pid
    if alive(pid):
        os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not alive(pid), "its end")


def alive(pid: int) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat.state not in "ZX"


def test_it_runs_apart_from_the_terminal_and_the_folder(serving: int, tmp_path: Path) -> None:
    said = ask(tmp_path / "socket", {"do": "tell"})
    assert said == {"pid": serving, "session": serving, "cwd": "/", "given": None}
    assert (tmp_path / "log").read_text() == "", "what it prints later goes nowhere"


def test_a_payload_larger_than_a_pipe(modules: Path, tmp_path: Path) -> None:
    given = {"large": "x" * 200_000}
    pid = daemon.start("serving", str(tmp_path), log=tmp_path / "log", payload=given, cwd=str(tmp_path))["pid"]
    try:
        said = ask(tmp_path / "socket", {"do": "tell"})
        assert (said["given"], said["cwd"]) == (given, str(tmp_path.resolve()))
    finally:
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not alive(pid), "its end")
    assert not (tmp_path / "socket").exists()


def test_one_that_is_killed_holds_no_lock_and_misleads_no_one(serving: int, tmp_path: Path) -> None:
    assert daemon.held(tmp_path / "lock")
    assert daemon.lock(tmp_path / "lock") is None
    os.kill(serving, signal.SIGKILL)
    wait_for(lambda: not daemon.held(tmp_path / "lock"), "its end")  # its first thread ends before the others do
    assert not listens(tmp_path / "socket")
    with pytest.raises(DaemonGone):
        ask(tmp_path / "socket", {"do": "tell"})
    again = daemon.start("serving", str(tmp_path), log=tmp_path / "log")["pid"]
    try:
        assert ask(tmp_path / "socket", {"do": "tell"})["pid"] == again
    finally:
        os.kill(again, signal.SIGTERM)
        wait_for(lambda: not alive(again), "its end")


def test_of_many_started_at_once_one_runs(modules: Path, tmp_path: Path) -> None:
    pids: list[int] = []
    refused: list[str] = []

    def start(number: int) -> None:
        try:
            pids.append(daemon.start("serving", str(tmp_path), log=tmp_path / f"log{number}")["pid"])
        except DaemonRefused as error:
            refused.append(error.why)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert len(pids) == 1 and refused == ["another one runs"] * 3
        assert ask(tmp_path / "socket", {"do": "tell"})["pid"] == pids[0]
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
            wait_for(lambda pid=pid: not alive(pid), "its end")  # type: ignore[misc]


@pytest.mark.parametrize("payload", [None, "x" * 200_000], ids=["nothing", "a payload that it does not read"])
def test_one_that_says_nothing_is_killed(modules: Path, tmp_path: Path, payload: str | None) -> None:
    (modules / "silent.py").write_text(SILENT.replace("import", "import signal; signal.signal(15, 1); import", 1))
    with pytest.raises(DaemonSilent, match=r"it says nothing for 3 s"):
        daemon.start("silent", str(tmp_path), log=tmp_path / "log", payload=payload, ready_s=3.0)
    assert not (tmp_path / "pid").exists() or not alive(int((tmp_path / "pid").read_text()))


def test_an_interrupt_leaves_none(modules: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from stallkit import daemon\n"
        "daemon.start('silent', sys.argv[1], log=Path(sys.argv[1], 'log'))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.DEVNULL)
    wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", "the start")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    "code, error, why",
    [
        ("from stallkit import daemon; daemon.announce(error='no room')", DaemonRefused, "no room"),
        ("raise SystemExit('no such disk')", DaemonGone, "no such disk"),
        ("", DaemonGone, "it ended without a word"),
        ("print('ready')", DaemonGone, "it ended without a word"),
        ("print('{}', end='')", DaemonGone, "it ended without a word"),
    ],
)
def test_one_that_does_not_start_says_why(
    modules: Path, tmp_path: Path, code: str, error: type[DaemonError], why: str
) -> None:
    (modules / "failing.py").write_text(code)
    with pytest.raises(error) as caught:
        daemon.start("failing", log=tmp_path / "log", payload={"not": "read"})
    assert caught.value.why == why


def test_nothing_is_imported_from_the_working_directory(
    modules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "select.py").write_text("raise SystemExit('imported')")
    (modules / "tells.py").write_text("from stallkit import daemon; daemon.announce(ready=True)")
    monkeypatch.chdir(tmp_path)
    assert daemon.start("tells", log=tmp_path / "log", cwd=None) == {"ready": True}


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"{}", b"[1]\n", b"\xff\n", b"[" * 100_000 + b"\n"], ids=lambda x: str(x[:4])
)
def test_what_is_no_line_of_ours(line: bytes) -> None:
    assert daemon.json_line(line) is None
    assert daemon.json_line(json.dumps({"a": 1}).encode() + b"\n") == {"a": 1}
