"""Agents that something else started, in real tmux: killed with kill -9, what started them lives on.

The agent is a process of that name below each wrapper, which leaves an agent's screen; `tests/e2e` has a real one.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Iterator

import pytest
from terminals import Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, State
from stallkit.evidence.agents import AfterExit
from stallkit.evidence.snapshot import Member, Snapshot
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.transports.base import look
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

SCREEN = "● Done.\n\n────────────────────\n❯ \n────────────────────\n  ? for shortcuts\n"
WRAPPERS = {
    "loop": ["bash", "-c", "while :; do $AGENT; sleep 1000; done"],
    "question": ["bash", "-c", "while :; do $AGENT; read -p 'press enter to restart '; done"],
    "npm": ["npm", "run", "agent", "--prefix", "$FOLDER"],
    "timeout": ["bash", "-c", "timeout --foreground 1000 $AGENT; sleep 1000"],
    "env": ["bash", "-c", "env A=1 $AGENT; sleep 1000"],
    "su": ["su", "-c", "$AGENT; sleep 1000"],
    "su-to-another": ["su", "-s", "/bin/bash", "nobody", "-c", "$AGENT; sleep 1000"],
    "script": ["script", "-qc", "$AGENT; sleep 1000", "/dev/null"],
    "a-session-of-its-own": ["bash", "-c", "setsid -w $AGENT; sleep 1000"],
    "a-shim-in-node": ["node", "$FOLDER/shim.js"],
    "python": ["python3", "-c", "import subprocess; subprocess.call(['$AGENT']); input('press enter ')"],
}
STRANGERS = {"a-shim-in-node", "python"}  # whose scripts may be agents, for all that one look knows


@pytest.fixture
def agent() -> Iterator[Path]:
    """A program that leaves an agent's screen and then is called like it; and a package that runs it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # another user runs it, too
        (folder / "screen").write_text(SCREEN)
        made = folder / "start"
        made.write_text(f"#!/bin/bash\ncat {folder}/screen\nexec -a claude sleep 1000\n")
        made.chmod(0o755)
        package = '{"name": "x", "version": "1.0.0", "scripts": {"agent": "%s; sleep 1000"}}'
        (folder / "package.json").write_text(package % made)
        shim = f"require('child_process').spawn('{made}', [], {{stdio: 'inherit'}}); setInterval(() => {{}}, 1e6)"
        (folder / "shim.js").write_text(shim)
        yield made


def claude(seen: Snapshot) -> Member | None:
    there = (*seen.kernel.members, *seen.kernel.below) if seen.kernel else ()
    return next((one for one in there if one.called == "claude"), None)


def at_rest(session: TmuxTransport) -> tuple[Snapshot, Snapshot]:
    """Two looks between which nothing changed."""
    looks = [look(session)]

    def rests() -> bool:
        looks.append(look(session))
        kernel = looks[-1].kernel
        return kernel is not None and kernel.looked_at > 0

    wait_for(rests, "a screen that rests")
    return looks[-2], looks[-1]


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_an_agent_that_is_killed_below_a_wrapper_has_ended(server: Server, agent: Path, engine: Engine) -> None:
    for name, words in WRAPPERS.items():
        if not shutil.which(words[0]) or (words[0] == "su" and os.getuid() != 0):
            continue
        command = [word.replace("$AGENT", str(agent)).replace("$FOLDER", str(agent.parent)) for word in words]
        session = server.start(name, *command, shows="shortcuts")
        wait_for(lambda session=session: claude(look(session)), f"the agent among {name}'s programs")
        before, now = at_rest(session)
        alive = judged(engine, now, before)
        assert (alive.state, alive.agents) == (State.IDLE, frozenset({"claude"})), (name, alive.reasons)
        assert alive.shows_agent and "agent_clis" in alive.detection.not_asked, name

        process = claude(now)
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        wait_for(lambda process=process: ended(process.pid), "its end")
        found: list[Verdict] = []

        def told(session: TmuxTransport = session, now: Snapshot = now, found: list[Verdict] = found) -> bool:
            earlier, latest = at_rest(session)
            found[:] = [judged(engine, latest, earlier, agent_seen=now), judged(engine, latest, earlier)]
            return found[0].state is State.ENDED

        wait_for(told, f"that {name}'s agent ended")
        watched, stranger = found
        assert (watched.certainty, watched.ended) == (Certainty.SURE, AfterExit.WRAPPED), (name, watched.reasons)
        assert "lives on" in watched.reasons[-1], name
        if name not in STRANGERS:
            assert (stranger.state, stranger.certainty) == (State.ENDED, Certainty.MAYBE), (name, stranger.reasons)


def test_a_plain_shell_is_no_agent_that_ended(server: Server, engine: Engine) -> None:
    session = server.start("one", "env", "PS1=dev@box:~$ ", "bash", "--norc", "--noprofile", shows="dev@box:~$")
    before, now = at_rest(session)
    found = judged(engine, now, before)
    assert (found.state, found.ended, found.agents) == (State.ENDED, AfterExit.SHELL, frozenset())
    assert not found.shows_agent
