"""``stallkit status`` beside a supervisor that runs, and after one that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Iterator

import pytest
from stallkit_supervisor.store import Store
from terminals import Server, wait_for

pytestmark = pytest.mark.e2e

ASKS = "read -p 'Proceed? [y/N] ' answer; clear; echo went on; exec sleep 1000"


class Watched:
    """`stallkit` in a state directory of its own, over one tmux server, where `supervise` runs."""

    def __init__(self, command: str, server: Server, folder: Path) -> None:
        self.command, self.server = command, server
        self.environment = {**os.environ, "STALLKIT_STATE_DIR": str(folder / "state")}
        self.environment.pop("TMUX", None)
        words = [command, "watch", "--all", "--policy", "observe", "--json", "-S", str(server.socket)]
        self.process = subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL)

    def __call__(self, *words: str) -> tuple[int, str]:
        given = [self.command, "status", *words]
        done = subprocess.run(given, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        assert not done.stderr
        return done.returncode, done.stdout

    @property
    def text(self) -> str:
        return self.server.tmux("show-options", "-gqv", "@stallkit").strip()


@pytest.fixture
def watched(stallkit_command: str, server: Server, tmp_path: Path) -> Iterator[Watched]:
    server.start("w1", "bash", "-c", ASKS, shows="Proceed?").close()
    made = Watched(stallkit_command, server, tmp_path)
    yield made
    made.process.kill()
    made.process.wait()


def test_a_line_for_a_status_bar(watched: Watched) -> None:
    wait_for(lambda: watched("--short") == (2, "1 wait: w1\n"), "who waits")
    assert watched.text == "1 wait: w1"
    watched.server.tmux("send-keys", "-t", "=w1:", "y", "Enter")
    wait_for(lambda: watched("--short") == (0, "\n"), "nothing to be needed")
    watched.process.send_signal(signal.SIGTERM)
    assert watched.process.wait(30) == 0
    assert watched("--short") == (1, "stallkit: not running\n")


def test_a_stopped_supervisor_does_not_hold_the_line_up(watched: Watched) -> None:
    wait_for(lambda: watched("--short")[0] == 2, "who waits")
    watched.process.send_signal(signal.SIGSTOP)
    assert watched("--short") == (1, "stallkit: does not answer\n")
    watched.process.send_signal(signal.SIGCONT)


def test_what_a_killed_one_left_in_the_status_line_is_removed(watched: Watched) -> None:
    wait_for(lambda: watched.text == "1 wait: w1", "its text")
    watched.process.kill()
    watched.process.wait()
    assert watched.text == "1 wait: w1"
    assert watched("--short", "-S", str(watched.server.socket)) == (1, "stallkit: not running\n")
    assert watched.text == ""


def test_status_shows_what_is_now_and_later_what_was(watched: Watched) -> None:
    wait_for(lambda: watched("--short")[0] == 2, "who waits")
    found = json.loads(watched("--json")[1])
    (row,), (supervisor,) = found["sessions"], found["supervisors"]
    assert (row["state"], row["supervisor"], supervisor["policy"]) == ("waiting", watched.process.pid, "observe")
    assert supervisor["summary"] == "1 wait: w1" and row["iteration"] == 1
    assert "tmux:w1" in watched()[1]
    watched.process.kill()
    watched.process.wait()
    found = json.loads(watched("--json")[1])
    assert found["supervisors"] == [] and found["sessions"][0]["supervisor"] is None
    assert found["sessions"][0]["state"] == "waiting"


def test_a_plain_name_is_that_of_a_tmux_session_and_a_halt_says_how_to_go_on(watched: Watched, tmp_path: Path) -> None:
    wait_for(lambda: watched("--short")[0] == 2, "who waits")
    with closing(Store(tmp_path / "state" / "watch.db")) as store:
        store.halt("tmux:w1", "3 recoveries, 3 are allowed")
    watched.process.kill()
    watched.process.wait()
    assert "halted: 3 recoveries, 3 are allowed; to go on: stallkit release tmux:w1" in watched("w1")[1]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        given = [watched.command, *words]
        return subprocess.run(given, env=watched.environment, capture_output=True, text=True, timeout=60, check=False)

    for words in (["incidents", "w1"], ["mute", "w1"], ["unmute", "w1"], ["release", "w1"]):
        done = run(*words)
        assert done.returncode == 0, (words, done.stderr)
        missing = run(words[0], "nobody")
        assert missing.returncode == 64 and "no supervisor has watched it" in missing.stderr, (words, missing.stderr)
    assert "halted" not in watched("w1")[1]


def test_a_second_watch_says_who_watches_already(watched: Watched) -> None:
    wait_for(lambda: watched("--short")[0] == 2, "who waits")
    at = ("-S", str(watched.server.socket))
    for words, told in ((("--all", *at), True), (("tmux:w1", *at), True), (("tmux:other", *at), False)):
        given = [watched.command, "watch", *words, "--policy", "observe", "--for", "0.1"]
        done = subprocess.run(given, env=watched.environment, capture_output=True, text=True, timeout=60, check=True)
        assert (f"process {watched.process.pid}, policy observe, watches there already" in done.stderr) is told, words


def test_a_short_line_is_of_all(watched: Watched) -> None:
    for more in ("tmux:w1", "--json"):
        given = [watched.command, "status", "--short", more]
        assert subprocess.run(given, env=watched.environment, capture_output=True, check=False).returncode == 64
