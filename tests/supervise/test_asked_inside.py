"""A prompt of git or ssh inside an agent's work is told under its supervisor, with its words, and cleared."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from supervised import EAGER, has, named, run
from terminals import Server

from stallkit.press.events import Event
from stallkit.press.policy_file import DAEMON
from stallkit.supervise.session_state import WatchConfig
from stallkit.supervise.supervisor import Supervisor

pytestmark = pytest.mark.e2e

# What the askpass program does while it waits: it reports the prompt below the agent, and takes it back.
ASKS = """
import os, sys, time
from pathlib import Path
from stallkit.probes.procfs import Process, boot_id
from stallkit.signals.askpass import AskedPrompt, askpass_dir, publish, withdraw
ours = Process.ours()
waits = (time.time(), "/", ours.pid, ours.started, boot_id())
prompt = AskedPrompt("ssh", ours.pid, "Enter passphrase for key", "secret", *waits)
publish(askpass_dir(), prompt)
while not Path(sys.argv[1]).exists(): time.sleep(0.05)
withdraw(askpass_dir(), prompt)
time.sleep(1000)
"""


def test_it_is_told_and_cleared(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    answered = tmp_path / "answered"
    words = shlex.join([sys.executable, "-c", ASKS, str(answered)])
    server.start("agent", "env", f"STALLKIT_STATE_DIR={tmp_path / 'state'}", "sh", "-c", f"echo works; {words}; true")
    supervisor = Supervisor(["tmux:agent"], WatchConfig(DAEMON, EAGER), options=server.options)

    def until(seen: list[Event]) -> bool:
        if any(one.facts.get("what") == "waits" for one in named(seen, "escalation")):
            answered.touch()
        return bool(named(seen, "cleared"))

    events = run(supervisor, until)
    (told,) = [one for one in named(events, "escalation") if one.facts.get("what") == "waits"]
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
