"""`stallkit report` over the log of a real night, which was short: who waited, who answered, what still waits."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from terminals import OnTerminal, Server, wait_for

pytestmark = pytest.mark.e2e

ANY_KEY = "read -n1 -s -r -p 'Press any key to continue...'; printf '\\nwent on\\n'; exec sleep 100"
ASKS = "read -p 'Delete all? [y/N] ' x; clear; echo went on; exec sleep 100"


class Night:
    """`stallkit` in a folder of its own, over one tmux server."""

    def __init__(self, command: str, server: Server, folder: Path) -> None:
        self.command, self.server, self.folder = command, server, folder
        config = {"XDG_CONFIG_HOME": str(folder / "config"), "STALLKIT_TMUX": str(server.socket)}
        self.environment = {**os.environ, **config, "STALLKIT_STATE_DIR": str(folder / "state")}
        self.log = folder / "state" / "events.jsonl"
        rule = 'do = "press"\nsignature = "shell_tools:press_any_key"\nsession = "tmux:key"\n'
        (folder / "config" / "stallkit").mkdir(parents=True)
        settings = folder / "config" / "stallkit" / "stallkit.toml"
        settings.write_text(f"[watch]\nall = true\n[[policy.rule]]\n{rule}")

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        given = [self.command, *words]
        return subprocess.run(
            given, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.command, *words],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def has(self, name: str, target: str) -> bool:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return any((event["event"], event["target"]) == (name, target) for event in map(json.loads, lines))

    def report(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = self("report", "--json", *words)
        return done.returncode, json.loads(done.stdout)


@pytest.fixture
def night(stallkit_command: str, server: Server, tmp_path: Path) -> Iterator[Night]:
    for name, script in (("key", ANY_KEY), ("one", ASKS), ("two", ASKS)):
        server.start(name, "bash", "-c", script, shows="?" if script is ASKS else "key").close()
    server.start("quiet", "sleep", "1000").close()
    made = Night(stallkit_command, server, tmp_path)
    process = made.start("supervise")
    try:
        wait_for(lambda: made.has("dismissal", "tmux:key"), "stallkit's answer")
        wait_for(lambda: made.has("escalation", "tmux:one") and made.has("escalation", "tmux:two"), "two questions")
        server.tmux("send-keys", "-t", "=one:", "n", "Enter")
        lines = lambda: [one for one in made.report()[1]["sessions"] if one["session"] == "one"]  # noqa: E731
        wait_for(lambda: not lines()[0]["still_waits"], "the end of a wait")
    finally:
        process.terminate()
        _, told = process.communicate(timeout=30)
        assert (process.returncode, told) == (0, b"")
    yield made


def test_who_waited_who_answered_and_what_still_waits(night: Night) -> None:
    code, report = night.report()
    sessions = {one["session"]: one for one in report["sessions"]}
    assert code == 2 and (report["watching"], report["unreadable"]) == (0, 0)
    [one], [two] = sessions["one"]["waits"], sessions["two"]["waits"]
    assert (one["what"], one["about"], two["what"], two["until"]) == ("waits", "confirm", "waits", None)
    assert one["until"] is not None and one["by"] == "typed there"
    assert sessions["key"]["pressed"] == 1 and not sessions["key"]["still_waits"]
    assert not sessions["quiet"]["waits"] if "quiet" in sessions else True
    assert night.report("tmux:one")[0] == 0 and night.report("one", "--since", "0s")[0] == 0

    done = night("report")
    lines = done.stdout.splitlines()
    assert done.returncode == 2 and len(lines) <= 10, done.stdout
    assert "1 still open" in lines[0] and "no supervisor watches any more" in lines[1]
    assert [line.split()[0] for line in lines[2:6]] == ["session", "two", "one", "key"], "the one that waits is first"
    assert "still confirm" in lines[3] and "stallkit 1" in lines[5]


def test_a_cut_line_and_rotated_files(night: Night) -> None:
    whole = night.report()[1]
    text = night.log.read_text()
    middle = text.index("\n", len(text) // 2) + 1
    Path(f"{night.log}.1").write_text(text[:middle])
    night.log.write_text(text[middle:] + '{"version": 1, "time": "2026')
    code, found = night.report()
    assert (code, found.pop("unreadable")) == (2, 1)
    assert found["sessions"] == whole["sessions"]
    assert "1 line is no event, and left out" in night("report").stderr


def test_on_a_terminal(night: Night) -> None:
    shown = OnTerminal(
        night.server, (80, 24), night.command, "report", "--all", STALLKIT_STATE_DIR=str(night.folder / "state")
    )
    text = shown.over(2)
    assert "still confirm" in text and "one" in text


def test_a_watch_tells_at_its_end_what_happened_in_it(night: Night) -> None:
    assert '"still"' not in night.log.read_text()
    watch = night.start("watch", "--all", "--policy", "observe", "--summary")
    wait_for(lambda: '"still"' in night.log.read_text(), "what was told before, and is still there")
    watch.terminate()
    _, told = watch.communicate(timeout=30)
    assert watch.returncode == 0 and b"1 still open" in told and b"two" in told and b"\nkey" not in told


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["report", "--log", "none.jsonl"], 1, "there is no such file"),
        (["report", "--since", "yesterday"], 64, "write a span"),
        (["report", "--since", "25:00"], 64, "write a span"),
        (["report", "--log", "empty.jsonl"], 0, "nothing happened"),
        (["report", "nobody", "--log", "empty.jsonl"], 64, "tells of no such session"),
    ],
)
def test_what_it_cannot_tell(
    stallkit_command: str, server: Server, tmp_path: Path, words: list[str], code: int, said: str
) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = Night(stallkit_command, server, tmp_path)(*words)
    assert done.returncode == code and said in done.stdout + done.stderr
