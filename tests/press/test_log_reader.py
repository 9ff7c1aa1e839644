"""An event log is read whole: rotated files, cut lines, and what is written meanwhile."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from stallkit.errors import ConfigError
from stallkit.press.events import Event, EventLog
from stallkit.press.log_reader import LogReader


def numbers(reader: LogReader) -> list[int]:
    return [event["number"] for event in reader.events()]


def test_rotated_files_are_read_the_oldest_first(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", max_bytes=1_000)
    for number in range(30):
        log.write(Event("detection", "tmux:a", {"number": number}))
    assert (tmp_path / "events.jsonl.2").exists()
    assert numbers(LogReader(log.path)) == list(range(30))


def test_cut_and_foreign_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    whole = json.dumps({"event": "done", "number": 1})
    lines = [whole, whole[:9], "", "[1]", '{"event": 3}', "\xff", "[" * 100_000, whole, whole[:-2]]
    path.write_text("\n".join(lines), "latin-1")
    reader = LogReader(path)
    assert (numbers(reader), reader.unreadable) == ([1, 1], 6)


def test_a_rotation_meanwhile_hides_nothing_and_shows_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, max_bytes=10_000)
    log.write(Event("done", "", {"number": 1}))
    os.link(path, f"{path}.1")  # as it is between the two looks at a file that was renamed
    assert numbers(LogReader(path)) == [1]
    path.unlink()
    assert numbers(LogReader(path)) == [1], "before the next event was written"


def test_progress_reaches_the_end_and_old_files_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "done", "number": 2}\n' * 10_000)
    (tmp_path / "events.jsonl.1").write_text('{"event": "done", "number": 1}\n')
    os.utime(tmp_path / "events.jsonl.1", (0, 1_000))
    shares: list[float] = []
    assert sum(1 for _ in LogReader(path).events(2_000, shares.append)) == 10_000
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) == 5


@pytest.mark.parametrize("folder", [False, True])
def test_no_log_is_an_error(tmp_path: Path, folder: bool) -> None:
    path = tmp_path / "events.jsonl"
    if folder:
        path.mkdir()
    with pytest.raises(ConfigError, match="Is a directory" if folder else "there is no such file"):
        list(LogReader(path).events())
