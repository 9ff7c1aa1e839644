"""The log in an agent's directory: what it may not be made to do there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from stallkit_sessions.finalize import append, log_of

from stallkit.errors import StoreError
from stallkit.jsonlog import holds

EVENT = {"id": "e1", "event": "session_started", "session": "one"}


def lines(directory: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in log_of(directory).read_text("ascii").splitlines()]


def test_one_line_for_each_event(tmp_path: Path) -> None:
    append(tmp_path, EVENT)
    append(str(tmp_path), {**EVENT, "id": "e2", "why": "a\nb\x1b[31m\u202e\udcff"})
    assert [line["id"] for line in lines(tmp_path)] == ["e1", "e2"]
    assert log_of(tmp_path).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / ".stallkit").stat().st_mode & 0o777 == 0o700
    assert holds(log_of(tmp_path), "e1") and holds(log_of(tmp_path), "e2")
    assert not holds(log_of(tmp_path), "e") and not holds(log_of(tmp_path), "e3")


def test_the_worktree_stays_clean(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    append(tmp_path, EVENT)
    done = subprocess.run(["git", "-C", tmp_path, "status", "--porcelain"], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    (tmp_path / ".stallkit" / ".gitignore").write_text("mine\n")
    append(tmp_path, EVENT)
    assert (tmp_path / ".stallkit" / ".gitignore").read_text() == "mine\n", "what is there is left alone"


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = outside / "victim"
    victim.write_text("precious")
    for number, plant in enumerate(
        [
            lambda home: (home / ".stallkit").symlink_to(outside),
            lambda home: ((home / ".stallkit").mkdir(), (home / ".stallkit" / "runtime.log").symlink_to(victim)),
            lambda home: ((home / ".stallkit").mkdir(), (home / ".stallkit" / "runtime.log").hardlink_to(victim)),
            lambda home: (
                (home / ".stallkit").mkdir(),
                (home / ".stallkit" / "runtime.log").symlink_to(outside / "new"),
            ),
        ]
    ):
        home = tmp_path / str(number)
        home.mkdir()
        plant(home)
        with pytest.raises(StoreError, match=r"runtime log .*/\.stallkit/runtime\.log: "):
            append(home, EVENT)
        assert victim.read_text() == "precious" and [path.name for path in outside.iterdir()] == ["victim"]
    assert not holds(tmp_path / "1" / ".stallkit" / "runtime.log", "e1")


def test_links_in_place_of_the_other_files(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / ".stallkit"
    folder.mkdir()
    (folder / ".gitignore").symlink_to(tmp_path / "new")
    (folder / "runtime.log.1").symlink_to(victim)
    for _ in range(3):
        append(tmp_path, EVENT, max_bytes=100)
    assert victim.read_text() == "precious" and not (tmp_path / "new").exists()
    assert not (folder / "runtime.log.1").is_symlink()


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    def plant(name: str) -> Path:
        (tmp_path / name / ".stallkit").mkdir(parents=True)
        return tmp_path / name / ".stallkit" / "runtime.log"

    os.mkfifo(plant("fifo"))
    read = plant("read fifo")
    os.mkfifo(read)
    reader = os.open(read, os.O_RDONLY | os.O_NONBLOCK)  # so that a writer gets it open
    plant("directory").mkdir()
    before = Path.cwd()
    server = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(plant("socket").parent)  # its path may be too long for a socket's
        server.bind("runtime.log")
    finally:
        os.chdir(before)
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / ".stallkit").write_text("in the way")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / ".stallkit")
    if os.geteuid() == 0:
        os.mknod(plant("device"), 0o600 | 0o020000, os.makedev(1, 3))  # /dev/null
    names = [path.name for path in tmp_path.iterdir()]
    assert len(names) >= 6

    def all_of_them() -> None:
        for name in names:
            with pytest.raises(StoreError):
                append(tmp_path / name, EVENT)
            holds(log_of(tmp_path / name), "e1")
        done.set()

    done = threading.Event()
    threading.Thread(target=all_of_them, daemon=True).start()
    assert done.wait(60), "one of them was waited for"
    assert os.read(reader, 1) == b"", "nothing was written to it"
    os.close(reader)
    server.close()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    for missing in (tmp_path / "missing", tmp_path / "missing" / "below", "a\0b", ""):
        with pytest.raises(StoreError):
            append(missing, EVENT)
        assert not holds(log_of(missing), "e1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give up its rights")
def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    code = """
import os, sys
from stallkit.errors import StoreError
from stallkit_sessions.finalize import append
os.chdir(sys.argv[1])
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    append(".", {"id": "e1"})
except StoreError as error:
    print(error.why)
"""
    tmp_path.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "Permission denied\n"


def test_what_stands_in_the_way_of_a_rotation(tmp_path: Path) -> None:
    append(tmp_path, EVENT)
    (tmp_path / ".stallkit" / "runtime.log.1").mkdir()
    with pytest.raises(StoreError):
        append(tmp_path, EVENT, max_bytes=100)
    assert len(lines(tmp_path)) == 1
