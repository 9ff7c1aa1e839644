"""Agents under a supervisor: what they ask inside their work, those that no pack names, a real one that is helped."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator

import pytest
import unnamed_agent
from stallkit_supervisor.notices import agent_of
from stallkit_supervisor.session_state import Schedule, WatchConfig
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER, has, named, run
from terminals import PATIENCE_S, Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.evidence.snapshot import ProcessFacts, Snapshot
from stallkit.judging.judge import judged
from stallkit.packs.registry import installed_engine
from stallkit.press.check import Status, check
from stallkit.press.events import Event
from stallkit.press.policy import CAREFUL
from stallkit.press.policy_file import DAEMON
from stallkit.probes.foreground_job import WITH_IT_S
from stallkit.terminal.screen import Screen

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who reads")]

# What the askpass program does while it waits: it reports the prompt below the agent, and takes it back.
ASKS = """
import os, sys, time
from pathlib import Path
from stallkit.probes.procfs import Process, boot_id
from stallkit_wrap.askpass.prompts import AskedPrompt, askpass_dir, publish, withdraw
ours = Process.ours()
waits = (time.time(), "/", ours.pid, ours.started, boot_id())
prompt = AskedPrompt("ssh", ours.pid, "Enter passphrase for key", "secret", *waits)
publish(askpass_dir(), prompt)
while not Path(sys.argv[1]).exists(): time.sleep(0.05)
withdraw(askpass_dir(), prompt)
time.sleep(1000)
"""


def waits(events: list[Event]) -> list[Event]:
    return [one for one in named(events, "escalation") if one.facts.get("what") == "waits"]


def test_it_is_told_and_cleared(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    answered = tmp_path / "answered"
    words = shlex.join([sys.executable, "-c", ASKS, str(answered)])
    server.start("agent", "env", f"STALLKIT_STATE_DIR={tmp_path / 'state'}", "sh", "-c", f"echo works; {words}; true")
    supervisor = Supervisor(["tmux:agent"], WatchConfig(DAEMON, EAGER), options=server.options)

    def until(seen: list[Event]) -> bool:
        if waits(seen):
            answered.touch()
        return bool(named(seen, "cleared"))

    events = run(supervisor, until)
    (told,) = waits(events)
    assert "asks: Enter passphrase for key" in told.facts["why"] and told.facts["why"].startswith("inside its work ssh")
    assert named(events, "cleared")[0].facts["by"] in ("typed there", "by itself")  # as long as its terminal tells


UNSEEN = (
    "( while :; do for c in '|' / -; do printf '\\r%s working' \"$c\"; sleep 0.1; done; done ) & x=$(bash -c 'read x')"
)


def test_a_prompt_that_nobody_sees_is_told_with_what_takes_its_words(server: Server) -> None:
    server.start("unseen", "bash", "-c", UNSEEN, shows="working")
    supervisor = Supervisor(["tmux:unseen"], WatchConfig(DAEMON, EAGER), options=server.options)
    told = named(run(supervisor, has("escalation")), "escalation")[0]
    assert told.facts["what"] == "waits"
    assert told.facts["message"].startswith("bash waits in read on the terminal, and its output goes to bash (pid ")


# An agent that gives its tool a terminal of its own, and draws what stands there; at the end the box stays as it was.
AGENT = """#!{python}
import os, pathlib, pty, signal, time, tty
tty.setraw(0)
time.sleep({later_s})
tool, terminal = pty.fork()
if not tool: os.execvp("bash", ["bash", "-c", {command!r}])
words = os.read(terminal, 999).decode()
rows = ["✦ I do.", "╭─────────╮", "│ ⊶ Shell ./ask.sh │", "│ " + words + " │", "╰─────────╯", "", "> "]
os.write(1, ("\\x1b[2J\\x1b[H" + "\\r\\n".join(rows)).encode())
while not pathlib.Path({over!r}).exists(): time.sleep(0.05)
os.kill(tool, signal.SIGKILL)
os.waitpid(tool, 0)
while True: os.read(0, 9)
"""


def test_a_tool_that_reads_a_terminal_of_its_own_is_told_with_its_words(server: Server, tmp_path: Path) -> None:
    asks = "Password for deploy@example.com:"
    agent, over = tmp_path / "gemini", tmp_path / "over"
    command = f"read -s -p '{asks} ' secret"
    agent.write_text(AGENT.format(python=sys.executable, later_s=WITH_IT_S + 1, command=command, over=str(over)))
    agent.chmod(0o755)
    transport = server.start("agent", str(agent), shows=asks)
    wait_for(lambda: check(transport).status is Status.STALLED, "a check to tell it")
    supervisor = Supervisor(["tmux:agent"], WatchConfig(DAEMON, EAGER), options=server.options)

    def until(seen: list[Event]) -> bool:
        if waits(seen):
            over.touch()
        return bool(named(seen, "cleared"))

    (told,) = waits(run(supervisor, until))
    assert told.facts["state"] == "working"
    assert told.facts["asks_inside"].endswith(f"asks: {asks}")
    assert told.facts["why"] == f"inside its work {told.facts['asks_inside']}"


SAYS = ("ask me", "what else", "fail now", "/quit")  # what its person types, each once the one before it was met


def say(server: Server, text: str) -> None:
    server.tmux("send-keys", "-t", "=one:", "-l", text)
    server.tmux("send-keys", "-t", "=one:", "Enter")


def test_a_menu_of_a_library_names_no_agent() -> None:
    text = 'Do you want to execute tool "bash"?\n\n❯ Yes, execute this tool\n  No, cancel\n\nPress Escape to cancel'
    seen = Snapshot(screen=Screen.from_text(text, cursor_visible=False), process=ProcessFacts("node", 7), taken_at=0.0)
    verdict = judged(Engine([one for one in installed_engine().packs if one.name == "node_prompts"]), seen)
    assert verdict.match is not None, verdict.reasons
    assert agent_of(verdict, seen) is None


@pytest.mark.parametrize("boxed", [False, True])
def test_what_it_asks_how_it_failed_and_its_end_are_told(server: Server, tmp_path: Path, boxed: bool) -> None:
    """Its end also below what starts it again."""
    program = tmp_path / "skiff"
    program.write_text(f"#!{sys.executable}\n{Path(unnamed_agent.__file__).read_text()}")
    program.chmod(0o755)
    pane = server.start("one", "bash", "--norc", "--noprofile", shows="bash-")
    say(server, f"{program} --boxed" if boxed else f"while :; do {program}; sleep 600; done")
    server.wait(pane, "❯" if boxed else "User:")
    pane.close()
    typed = 0

    def until(seen: list[Event]) -> bool:
        nonlocal typed
        met = [one for one in seen if one.name in ("escalation", "done")]
        if typed < len(SAYS) and len(met) >= typed:
            say(server, SAYS[typed])
            typed += 1
        return bool(met) and met[-1].facts.get("what") == "ended"

    config = WatchConfig(CAREFUL, Schedule(eager_s=0.2))
    events = run(Supervisor(["tmux:one"], config, options=server.options), until)
    told = [(one.facts["what"], one.facts.get("message")) for one in named(events, "escalation")]
    assert [what for what, _ in told] == ["asks", "failed", "ended"]
    assert "Shall I continue with step 2?" in str(told[0][1]) and "Error code: 401" in str(told[1][1])
    kinds = {one.facts.get("kind") for one in named(events, "detection")}
    assert not kinds & {"login", "secret"}


SAYS_YES = 'policy = "daemon"\n[watch]\nall = true\ninterval_s = 2\nstall_timeout_s = 6\n'
CURED = "[watch]\nall = true\ninterval_s = 2\nhung_after_s = 12\n[hung]\nrestart = true\n"


class Supervise:
    """`stallkit watch --service` over the stage's tmux server, and its events so far."""

    def __init__(self, command: str, folder: Path, stage: Any, settings: str) -> None:
        config = folder / "stallkit.toml"
        config.write_text(settings)
        words = [command, "watch", "--service", "--config", str(config), "-L", stage.socket]
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
def supervisors() -> Iterator[list[Supervise]]:
    made: list[Supervise] = []
    yield made
    for one in made:
        one.close()


