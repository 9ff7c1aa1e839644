"""Sessions in a real bubblewrap: what they may do, and that their end is told truly."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from boxed import need_bwrap
from machine_room import processes
from stallkit_sessions.containers.bubblewrap import run_command
from stallkit_sessions.containers.runtime_call import BWRAP
from stallkit_sessions.model import Session
from terminals import Server, wait_for

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    need_bwrap(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "work here"
    found.mkdir()
    return found


@pytest.fixture
def port() -> Iterator[int]:
    """Somebody listens there, outside."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def session(folder: Path, script: str, *options: str) -> Session:
    command = ("sh", "-c", script)
    return Session("work", "abc", command, str(folder), 0.0, "", engine=BWRAP, engine_options=options)


def run(folder: Path, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = run_command(session(folder, script, *options))
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)


def test_it_may_write_its_directory_and_what_an_option_opens_and_read_the_rest(folder: Path, tmp_path: Path) -> None:
    done = run(folder, 'pwd; echo "$STALLKIT_SESSION" >made; exit 3')
    assert (done.stdout, done.returncode) == (f"{folder}\n", 3)
    assert (folder / "made").read_text() == "abc\n"
    outside = folder.parent / "outside"  # which is in /tmp, or at least not in its directory
    done = run(folder, f"test -r /etc/passwd && echo read; echo x >/usr/stallkit-test; echo x >{outside}; ls /tmp")
    assert done.stdout.startswith("read\n")
    assert "Read-only file system" in done.stderr
    assert not outside.exists() and not Path("/usr/stallkit-test").exists()
    (other := tmp_path / "other").mkdir()
    done = run(folder, f"echo x >{other}/made", "--bind", str(other), str(other))
    assert done.returncode == 0 and (other / "made").exists()
    done = run(folder, f"test -d /proc/{os.getpid()} && grep -q pytest /proc/{os.getpid()}/cmdline; echo $?")
    assert done.stdout == "1\n", "other processes are not seen"


def test_there_is_no_network_unless_it_is_asked_for(folder: Path, port: int) -> None:
    for options, reached in [((), False), (("--share-net",), True)]:
        done = run(folder, f"exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'", *options)
        assert (done.returncode == 0) is reached, (options, reached)


def test_its_exit_status_is_the_programs(folder: Path) -> None:
    codes = [0, 1, 125, 126, 127, 137, 255]
    assert [run(folder, f"exit {code}").returncode for code in codes] == codes
    assert run(folder, "kill -KILL $$").returncode == 128 + signal.SIGKILL, "as a shell tells it"


def test_it_ends_with_its_terminal(folder: Path) -> None:
    server = Server(folder.parent)
    try:
        mark = f"sleep\0{86_400 + os.getpid()}"
        command = run_command(session(folder, f"echo ready; exec {mark.replace(chr(0), ' ')}"))
        server.start("work", *command, shows="ready")
        wait_for(lambda: processes(mark), "the program")
        server.tmux("kill-session", "-t", "=work")
        wait_for(lambda: not processes(mark), "the program's end")
    finally:
        server.end()
