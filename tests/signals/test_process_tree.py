"""The processes of a session are found below wrappers and behind clients: with a stand-in for an agent."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from agent_stand_in import SOURCE, Acme
from terminals import wait_for

from stallkit.detect.signature import State
from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot
from stallkit.signals.collect import Shown, at_work, shown_by, signals_below, socket_of
from stallkit.terminal.screen import Screen
from stallkit.testing import StandIn

ROOT = Path(__file__).parent.parent.parent
BWRAP = ROOT / ".cache" / "engines" / "bin" / "bwrap"
SAYS = [(State.WAITING, None)]

WRAPPERS = {
    "bash loop": ["bash", "-c", "for i in 1; do $AGENT; sleep 1; done; exit 3"],
    "script": ["script", "-qfc", "$AGENT", "/dev/null"],
    "env and nice": ["env", "nice", "-n", "1", "$AGENT"],
    "setsid": ["setsid", "-w", "$AGENT"],
    "su": ["su", "--preserve-environment", "root", "-c", "$AGENT"],
    "bubblewrap": [str(BWRAP), "--dev-bind", "/", "/", "$AGENT"],
    "bubblewrap, new session": [str(BWRAP), "--dev-bind", "/", "/", "--new-session", "$AGENT"],
    "bubblewrap, pids of its own": [
        *[str(BWRAP), "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc"],
        *["bash", "-c", "$AGENT; exit 3"],
    ],
}


def heard(agent: Acme, leader: int | None = None) -> list[tuple[str | None, str | None]]:
    """State and reason of each signal below its command, or below another process."""
    return [(said.state, said.stale) for said in signals_below(leader or agent.shell.pid, [SOURCE])]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[StandIn]]:
    made: list[StandIn] = []
    yield made
    for one in made:
        one.end()


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_below_a_wrapper(wrapper: str, tmp_path: Path, started: list[StandIn]) -> None:
    command = WRAPPERS[wrapper]
    if shutil.which(command[0]) is None or (command[0] == "su" and os.geteuid() != 0):
        pytest.skip(f"no {command[0]} here that can be used")
    agent = Acme(tmp_path, command)
    started.append(agent)
    agent.says()
    assert heard(agent) == SAYS
    if "of its own" in wrapper:
        assert agent.publisher.own_pid != agent.pid
        agent.says(domain=str(Path("/proc/self/ns/pid").readlink()))
        assert heard(agent) == [(State.WAITING, "it is of another pid namespace")]


def test_a_home_of_the_sandbox_is_read_there(tmp_path: Path, started: list[StandIn]) -> None:
    """The same path is another directory inside: what counts is the one that the process sees."""
    if not BWRAP.exists():
        pytest.skip("no bubblewrap: run scripts/test on Debian 12")
    inside = tmp_path / "inside"
    inside.mkdir()
    bound = ["--dev-bind", "/", "/", "--bind", str(inside), str(tmp_path / ".acme")]
    (tmp_path / ".acme").mkdir()
    agent = Acme(tmp_path, [str(BWRAP), *bound, "$AGENT"])
    started.append(agent)
    agent.says()  # outside: it is not the process's
    assert heard(agent) == []
    agent.folder = inside
    agent.says()
    assert heard(agent) == SAYS


def test_what_is_behind_a_stopped_relay_is_not_shown(tmp_path: Path, started: list[StandIn]) -> None:
    agent = Acme(tmp_path, WRAPPERS["script"])
    started.append(agent)
    agent.says()
    assert heard(agent) == SAYS
    os.kill(agent.shell.pid, signal.SIGSTOP)
    wait_for(lambda: heard(agent) == [(State.WAITING, "its process is stopped")], "the stop of script")
    os.kill(agent.shell.pid, signal.SIGCONT)
    wait_for(lambda: heard(agent) == SAYS, "it to go on")


def tmux(socket: Path, *words: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "TMUX"} | {"TERM": "xterm"}
    done = subprocess.run(
        ["tmux", "-f", "/dev/null", "-S", str(socket), *words], capture_output=True, text=True, check=True, env=environ
    )
    return done.stdout.strip()


def test_a_nested_tmux_shows_its_active_pane(tmp_path: Path, started: list[StandIn]) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    tmux(inner, "new-session", "-d", "-s", "work", "-x", "80", "-y", "20", "sleep 1000")
    tmux(outer, "new-session", "-d", "-s", "o", "-x", "80", "-y", "24", f"env -u TMUX tmux -S {inner} attach")
    try:
        leader = int(tmux(outer, "display-message", "-p", "-t", "=o:", "#{pane_pid}"))
        wait_for(lambda: tmux(inner, "list-clients"), "the inner client")
        agent = Acme(tmp_path, ["tmux", "-S", str(inner), "new-window", "-d", "-n", "agent", f"HOME={tmp_path} $AGENT"])
        started.append(agent)
        agent.says()
        assert heard(agent, leader) == []  # its window is not shown
        tmux(inner, "select-window", "-t", "work:agent")
        wait_for(lambda: heard(agent, leader) == SAYS, "the window that is shown now")
        tmux(inner, "detach-client", "-s", "work")
        wait_for(lambda: heard(agent, leader) == [], "the client's end")
    finally:
        tmux(inner, "kill-server")
        subprocess.run(["tmux", "-S", str(outer), "kill-server"], check=False, capture_output=True)


@pytest.mark.parametrize(
    ("line", "environ", "socket"),
    [
        ("tmux attach", {}, "/tmp/tmux-7/default"),
        ("tmux -L x attach", {}, "/tmp/tmux-7/x"),
        ("tmux -2uLx", {"TMUX": "/other,1,2"}, "/tmp/tmux-7/x"),
        ("tmux -f /dev/null -S /a/b attach -t -L", {}, "/a/b"),
        ("tmux", {"TMUX": "/other,1,2"}, "/other"),
        ("tmux", {"TMUX_TMPDIR": "/run/t"}, "/run/t/tmux-7/default"),
        ("tmux -S rel attach", {}, None),
        ("tmux -S", {}, "/tmp/tmux-7/default"),
    ],
)
def test_the_socket_of_a_client(line: str, environ: dict[str, str], socket: str | None) -> None:
    assert socket_of(tuple(line.split()), environ, 7) == socket


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("docker run -it --rm --name box -v /home:/home image acme", Shown("box")),
        ("podman run --name=box image", Shown("box")),
        ("docker run --cidfile /run/id image", Shown("", "/run/id")),
        ("docker -H unix:///d.sock container attach box", Shown("box", options=("-H", "unix:///d.sock"))),
        ("docker start -ai box", Shown("box")),
        ("docker exec -it -w /src --env A=b -u 1000 box acme --continue", Shown("box", "", ("acme", "--continue"))),
        ("docker run -it image acme", None),
        ("docker --debug-socket x run --name box image", None),
        ("docker ps", None),
        ("docker", None),
    ],
)
def test_what_a_client_of_a_container_shows(line: str, shown: Shown | None) -> None:
    assert shown_by(line.split()) == shown


def test_a_job_in_the_background_is_stale(tmp_path: Path, started: list[StandIn]) -> None:
    """Below `script`, which gives the shell a terminal: job control moves the agent away from it."""
    agent = Acme(tmp_path, ["script", "-qfc", "bash -ic '$AGENT & sleep 1000'", "/dev/null"])
    started.append(agent)
    agent.says()
    assert heard(agent) == [(State.WAITING, "its process is in the background")]


def test_whose_work_a_session_shows(tmp_path: Path, started: list[StandIn]) -> None:
    agent = Acme(tmp_path, ["script", "-qfc", "$AGENT", "/dev/null"])
    started.append(agent)
    relay = Member(agent.shell.pid, "script", "S")
    screen = Screen.from_text("")

    def shown(kernel: KernelFacts | None, alive: bool = True) -> tuple[int, ...]:
        return at_work(Snapshot(screen, alive=alive, kernel=kernel))

    assert shown(KernelFacts(members=(relay,))) == (relay.pid,)
    behind = shown(KernelFacts(members=(relay,), relay="script"))
    assert agent.pid in behind and relay.pid not in behind, "what a client shows"
    ssh = Member(agent.pid, "ssh", "S")
    assert shown(KernelFacts(members=(ssh,), relay="ssh", through="script")) == (ssh.pid,)
    ended = KernelFacts(members=(Member(agent.pid, "acme-agent", "Z"),))
    assert shown(ended) == shown(None) == shown(KernelFacts(members=(relay,)), alive=False) == ()


def test_behind_a_client_of_another_machine_nothing_is_known(tmp_path: Path, started: list[StandIn]) -> None:
    client = StandIn(tmp_path, "ssh")
    started.append(client)
    kernel = KernelFacts(members=(Member(client.pid, "ssh", "S"),), relay="ssh")
    assert at_work(Snapshot(Screen.from_text(""), alive=True, kernel=kernel)) == ()
