"""The end of real programs in real panes, with all that belongs to them, and nobody else."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Iterator
from uuid import uuid4

import pytest
from attrs import evolve
from stallkit_sessions import end_facts, panes
from stallkit_sessions.model import Session
from stallkit_sessions.terminate import TerminationResult, end_program
from terminals import Server, wait_for

from stallkit.probes.procfs import stat_of
from stallkit.transports.tmux.identity import Identity

pytestmark = pytest.mark.e2e

LONG_S = 60.0  # a grace time that is not used up
DEAF = "trap '' TERM HUP; echo $$ >new; mv new child; exec sleep 1000"  # says its pid once only SIGKILL ends it


def lives(pid: int) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat.state not in "ZX"


class Scene:
    """Programs in a session, which say when they are ready, and write down the pids of what they start."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._folder, self._socket = folder, str(server.socket)
        (folder / "deaf").write_text(DEAF)

    def begin(self, *argv: str) -> Session:
        own = uuid4().hex  # what else runs on this machine under the same id would count as left
        session = Session("s", own, ("x",), str(self._folder), time.time(), "b", tmux_socket_path=self._socket)
        identity, started = panes.begin(session, argv, (80, 24), {})
        session = evolve(session, identity=identity, pane_started=started)
        wait_for(lambda: "ready" in end_facts.facts(session).lines, "the program")
        return session

    def shell(self, script: str) -> Session:
        return self.begin("sh", "-c", script)

    def pid(self, name: str) -> int:
        return int((self._folder / name).read_text())