def test_the_profile_daemon_says_yes_once_to_a_question_of_d4(
    stage: Any, tmp_path: Path, stallkit_command: str, supervisors: list[Supervise]
) -> None:
    stage.model.plays({"text": "I renamed the helper. Shall I continue?"}, {"text": "All of it is done."})
    stage.start()
    supervisors.append(Supervise(stallkit_command, tmp_path, stage, SAYS_YES))
    stage.type("rename the helper")
    stage.keys("Enter")
    wait_for(lambda: "All of it is done." in stage.screen(), "the turn after the answer", patience_s=6 * PATIENCE_S)
    assert any(texts and texts[-1].strip().startswith("yes") for texts in stage.model.said)
    assert sum(text.strip() == "yes" for text in stage.model.said[-1]) == 1, "once"


def test_one_whose_model_is_silent_goes_on_with_its_session_in_a_new_process(
    stage: Any, tmp_path: Path, stallkit_command: str, supervisors: list[Supervise]
) -> None:
    stage.model.plays({"text": "The helper is renamed."}, {"wait": 600, "text": "never"})
    stage.start()
    stage.type("rename the helper")
    stage.keys("Enter")
    wait_for(lambda: "The helper is renamed." in stage.screen(), "the first turn")
    supervisors.append(Supervise(stallkit_command, tmp_path, stage, CURED))
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
