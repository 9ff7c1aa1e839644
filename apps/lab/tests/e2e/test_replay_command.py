"""``stallkit replay`` as it is typed."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from recordings import session, write

pytestmark = pytest.mark.e2e


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=environment, **options)


def test_it_shows_verdicts_beside_the_truth(stallkit_command: str, tmp_path: Path) -> None:
    done = run(stallkit_command, "replay", session(tmp_path / "a.cast"))
    assert done.returncode == 0 and done.stderr == ""
    assert "waiting:confirm" in done.stdout and "shell_yn:yes_no" in done.stdout and "\x1b" not in done.stdout
    narrow = subprocess.run(  # the lanes fit, and no name in the table is cut
        [stallkit_command, "replay", tmp_path / "a.cast"],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "30"},
    ).stdout  # fmt: skip
    assert narrow.partition("\n\n")[0] == done.stdout.partition("\n\n")[0]
    assert all(len(line) <= 30 for line in narrow.splitlines() if line.startswith(("truth ", "verdict   ")))
    truth, verdict = (
        line for line in done.stdout.splitlines() if line.startswith(("truth", "verdict  k", "verdict   "))
    )
    assert "kkkwww" in truth and "kkkwww" in verdict and "right: 100.0%" in done.stdout


def test_its_json_is_one_object(stallkit_command: str, tmp_path: Path) -> None:
    done = run(stallkit_command, "replay", session(tmp_path / "a.cast"), "--json")
    told = json.loads(done.stdout)
    assert set(told) == {"version", "duration", "changes", "markers", "agreement", "problems"}
    assert set(told["changes"][0]) == {"at", "state", "certainty", "kind", "signature", "truth"}
    assert (told["version"], told["agreement"], told["duration"], told["problems"]) == (1, 1.0, 12.0, [])
    screen_only = json.loads(run(stallkit_command, "replay", tmp_path / "a.cast", "--json", "--no-facts").stdout)
    assert {change["certainty"] for change in screen_only["changes"]} == {"maybe"}


def test_with_a_speed_it_ends_with_the_same_table(stallkit_command: str, tmp_path: Path) -> None:
    path = session(tmp_path / "a.cast")
    at_once, played = run(stallkit_command, "replay", path), run(stallkit_command, "replay", path, "--speed", "500")
    assert played.returncode == 0 and at_once.stdout.splitlines()[-3:] == played.stdout.splitlines()[-3:]
    assert run(stallkit_command, "replay", path, "--speed", "0").returncode == 64


def test_bad_input_is_named_in_one_line_and_exits_7(stallkit_command: str, tmp_path: Path) -> None:
    for content, line, why in [
        (b"", 1, "it is empty"),
        (b"\x00\xff\n\xfe\n", 1, "its header is not JSON"),
        (b'{"version": 4, "width": 80, "height": 24}\n', 1, "a later format"),
        (b'{"version": 2, "width": 80, "height": 24}\n[1, "o", "Go? "]\n[2, "m", "wat"]\n', 3, "'wat' is unknown"),
        (b'{"version": 2, "width": 80, "height": 24}\n[1, "o", "Go? "]\n[0, "o", "!"]\n', 3, "out of order"),
        (b'{"version": 2, "width": 80, "height": 24}\n[1, "o", "Go? "]\n[2, "o", "br', 3, "breaks off"),
    ]:
        path = tmp_path / "a.cast"
        path.write_bytes(content)
        done = run(stallkit_command, "replay", path)
        assert done.returncode == 7, (content, line)
        assert done.stderr.startswith(f"stallkit: recording {path}:{line}: ") and why in done.stderr, (content, line)
        assert done.stderr.count("\n") == 1 and ("waiting" in done.stdout or line == 1 or "working" in done.stdout), (
            content,
            line,
        )


def test_a_recording_of_100_mb_is_streamed(stallkit_command: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.cast", (0.1, "o", "Proceed? [y/N] "), (3.0, "m", "waiting:confirm"))
    block = "".join(f'[{4 + n / 1e6}, "o", "{"x" * 60_000}\\r\\n"]\n' for n in range(100))
    with path.open("a") as file:
        for number in range(17):
            file.write(block.replace("[4.", f"[{4 + number}."))
        file.write('[30.0, "m", "working"]\n')
    assert path.stat().st_size > 100_000_000
    limit = 150_000_000  # bytes of memory: what the program takes for a small one, and half the file more

    done = run(
        stallkit_command, "replay", path, "--json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["duration"] == 30.0
