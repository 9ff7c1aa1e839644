"""A prompt of git or ssh inside an agent's work is told under its supervisor, with its words, and cleared."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER, has, named, run
from terminals import Server, wait_for

from stallkit.press.check import Status, check
from stallkit.press.events import Event
from stallkit.press.policy_file import DAEMON
from stallkit.probes.foreground_job import WITH_IT_S

pytestmark = pytest.mark.e2e

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


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("read -p 'Install to /usr/local? [y/N] ' answer", "Install to /usr/local? [y/N]"),
        ("read -s -p 'Password for deploy@example.com: ' secret", "Password for deploy@example.com:"),
    ],
)
def test_a_tool_that_reads_a_terminal_of_its_own_is_told_with_its_words(
    server: Server, tmp_path: Path, command: str, asks: str
) -> None:
    agent, over = tmp_path / "gemini", tmp_path / "over"
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
