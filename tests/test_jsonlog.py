"""Files of JSON lines: several processes, full disks, rotation, and what stands in their place."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stallkit import jsonlog
from stallkit.errors import StoreError
from stallkit.press.events import Event, EventLog


def event(name: str = "escalation", target: str = "tmux:one", **facts: Any) -> Event:
    return Event(name, target, facts)


WRITER = """
import sys
from pathlib import Path
from stallkit.press.events import Event, EventLog
log = EventLog(Path(sys.argv[1]), max_bytes=int(sys.argv[3]))
print("ready", flush=True)
sys.stdin.read()
for number in range(150):
    log.write(Event("escalation", sys.argv[2], {"number": number, "why": "x " * (number % 40)}))
"""


def test_rotation_by_two_processes_at_once_loses_no_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.jsonl"
    code = WRITER.replace("log = ", "EventLog.KEPT = 200\nlog = ")
    command = [sys.executable, "-c", code, str(path)]
    names = ["one", "two", "three"]
    processes = [
        subprocess.Popen([*command, name, "1500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for name in names
    ]
    for process in processes:
        assert process.stdout and process.stdout.readline() == b"ready\n"
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    files = sorted(tmp_path.iterdir())
    assert len(files) > 10
    found = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    for name in names:
        assert sorted(one["number"] for one in found if one["target"] == name) == list(range(150))


def test_a_file_that_grew_is_kept_under_another_name(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", max_bytes=1)
    for number in range(8):
        log.write(event(number=number))
    files = {file.name: json.loads(file.read_text())["number"] for file in tmp_path.iterdir()}
    kept = {f"events.jsonl.{number}": 7 - number for number in range(1, EventLog.KEPT + 1)}
    assert files == {"events.jsonl": 7, **kept}
    unlimited = EventLog(tmp_path / "all.jsonl")
    for _ in range(8):
        unlimited.write(event())
    assert len(unlimited.path.read_text().splitlines()) == 8


def test_a_file_that_somebody_holds_is_written_to_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, max_bytes=1)
    path.touch()
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for number in (1, 2):
            log.write(event(number=number))
        assert len(held.readlines()) == 2 and not (tmp_path / "events.jsonl.1").exists()
    log.write(event(number=3))
    assert len((tmp_path / "events.jsonl.1").read_text().splitlines()) == 2
    assert len(path.read_text().splitlines()) == 1


def test_a_file_that_cannot_be_moved_is_written_to_all_the_same(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", max_bytes=1)
    (tmp_path / "events.jsonl.5" / "full").mkdir(parents=True)
    (tmp_path / "events.jsonl.4").write_text("")
    log.write(event(number=1))
    log.write(event(number=2))
    assert len(log.path.read_text().splitlines()) == 2


TORN = """
import resource, signal, sys
from pathlib import Path
from stallkit.errors import StoreError
from stallkit.press.events import Event, EventLog
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = EventLog(Path(sys.argv[1]))
log.write(Event("escalation", "tmux:one", {"number": 0}))
resource.setrlimit(resource.RLIMIT_FSIZE, (300, resource.RLIM_INFINITY))
for number in (1, 2):
    try:
        log.write(Event("escalation", "tmux:one", {"number": number, "why": "x " * 200}))
    except StoreError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.write(Event("escalation", "tmux:one", {"number": 3}))
"""


def test_a_line_that_a_full_disk_cut_off_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    done = subprocess.run([sys.executable, "-c", TORN, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.count("event log") == 2, "both were told"
    lines = path.read_text().splitlines()
    assert [json.loads(line)["number"] for line in (lines[0], lines[-1])] == [0, 3] and len(lines) == 3


def test_a_pipe_that_nobody_reads_does_not_hang_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events.jsonl")
    with pytest.raises(StoreError):
        EventLog(tmp_path / "events.jsonl", max_bytes=1).write(event())


@pytest.mark.parametrize("trusted", [True, False])
def test_a_line_that_another_process_left_cut_off_is_ended(tmp_path: Path, trusted: bool) -> None:
    (tmp_path / "log").write_text('{"id": "e1"}\n{"id": "e')
    with jsonlog.folder(tmp_path) as at:
        jsonlog.append(at, "log", jsonlog.encode({"id": "e2"}), trusted=trusted)
    assert (tmp_path / "log").read_text().splitlines() == ['{"id": "e1"}', '{"id": "e', '{"id": "e2"}']
    assert jsonlog.holds(tmp_path / "log", "e2") and not jsonlog.holds(tmp_path / "log", "e")


@pytest.mark.parametrize("trusted", [True, False])
def test_no_link_is_followed(tmp_path: Path, trusted: bool) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "there")
    with jsonlog.folder(tmp_path) as at, pytest.raises(OSError, match="symbolic link"):
        jsonlog.append(at, "log", "{}", trusted=trusted)
    assert not (tmp_path / "there").exists()


LONG = """
import sys
from stallkit import jsonlog
print("ready", flush=True)
sys.stdin.read()
with jsonlog.folder(sys.argv[1]) as at:
    for number in range(100):
        jsonlog.append(at, "log", jsonlog.encode({"number": number, "x": "x " * 9_000}), max_bytes=200_000, kept=99)
"""


def test_lines_of_several_pages_do_not_mix(tmp_path: Path) -> None:
    """While one process writes a line, others see a file that ends in its middle: none of them ends it."""
    command = [sys.executable, "-c", LONG, str(tmp_path)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        assert process.stdout and process.stdout.readline() == b"ready\n"
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    found = [json.loads(line)["number"] for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert sorted(found) == sorted([*range(100)] * 3)
