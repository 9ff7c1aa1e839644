"""What a supervisor does at a real agent beyond telling: it says yes to a question, and goes on with one that hangs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from terminals import PATIENCE_S, wait_for

pytestmark = pytest.mark.e2e

DAEMON = 'policy = "daemon"\n[watch]\nall = true\ninterval_s = 2\nstall_timeout_s = 6\n'
CURED = "[watch]\nall = true\ninterval_s = 2\nhung_after_s = 12\n[hung]\nrestart = true\n"


class Supervisor:
    """`stallkit supervise` over the stage's tmux server, and its events so far."""

    def __init__(self, command: str, folder: Path, stage: Any, settings: str) -> None:
        config = folder / "stallkit.toml"
        config.write_text(settings)
        words = [command, "supervise", "--config", str(config), "-L", stage.socket]
        self.file = folder / "told.jsonl"
        self._out, self._errors = self.file.open("w"), (folder / "errors").open("w")
        variables = {**os.environ, "STALLKIT_STATE_DIR": str(folder / "state")}
        self.process = subprocess.Popen(words, stdout=self._out, stderr=self._errors, cwd=folder, env=variables)

    def said(self, kind: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.file.read_text().splitlines() if line.endswith("}")]
        return [one for one in found if one["event"] == kind]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self._out.close()
        self._errors.close()


@pytest.fixture
def supervisors() -> Iterator[list[Supervisor]]:
    made: list[Supervisor] = []
    yield made
    for one in made:
        one.close()


def test_the_profile_daemon_says_yes_once_to_a_question_of_d4(
    stage: Any, tmp_path: Path, stallkit_command: str, supervisors: list[Supervisor]
) -> None:
    stage.model.plays({"text": "I renamed the helper. Shall I continue?"}, {"text": "All of it is done."})
    stage.start()
    supervisors.append(Supervisor(stallkit_command, tmp_path, stage, DAEMON))
    stage.type("rename the helper")
    stage.keys("Enter")
    wait_for(lambda: "All of it is done." in stage.screen(), "the turn after the answer", patience_s=6 * PATIENCE_S)
    assert any(texts and texts[-1].strip().startswith("yes") for texts in stage.model.said)
    assert sum(text.strip() == "yes" for text in stage.model.said[-1]) == 1, "once"


def test_one_whose_model_is_silent_goes_on_with_its_session_in_a_new_process(
    stage: Any, tmp_path: Path, stallkit_command: str, supervisors: list[Supervisor]
) -> None:
    stage.model.plays({"text": "The helper is renamed."}, {"wait": 600, "text": "never"})
    stage.start()
    stage.type("rename the helper")
    stage.keys("Enter")
    wait_for(lambda: "The helper is renamed." in stage.screen(), "the first turn")
    supervisors.append(Supervisor(stallkit_command, tmp_path, stage, CURED))
    stage.type("and its tests")
    stage.keys("Enter")
    told = supervisors[0]

    def done() -> list[dict[str, Any]]:  # a screen that moves just then is a refusal, and it is tried again
        return [one for one in told.said("restart") if one.get("outcome") == "cleared"]

    wait_for(done, "its restart", 9 * PATIENCE_S)
    act = done()[-1]
    assert " was ended; " in act["why"], act
    session = re.search(r"with its session ([0-9a-f-]{36})$", act["why"])
    assert session is not None, act
    terminal = stage.tmux("display-message", "-p", "-t", "=a:", "#{pane_tty}").strip().removeprefix("/dev/")
    runs = subprocess.run(["ps", "-t", terminal, "-o", "args="], capture_output=True, text=True, check=True).stdout
    assert f"claude --resume {session[1]}" in runs, "the command that goes on"
    wait_for(lambda: "The helper is renamed." in stage.screen(), "what was said before")
