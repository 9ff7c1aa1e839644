"""A replay tells what would have been said at each moment, and how much of the marked time was told right."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import FACTS, facts, session, write
from stallkit_lab.record.asciicast import Event, Header, Problems
from stallkit_lab.record.cast import Player, Recording
from stallkit_lab.record.replay import Timeline, looks, timeline

from stallkit import Engine
from stallkit.errors import StallkitError
from stallkit.judging.judge import judge
from stallkit.judging.verdict import Verdict
from stallkit.transports.emulator import GhosttyEmulator


def replay(path: Path, engine: Engine, **options: Any) -> Timeline:
    recording = Recording(path, problems := [])
    found = timeline(looks(recording, engine, **options), recording.marked)
    assert problems == []
    return found


def test_verdicts_stand_beside_the_truth(tmp_path: Path, engine: Engine) -> None:
    found = replay(session(tmp_path / "a.cast"), engine)
    told = [(change.at, change.state, change.certainty, change.truth, change.right) for change in found.changes]
    assert (2.2, "waiting", "sure", "waiting:confirm", True) in told
    assert told[-1] == (12.0, "gone", "sure", None, None)
    assert found.agreement == 1.0 and found.duration == 12.0
    assert found.markers[1] == {"at": 5.3, "label": "waiting:confirm", "known": True, "line": 8}


def test_without_facts_it_is_never_sure_of_a_line(tmp_path: Path, engine: Engine) -> None:
    found = replay(session(tmp_path / "a.cast"), engine, with_facts=False)
    assert {change.certainty for change in found.changes if change.state == "waiting"} == {"maybe"}


def test_what_is_told_wrong_costs_its_time(tmp_path: Path, engine: Engine) -> None:
    events = [(0.0, "o", "Proceed? [y/N] "), (0.5, "k", facts(**FACTS)), (1.0, "m", "working"), (10.0, "z", "")]
    found = replay(write(tmp_path / "a.cast", *events), engine)
    assert found.agreement is not None and found.agreement < 0.1
    assert replay(write(tmp_path / "b.cast", *events[:2], events[3]), engine).agreement is None


def test_the_verdict_is_that_of_a_live_look(tmp_path: Path, engine: Engine) -> None:
    """The same screen and facts give the same verdict, played or looked at."""
    recording = Recording(session(tmp_path / "a.cast"), [])
    for look in looks(recording, engine):
        verdict: Verdict = judge(engine.detect(look.snapshot.screen), look.snapshot, (look.snapshot,))
        assert verdict.state is look.verdict.state or look.snapshot.quiet_s == 0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 3), st.sampled_from("oookmrxlz"), st.sampled_from(
        ["Go? [y/N] ", "\r\nworking\r\n", "working", "waiting", "\x1b[2J", "90x30", "{}", "0", facts(**FACTS), "\ud800"]
    )), max_size=20)
)  # fmt: skip
def test_any_events_make_a_timeline(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[float, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("casts") / "a.cast"
    problems: list[StallkitError] = []
    recording = Recording(write(path, *sorted(events)), problems)
    found = timeline(looks(recording, Engine([])), recording.marked)
    times = [change.at for change in found.changes]
    assert times == sorted(times) and all(0 <= at <= found.duration for at in times)
    assert found.agreement is None or 0 <= found.agreement <= 1 + 1e-9


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 200))
def test_output_cut_anywhere_shows_the_same(data: bytes, cut: int) -> None:
    text = data.decode("utf-8", "replace")
    player = Player(Header((20, 5)), Problems(""))
    for part in (text[:cut], text[cut:]):
        player.feed(Event(0.0, "o", part))
    emulator = GhosttyEmulator(20, 5)
    emulator.feed(text.encode("utf-8", "replace"))
    assert player.look(0.0, None).screen == emulator.screen()


# --- as it is typed ---
def called(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=environment, **options)


@pytest.mark.e2e
def test_it_shows_verdicts_beside_the_truth(stallkit_command: str, tmp_path: Path) -> None:
    done = called(stallkit_command, "record", "replay", session(tmp_path / "a.cast"))
    assert done.returncode == 0 and done.stderr == ""
    assert "waiting:confirm" in done.stdout and "shell_yn:yes_no" in done.stdout and "\x1b" not in done.stdout
    narrow = subprocess.run(  # the lanes fit, and no name in the table is cut
        [stallkit_command, "record", "replay", tmp_path / "a.cast"],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "30"},
    ).stdout  # fmt: skip
    assert narrow.partition("\n\n")[0] == done.stdout.partition("\n\n")[0]
    assert all(len(line) <= 30 for line in narrow.splitlines() if line.startswith(("truth ", "verdict   ")))
    truth, verdict = (
        line for line in done.stdout.splitlines() if line.startswith(("truth", "verdict  k", "verdict   "))
    )
    assert "kkkwww" in truth and "kkkwww" in verdict and "right: 100.0%" in done.stdout


@pytest.mark.e2e
def test_its_json_is_one_object(stallkit_command: str, tmp_path: Path) -> None:
    done = called(stallkit_command, "record", "replay", session(tmp_path / "a.cast"), "--json")
    told = json.loads(done.stdout)
    assert set(told) == {"version", "duration", "changes", "markers", "agreement", "problems"}
    assert set(told["changes"][0]) == {"at", "state", "certainty", "kind", "signature", "truth"}
    assert (told["version"], told["agreement"], told["duration"], told["problems"]) == (1, 1.0, 12.0, [])
    screen_only = json.loads(
        called(stallkit_command, "record", "replay", tmp_path / "a.cast", "--json", "--no-facts").stdout
    )
    assert {change["certainty"] for change in screen_only["changes"]} == {"maybe"}


@pytest.mark.e2e
def test_with_a_speed_it_ends_with_the_same_table(stallkit_command: str, tmp_path: Path) -> None:
    path = session(tmp_path / "a.cast")
    at_once, played = (
        called(stallkit_command, "record", "replay", path),
        called(stallkit_command, "record", "replay", path, "--speed", "500"),
    )
    assert played.returncode == 0 and at_once.stdout.splitlines()[-3:] == played.stdout.splitlines()[-3:]
    assert called(stallkit_command, "record", "replay", path, "--speed", "0").returncode == 64


@pytest.mark.e2e
def test_bad_input_is_named_in_one_line_and_exits_7(stallkit_command: str, tmp_path: Path) -> None:
    for content, line, why in [
        (b"\x00\xff\n\xfe\n", 1, "its header is not JSON"),
        (b'{"version": 2, "width": 80, "height": 24}\n[1, "o", "Go? "]\n[2, "m", "wat"]\n', 3, "'wat' is unknown"),
        (b'{"version": 2, "width": 80, "height": 24}\n[1, "o", "Go? "]\n[2, "o", "br', 3, "breaks off"),
    ]:
        path = tmp_path / "a.cast"
        path.write_bytes(content)
        done = called(stallkit_command, "record", "replay", path)
        assert done.returncode == 7, (content, line)
        assert done.stderr.startswith(f"stallkit: recording {path}:{line}: ") and why in done.stderr, (content, line)
        assert done.stderr.count("\n") == 1 and ("waiting" in done.stdout or line == 1 or "working" in done.stdout), (
            content,
            line,
        )


@pytest.mark.e2e
def test_a_recording_of_100_mb_is_streamed(stallkit_command: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.cast", (0.1, "o", "Proceed? [y/N] "), (3.0, "m", "waiting:confirm"))
    block = "".join(f'[{4 + n / 1e6}, "o", "{"x" * 60_000}\\r\\n"]\n' for n in range(100))
    with path.open("a") as file:
        for number in range(17):
            file.write(block.replace("[4.", f"[{4 + number}."))
        file.write('[30.0, "m", "working"]\n')
    assert path.stat().st_size > 100_000_000
    limit = 150_000_000  # bytes of memory: what the program takes for a small one, and half the file more

    done = called(
        stallkit_command, "record", "replay", path, "--json",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["duration"] == 30.0
