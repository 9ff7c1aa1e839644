"""What the first edition wrote is read by today's commands: sessions, incidents, runs, recordings, results."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path
from subprocess import PIPE
from typing import Any, Iterator, Mapping

import pytest
from checked import allowing
from supervised import ASKS
from terminals import Server

OLD = Path(__file__).parent / "fixtures" / "first_edition"
PROJECT = "/home/user/project"  # as the old files call it

pytestmark = pytest.mark.e2e


class Files:
    """A copy of the old files, and the commands that read it."""

    def __init__(self, folder: Path, command: str) -> None:
        self.folder, self.command = folder, command
        self.state, self.project, self.lab = (folder / name for name in ("state", "project", "lab"))

    def lay_out(self, instead: Mapping[str, str]) -> None:
        """Copy them, with some words in the place of others."""
        for file in filter(Path.is_file, OLD.rglob("*")):
            text = file.read_text("utf-8").replace(PROJECT, str(self.project))
            for old, new in instead.items():
                text = text.replace(old, new)
            copied = self.folder / file.relative_to(OLD)
            copied.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".sql":
                with closing(sqlite3.connect(copied.with_suffix(""))) as base:
                    base.executescript(text)
            else:
                copied.write_text(text, "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        given = {"STALLKIT_STATE_DIR": str(self.state), "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        ours = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_TMPDIR", "NO_COLOR")}
        return {**ours, **given, "LC_ALL": "C.UTF-8"}

    def call(self, *words: str, exits: int = 0) -> str:
        done = subprocess.run(
            [self.command, *words], env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == exits, done.stderr
        return done.stdout

    def told(self, *words: str, exits: int = 0) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.call(*words, "--json", exits=exits))
        return told

    def rows(self, database: str, query: str) -> list[dict[str, Any]]:
        """What a database holds, whoever reads it."""
        with closing(sqlite3.connect(self.state / database)) as base:
            base.row_factory = sqlite3.Row
            return [dict(row) for row in base.execute(query)]


@pytest.fixture
def old(tmp_path: Path, stallkit_command: str) -> Files:
    files = Files(tmp_path, stallkit_command)
    files.lay_out({})
    return files


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# --- sessions ---


def test_every_end_is_told_as_it_was_written(old: Files) -> None:
    kept = old.rows("sessions.db", "select name, record from session where record is not null order by number")
    written = [json.loads(row["record"]) for row in kept]
    assert Counter(row["name"] for row in kept) == {"build": 3, "box": 1, "quiet": 1, "worker1": 1, "worker2": 1}
    told = [
        end for name in dict.fromkeys(row["name"] for row in kept)
        for end in old.told("output", "--postmortem", name, "--all")["ended"]
    ]  # fmt: skip
    for before, now in zip(written, told, strict=True):
        assert {key: now[key] for key in before} == before
    assert [end["earlier"] for end in told[:3]] == [0, 1, 2]
    assert "it died of this 3 times in a row" in old.call("output", "--postmortem", "build")
    assert "incident 00000015: the tmux server 4200 was killed; with it went worker1, worker2" in old.call("list")


def test_what_had_not_ended_is_settled_with_what_was_seen_of_it(old: Files) -> None:
    found = {one["name"]: one for one in old.told("list")["sessions"]}
    assert set(found) == {"build", "box", "quiet", "worker1", "worker2", "lives", "leaving"}, "half was given up"
    ended = {name: one["ended"] for name, one in found.items()}
    assert {ended[name]["cause"] for name in ("lives", "leaving")} == {"machine restarted"}
    assert len({ended[name]["incident"] for name in ("lives", "leaving")}) == 1
    lives = ended["lives"]
    assert (lives["screen"], lives["screen_at"]) == (["48214", "Proceed? [y/N]"], 1750000426.0)
    assert [one["state"] for one in lives["verdicts"]] == ["working", "waiting"]
    assert (lives["session"]["command"], lives["session"]["ports"]) == (["sh", "-c", "echo $PORT; exec cat"], [48214])
    assert lives["session"]["started_at"] == 1750000422.0
    assert old.rows("sessions.db", "select * from port") == [], "its ports are free again"


def test_events_that_waited_are_written_once_each_behind_the_old_ones(old: Files) -> None:
    waiting = [row["id"] for row in old.rows("sessions.db", "select id from event where not written")]
    assert len(waiting) == 3
    logs = [old.state / "events.jsonl", old.project / ".stallkit" / "runtime.log"]
    before = [log.read_text("utf-8") for log in logs]
    old.call("list")
    for log, text in zip(logs, before, strict=True):
        assert log.read_text("utf-8").startswith(text)
        events = lines(log)
        written = Counter(event.get("id") for event in events)
        assert [written[id] for id in waiting] == [1, 1, 1]
        ends = [event for event in events if event["event"] == "session_drop"]
        assert {event["target"] for event in ends} == {"worker1", "worker2", "lives", "leaving"}
        assert len({tuple(event) for event in ends}) == 1, "the fields of an event are what they were"
        assert {event["version"] for event in events} == {1}
    assert old.rows("sessions.db", "select id from event where not written") == []


# --- supervisors ---


def test_what_a_supervisor_noted_of_sessions(old: Files) -> None:
    noted = old.rows("watch.db", "select * from session order by name")
    told = old.told("status")["sessions"]
    assert [one["target"] for one in told] == ["tmux:agent1", "tmux:agent2", "tmux:agent3", "tmux:agent4"]
    for row, one in zip(noted, told, strict=True):
        kept = json.loads(row["status"]) | {key: row[key] for key in ("seen_at", "iteration", "halted", "free_at")}
        assert {key: one[key] for key in kept} == kept
    assert told[1]["halted"] == "3 recoveries in this iteration, 3 are allowed"
    assert told[2]["free_time"] == "2025-06-15T16:16:25.000+00:00"


def test_incidents(old: Files) -> None:
    noted = old.rows("watch.db", "select at, session, event, facts from incident order by id")
    told = old.told("report", "--incidents")["incidents"]
    assert [{key: one[key] for key in ("at", "session", "event", "facts")} for one in told] == [
        {**row, "facts": json.loads(row["facts"])} for row in noted
    ]
    assert len(old.told("report", "--incidents", "tmux:agent2")["incidents"]) == 2


def test_a_halt_is_lifted_with_its_file(old: Files) -> None:
    stop = old.project / ".auto-stop"
    assert json.loads(stop.read_text("utf-8"))["session"] == "tmux:agent2"
    assert "released, after 3 recoveries in this iteration" in old.call("stuck", "release", "tmux:agent2")
    assert not stop.exists() and old.told("status", "tmux:agent2")["sessions"][0]["halted"] is None
    assert "released, after a press with an unknown outcome" in old.call("stuck", "release", "tmux:agent4")
    old.call("stuck", "release", "tmux:agent1", exits=1)


def test_halts_and_counts_bind_the_next_supervisor(tmp_path: Path, server: Server, stallkit_command: str) -> None:
    for name in ("agent1", "agent2", "agent4", "fresh"):
        server.start(name, "bash", "-c", f"{ASKS} exec sleep 100", shows="Press any key")
    old = Files(tmp_path, stallkit_command)
    panes = server.tmux("list-panes", "-a", "-F", "#{session_name}:#{pid} #{start_time} #{pane_id} #{pane_pid}")
    now = dict(line.split(":") for line in panes.splitlines())
    was = {f"agent{n}": f"4200 1749990000 %2{n} 432{n}" for n in (1, 2, 4)}
    old.lay_out({identity: now[name] for name, identity in was.items()})
    (old.project / ".auto-stop").unlink()  # which once lifted a halt
    targets = [f"tmux:{name}" for name in now]
    allowed = allowing(tmp_path, "shell_tools:press_any_key")
    words = ["watch", *targets, "-S", str(server.socket), "--policy", allowed]
    words += ["--json", "--interval", "0.3", "--for", "60"]
    with subprocess.Popen([stallkit_command, *words], env=old.environment, cwd=old.folder, stdout=PIPE) as watch:
        try:
            events = list(_until_pressed(watch, {"tmux:fresh", "tmux:agent1"}))
        finally:
            watch.terminate()
    assert {target for name, target in events if name == "dismissal"} == {"tmux:fresh", "tmux:agent1"}
    assert ("outcome_unknown", "tmux:agent4") in events
    noted = {one["target"]: one for one in old.told("status")["sessions"]}
    assert noted["tmux:agent1"]["recoveries"] == 3, "two before, and one now"
    assert noted["tmux:agent2"]["halted"] == "3 recoveries in this iteration, 3 are allowed"


def _until_pressed(watch: subprocess.Popen[bytes], wanted: set[str]) -> Iterator[tuple[str, str]]:
    """Events and what they are about, until a key was pressed at all of these."""
    assert watch.stdout is not None
    left = set(wanted)
    for line in watch.stdout:
        event = json.loads(line)
        yield event["event"], event["target"]
        if event["event"] == "dismissal" and event["outcome"] == "cleared":
            left.discard(event["target"])
        if not left:
            return
    raise AssertionError(f"nobody pressed at {left}")


# --- runs in the background ---


def test_runs(old: Files) -> None:
    listed = old.told("attach")["runs"]
    assert [(one["id"], one["status"], one["exit_status"]) for one in listed] == [
        ("r6a7b8c", "lost", None), ("r3d4e5f", "exited", None), ("r0a1b2c", "exited", 3),
    ]  # fmt: skip
    assert listed[0]["command"] == ["npm", "init"] and listed[0]["cwd"] == str(old.project)
    for id in ("r0a1b2c", "r3d4e5f"):
        result = json.loads((old.state / "runs" / id / "result.json").read_text("utf-8"))
        assert old.told("attach", id) == {**result, "next": None}, "a run that ended has no next step"
    assert old.call("attach", "r0a1b2c", "--exit-status", exits=3) == "compiling\ndone\n"
    assert old.call("attach", "r3d4e5f", "--exit-status", exits=128 + 15) == "Proceed? [y/N] y\n"
    assert old.call("attach", "last", exits=4) == ""


# --- the lab ---


def test_recordings_of_both_versions(old: Files) -> None:
    two, three = (old.told("record", "replay", str(old.lab / f"v{version}.cast")) for version in (2, 3))
    assert two == three
    assert (two["duration"], two["problems"]) == (12.0, [])
    assert [(one["at"], one["label"], one["known"]) for one in two["markers"]] == [
        (1.5, "working", True), (5.3, "waiting:confirm", True), (9.3, "working", True),
    ]  # fmt: skip
    asks = next(one for one in two["changes"] if one["at"] == 2.2)
    assert (asks["state"], asks["certainty"], asks["kind"]) == ("waiting", "sure", "confirm"), "its facts are read"
    assert (two["changes"][-1]["at"], two["changes"][-1]["state"]) == (12.0, "gone")


def test_a_captured_screen(old: Files) -> None:
    checked = old.told("check", f"file:{old.lab / 'asks.txt'}", exits=2)
    assert (checked["state"], checked["certainty"], checked["kind"]) == ("waiting", "sure", "confirm")
    again = old.call("pack", "capture", str(old.lab / "asks.txt"), "-o", "-").splitlines()
    before = (old.lab / "asks.txt").read_text("utf-8").splitlines()
    kept = [
        line
        for line in before
        if not line.startswith(("program", "version", "captured", "state", "kind", "note", "title"))
    ]
    assert [line for line in again if line in kept] == kept, "screen, cursor and what the kernel said"


def test_a_corpus_against_an_old_result(old: Files) -> None:
    paths = [str(old.lab / name) for name in ("cases.jsonl", "v2.cast", "asks.txt")]
    result = old.told("eval", *paths, "--baseline", str(old.lab / "baseline.json"))
    assert (result["cases"], result["problems"]) == (7, [])
    beside = result["baseline"]
    assert (beside["appeared"], beside["vanished"], beside["became_wrong"]) == ([], [], [])
    assert beside["figures"]["waiting recall"] == [1.0, 1.0]
    assert beside["wrong_keys"] == {"careful": [0, 0], "daemon": [0, 0]}
