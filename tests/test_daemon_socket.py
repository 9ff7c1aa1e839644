"""Requests at a real socket: answered whole, refused or given up, whatever clients and servers do."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Iterator

import pytest

from stallkit.daemon_socket import (
    MAX_REQUEST,
    DaemonGone,
    DaemonRefused,
    DaemonSilent,
    Progress,
    Server,
    ask,
    listens,
    stream,
)

SECRET = "ghp_" + "a1B2" * 9


def answer(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    match request.get("do"):
        case "count":
            for number in range(request["to"]):
                progress(number)
            return {"counted": request["to"]}
        case "fail":
            raise ValueError(f"it fails with {SECRET}")
    raise LookupError("unknown request")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    with Server(tmp_path / "socket", answer):
        yield tmp_path / "socket"


def raw(path: Path, data: bytes) -> bytes:
    """What is said to a client that sends just this."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(path))
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65_536), b""))
        except (BrokenPipeError, ConnectionResetError):
            return b""


def test_progress_comes_before_the_answer(path: Path) -> None:
    lines = list(stream(path, {"do": "count", "to": 2}))
    assert lines == [{"progress": 0}, {"progress": 1}, {"counted": 2}]
    assert ask(path, {"do": "count", "to": 2}) == {"counted": 2}


def test_it_is_the_owners_alone(path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_an_error_is_told_without_secrets(path: Path) -> None:
    with pytest.raises(DaemonRefused, match="ValueError: it fails with") as caught:
        ask(path, {"do": "fail"})
    assert SECRET not in str(caught.value)


GARBAGE = [b"", b"\n", b"\xff\xfe\n", b"[]\n", b"5\n", b"{}\n", b"settle\n", b"[" * 500_000 + b"\n", b"x" * 2_000_000]


@pytest.mark.parametrize("data", GARBAGE, ids=lambda data: str(data[:8]))
def test_garbage_does_no_harm(path: Path, data: bytes) -> None:
    said = raw(path, data)
    assert b'"error"' in said or (said == b"" and len(data) > MAX_REQUEST)
    assert ask(path, {"do": "count", "to": 0}) == {"counted": 0}


def test_a_request_that_is_too_long_is_not_sent(path: Path) -> None:
    with pytest.raises(DaemonRefused, match="too many"):
        ask(path, {"do": "x" * MAX_REQUEST})


def test_many_clients_at_once_and_one_that_says_nothing(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(path))
        with ThreadPoolExecutor(40) as pool:
            said = list(pool.map(lambda number: ask(path, {"do": "count", "to": number})["counted"], range(80)))
    assert said == list(range(80))


def test_a_client_that_says_nothing_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        with Server(tmp_path / "socket", answer):
            silent.connect(str(tmp_path / "socket"))
            assert ask(tmp_path / "socket", {"do": "count", "to": 0}), "both are let in, in turn"
        silent.settimeout(20)
        assert silent.recv(64) == b""
    assert not (tmp_path / "socket").exists()


def test_who_waits_is_answered_before_the_end(tmp_path: Path) -> None:
    asked, over = threading.Event(), threading.Event()

    def slow(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
        asked.set()
        over.wait()
        return {"done": True}

    server = Server(tmp_path / "socket", slow)
    with ThreadPoolExecutor() as pool:
        waits = pool.submit(ask, tmp_path / "socket", {"do": "wait"})
        asked.wait()
        closes = pool.submit(server.close)
        over.set()
        assert waits.result() == {"done": True}
        closes.result()


def test_a_path_that_is_longer_than_a_sockets(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["a long name for a directory"] * 8)
    folder.mkdir(parents=True)
    with Server(folder / "socket", answer):
        assert listens(folder / "socket")
        assert ask(folder / "socket", {"do": "count", "to": 1}) == {"counted": 1}
    assert not (folder / "socket").exists()


def test_what_another_left_is_replaced(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "socket"))
    left.close()
    assert not listens(tmp_path / "socket")
    with Server(tmp_path / "socket", answer):
        assert listens(tmp_path / "socket")


@pytest.mark.parametrize("place", ["none", "folder/none", "file"])
def test_where_no_one_is(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    assert not listens(tmp_path / place)
    with pytest.raises(DaemonGone):
        ask(tmp_path / place, {"do": "count"})


@pytest.mark.parametrize("said", [b"", b"settled\n", b'{"cut', b"[1]\n"])
def test_an_answer_that_is_none(tmp_path: Path, said: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(DaemonGone):
            ask(tmp_path / "socket", {"do": "count"})
        thread.join()


def test_one_that_does_not_answer_is_told_from_one_that_is_gone(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        with pytest.raises(DaemonSilent):
            ask(tmp_path / "socket", {"do": "count"}, answer_s=0.05)
        assert listens(tmp_path / "socket")


def test_one_that_is_killed_while_it_answers_is_gone(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from stallkit.daemon_socket import Server\n"
        "def answer(request, progress):\n    progress(1)\n    time.sleep(1000)\n"
        "Server(Path(sys.argv[1]), answer); print('ready', flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "socket")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        lines = stream(tmp_path / "socket", {"do": "wait"})
        assert next(lines) == {"progress": 1}
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(DaemonGone):
            next(lines)