@pytest.fixture
def scene(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setenv("HOME", str(tmp_path))
    yield Scene(server, tmp_path)


def test_asked(scene: Scene) -> None:
    session = scene.shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
    ending = end_program(session, LONG_S)
    assert (ending.how, ending.killed, ending.left) == (TerminationResult.ASKED, (), ())
    wait_for(lambda: end_facts.facts(session).facts.dead, "tmux to see it")
    looked = end_facts.facts(session)
    assert looked.facts.code == 5  # the pane stays, and says how
    assert end_program(session, LONG_S).how is TerminationResult.ALREADY


def test_killed_where_it_does_not_listen(scene: Scene) -> None:
    session = scene.shell("trap '' TERM HUP; echo ready; while :; do sleep 0.05; done")
    ending = end_program(session, 0.2)
    assert ending.how is TerminationResult.KILLED
    assert Identity.of(session.identity).pid in ending.killed
    assert ending.left == ()
    wait_for(lambda: end_facts.facts(session).facts.signal == signal.SIGKILL, "tmux to see it")


def test_a_stopped_program_ends(scene: Scene) -> None:
    """One beside the pane's own, which tmux itself continues."""
    session = scene.shell("sleep 1000 & echo $! >child; kill -STOP $!; echo ready; wait")
    wait_for(lambda: (stat := stat_of(scene.pid("child"))) is not None and stat.state == "T", "it to stop")
    ending = end_program(session, LONG_S)
    assert (ending.how, ending.killed, ending.left) == (TerminationResult.ASKED, (), ())
    assert not lives(scene.pid("child"))


def test_an_interactive_shell_is_told_that_its_terminal_goes(scene: Scene) -> None:
    session = scene.begin("bash", "--norc", "--noprofile", "-i", "-c", "echo ready; exec bash --norc --noprofile -i")
    ending = end_program(session, 4.0)  # it takes no notice of SIGTERM
    assert (ending.how, ending.left) == (TerminationResult.ASKED, ())


CHILDREN = {
    "in the foreground": "sh deaf",
    "in the background": "sh deaf & wait",
    "on a session of its own": "setsid sh deaf & wait",
    "under one of those": "setsid sh -c 'sh deaf & wait' & wait",
}


def test_nothing_that_it_started_lives_on(scene: Scene, tmp_path: Path) -> None:
    for listens in (True, False):
        for where, child in CHILDREN.items():
            trap = "" if listens else "trap '' TERM HUP; "
            session = scene.shell(f"{trap}(until test -s child; do sleep 0.01; done; echo ready) & {child}; sleep 1000")
            ending = end_program(session, 3.0 if listens else 0.5)  # it has half of that to act on its SIGHUP
            assert ending.how is (TerminationResult.ASKED if listens else TerminationResult.KILLED), where
            assert scene.pid("child") in ending.killed and not lives(scene.pid("child")), where
            assert ending.left == (), where
            panes.remove(session)
            (tmp_path / "child").unlink()


def test_what_is_started_in_the_grace_time_ends_as_well(scene: Scene) -> None:
    script = "trap 'sh -c \"trap : TERM; echo \\$\\$ >late; exec sleep 1000\" & exit 0' TERM; echo ready; "
    session = scene.shell(script + "while :; do sleep 0.05; done")
    ending = end_program(session, 0.5)
    wait_for(lambda: ending.how is TerminationResult.ASKED, "its end")
    late = Path(session.directory, "late")
    assert not late.exists() or not lives(int(late.read_text() or 0) or 1 << 30)


def test_what_it_left_behind_when_it_ended_is_ended(scene: Scene) -> None:
    session = scene.shell("echo ready; sh deaf & until test -s child; do sleep 0.01; done; exit 0")
    wait_for(lambda: end_facts.facts(session).facts.dead, "its end")
    wait_for(lambda: stat_of(Identity.of(session.identity).pid) is None, "tmux to collect it")
    session = evolve(session, pane_started=session.pane_started or 1)  # it may have been over before it was seen
    ending = end_program(session, 0.2)
    assert (ending.how, ending.killed) == (TerminationResult.ALREADY, (scene.pid("child"),))


def test_what_detached_itself_is_told_and_left(scene: Scene) -> None:
    session = scene.shell("setsid sh -c 'sleep 1000 & echo $! >daemon'; echo ready; exec sleep 1000")
    daemon = scene.pid("daemon")
    try:
        ending = end_program(session, LONG_S)
        assert (ending.how, ending.killed, ending.left) == (TerminationResult.ASKED, (), (daemon,))
        assert lives(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_nobody_who_has_its_number_now(scene: Scene) -> None:
    session = scene.shell("echo ready; exec sleep 1000")
    pid = Identity.of(session.identity).pid
    assert session.pane_started is not None
    ending = end_program(evolve(session, id="another", pane_started=session.pane_started - 1), 0.0)
    assert (ending.how, ending.killed, ending.left) == (TerminationResult.ALREADY, (), ())
    assert lives(pid)
    assert end_program(evolve(session, pane_started=None), 0.0).how is TerminationResult.UNKNOWN
    assert lives(pid)


def test_nobody_of_a_session_that_has_its_number_now(scene: Scene) -> None:
    """The first process of a later session ended, and left a child on it: it has no mark of ours."""
    session = scene.shell("echo ready; exec sleep 1000")
    later = subprocess.Popen(
        ["sh", "-c", "sleep 1000 & echo $!"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert later.stdout is not None
    child = int(later.stdout.readline())
    later.wait()
    later.stdout.close()
    try:
        server, start, pane, _ = session.identity.split()
        ending = end_program(evolve(session, identity=f"{server} {start} {pane} {later.pid}"), 0.0)
        assert (ending.how, ending.killed) == (TerminationResult.ALREADY, ())
        assert lives(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_another_session_lives_on(scene: Scene) -> None:
    session = scene.shell("echo ready; exec sleep 1000")
    other = evolve(session, name="other", id="other-id")
    identity, started = panes.begin(other, ["sleep", "1000"], (80, 24), {})
    assert end_program(session, LONG_S).how is TerminationResult.ASKED
    assert panes.remove(session)
    assert end_facts.facts(evolve(other, identity=identity, pane_started=started)).facts.dead is False
