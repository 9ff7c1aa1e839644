"""Sessions in real tmux panes: what begins is found again, what ended says how, and nobody else's is touched."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Iterator, Sequence

import pytest
from attrs import evolve
from stallkit_sessions import end_facts, panes
from stallkit_sessions.end_facts import PaneFacts, ServerEnd
from stallkit_sessions.model import Session
from terminals import Server, wait_for

from stallkit.errors import CaptureTimeout, TransportError
from stallkit.probes.procfs import stat_of
from stallkit.transports.base import Presence
from stallkit.transports.tmux.identity import Identity

pytestmark = pytest.mark.e2e


class Starter:
    """Begins sessions on a private server."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.folder = server, folder

    def session(self, name: str, identifier: str = "") -> Session:
        return Session(
            name=name,
            id=identifier or f"id-{name}",
            command=("x",),
            directory=str(self.folder),
            started_at=time.time(),
            boot="this",
            tmux_socket_path=str(self.server.socket),
        )

    def begin(self, name: str, *argv: str, size: tuple[int, int] = (80, 24), **environment: str) -> Session:
        session = self.session(name)
        identity, started = panes.begin(session, argv, size, environment)
        return evolve(session, identity=identity, pane_started=started)

    def ended(self, name: str, *argv: str) -> end_facts.PaneLook:
        """What is said of a session once its program has ended."""
        session = self.begin(name, *argv)
        wait_for(lambda: end_facts.facts(session).facts.dead, f"the end of {argv}")
        return end_facts.facts(session)


@pytest.fixture
def starter(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Starter]:
    monkeypatch.setenv("HOME", str(tmp_path))  # no configuration of the user's
    server.tmux("new-session", "-d", "-s", "keeper", "cat")
    server.tmux("set-option", "-g", "remain-on-exit", "off")  # as it is by default
    yield Starter(server, tmp_path)


def shell(script: str) -> Sequence[str]:
    return "sh", "-c", script


def test_names_that_are_not_valid_never_reach_tmux(starter: Starter) -> None:
    for name in ["", "-a", "a.b", "a:b", "=a", "$1", "@1", "%1", "a b", "ä", "a\n", "x" * 65, "a/b", "#S"]:
        with pytest.raises(ValueError, match="not a name for a session"):
            starter.begin(name, "cat")
        assert starter.server.tmux("list-sessions", "-F", "#{session_name}").split() == ["keeper"], name


WORDS = ["printf x;", "a;", ";", "$HOME", "#{pid}", "#(touch owned)", "~", "~root", "'", '"', "\\", "\\;", "a\nb", "\t"]
WORDS += ["{", "}", "%if", "-x", "--", "é漢", "\udcff", "", "\x01\x1b\x7f", "#", "\\101", "A=b", "x" * 60_000]


def test_words_come_to_the_program_as_they_are(starter: Starter) -> None:
    heard = starter.folder / "heard"
    say = "import json, os, sys; open(sys.argv[1], 'w').write(json.dumps([list(map(os.fsencode, sys.argv[2:])), 0][0], "
    say += "default=list))"
    looked = starter.ended("words", sys.executable, "-c", say, str(heard), *WORDS)
    assert looked.facts.code == 0, looked.lines
    assert [bytes(word) for word in json.loads(heard.read_text())] == [os.fsencode(word) for word in WORDS]
    assert not list(starter.folder.glob("owned"))


def test_the_program_gets_its_directory_and_its_environment(starter: Starter) -> None:
    folder = starter.folder / "a #{pid} #(touch x) b"
    folder.mkdir()
    script = 'pwd; echo "$STALLKIT_SESSION|$GIVEN"'
    session = evolve(starter.session("s"), directory=str(folder))
    identity, _ = panes.begin(session, shell(script), (100, 24), {"GIVEN": "x y; $HOME"})
    session = evolve(session, identity=identity)
    wait_for(lambda: end_facts.facts(session).facts.dead, "its end")
    assert end_facts.facts(session).lines == (str(folder), "id-s|x y; $HOME")


def test_a_session_that_we_are_called_in_is_not_the_new_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setenv("STALLKIT_SESSION", "outer")
    session = Starter(server, tmp_path).begin("s", "cat")  # starts the server
    given = Path(f"/proc/{Identity.of(session.identity).server.pid}/environ").read_bytes()
    assert b"STALLKIT_SESSION" not in given
    assert b"HOME=" in given


def test_what_ends_at_once_leaves_its_pane_and_says_how(starter: Starter) -> None:
    for number, (argv, code) in enumerate([(("true",), 0), (("./a=b/none", "x"), 127), (("no-such-program",), 127)]):
        looked = starter.ended(f"e{number}", *argv)
        assert looked.facts == PaneFacts(Presence.THERE, dead=True, code=code), argv
        assert panes.find(f"id-e{number}", starter.server.options) == (looked.identity, None)
    begun = {number: starter.begin(f"s{number}", *shell(f"exit {number}")) for number in range(0, 256, 15)}
    begun[-9] = starter.begin("killed", *shell("kill -9 $$"))
    wait_for(lambda: all(one.facts.dead for one in end_facts.many(begun.values()).values()), "their ends")
    for found in ({session.id: end_facts.facts(session) for session in begun.values()}, end_facts.many(begun.values())):
        ways = {number: found[session.id].facts for number, session in begun.items()}
        assert {number: -one.signal if one.signal else one.code for number, one in ways.items()} == {
            n: n for n in begun
        }


def test_a_start_that_cannot_be(starter: Starter, tmp_path: Path) -> None:
    with pytest.raises(panes.StartError, match="none is not a directory"):
        panes.begin(evolve(starter.session("s"), directory=str(tmp_path / "none")), ["cat"], (80, 24), {})
    with pytest.raises(ValueError, match="no program"):
        panes.begin(starter.session("s"), [], (80, 24), {})


def test_a_start_that_was_given_up_does_not_happen_later(starter: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panes, "START_S", 0.5)
    pid = starter.server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(CaptureTimeout):
            starter.begin("s", "cat")
    finally:
        os.kill(pid, signal.SIGCONT)
    starter.begin("later", "cat")  # in its turn, so that what came before it was read
    assert starter.server.tmux("list-sessions", "-F", "#{session_name}").split() == ["keeper", "later"]


def test_the_users_settings_do_not_end_it(starter: Starter) -> None:
    starter.server.tmux(
        "set-option", "-g", "destroy-unattached", "on", ";", "set-option", "-t", "=keeper:", "destroy-unattached", "off"
    )
    session = starter.begin("s", "cat")
    starter.begin("t", "cat")
    assert end_facts.facts(session).facts == PaneFacts(Presence.THERE)


def test_a_hook_that_opens_another_pane_gets_no_mark(starter: Starter) -> None:
    starter.server.tmux("set-hook", "-g", "after-new-session", "split-window cat")
    session = starter.begin("s", *shell("sleep 1; exit 3"))
    marks = starter.server.tmux("list-panes", "-t", "=s:", "-F", f"#{{pane_id}} #{{{panes.MARK}}}").splitlines()
    assert sorted(len(mark.split()) for mark in marks) == [1, 2]
    assert f"{Identity.of(session.identity).pane} id-s" in marks
    wait_for(lambda: end_facts.facts(session).facts.dead, "its end")
    assert end_facts.facts(session).facts.code == 3


def test_a_pipe_keeps_what_is_printed_last(starter: Starter) -> None:
    """Most of it: docs/tmux.md has the figures, without and with it.  It ends with its pane."""
    session = starter.begin("s", "cat")
    assert starter.server.tmux("display-message", "-p", "-t", "=s:", "#{pane_pipe}").strip() == "1"
    pipes = [path for path in Path("/proc").glob("[0-9]*") if is_pipe(path, starter.server.pid)]
    assert len(pipes) == 1
    panes.remove(session)
    wait_for(lambda: not is_pipe(pipes[0], starter.server.pid), "the pipe's end")


def is_pipe(path: Path, server: int) -> bool:
    """Whether a process under /proc is the `cat` in a pane's pipe: a child of the server's without a terminal."""
    stat = stat_of(int(path.name))
    return stat is not None and (stat.parent, stat.name, stat.device) == (server, "cat", 0) and stat.state != "Z"


FAREWELLS = {
    "at the top": ("printf one", ("one",), 1),
    "nothing": ("exit 0", (), 0),
    "scrolled, and the last row full": ("seq 50; printf last", (*map(str, range(1, 51)), "last"), 51),
    "it says the same": (
        "echo 'Pane is dead'; echo 'Pane is dead (status 3, )'",
        ("Pane is dead", "Pane is dead (status 3, )"),
        2,
    ),
    "a wrapped row": ("printf '%0100d' 7", (f"{7:0100d}",), 2),
}


def test_the_lines_are_the_programs_alone(starter: Starter) -> None:
    for number, (scene, (script, lines, count)) in enumerate(FAREWELLS.items()):
        looked = starter.ended(f"s{number}", *shell(f"{script}; sleep 0.2"))
        assert (looked.lines, looked.line_count) == (lines, count), scene
        assert looked.snapshot is not None and "Pane is dead" in looked.snapshot.screen.text, scene


def test_no_more_lines_than_wanted(starter: Starter) -> None:
    session = starter.begin("s", *shell("seq 500; echo end; exec cat"))
    wait_for(lambda: "end" in end_facts.facts(session).lines, "its output")
    looked = end_facts.facts(session, lines=30)
    assert looked.lines == (*map(str, range(472, 501)), "end")
    assert looked.line_count == 501


def test_a_program_that_lives_on_without_its_terminal_has_no_status(starter: Starter) -> None:
    session = starter.begin("s", *shell("trap '' HUP; exec </dev/null >/dev/null 2>&1; exec sleep 1000"))
    wait_for(lambda: end_facts.facts(session).facts.dead, "its terminal's end")
    assert end_facts.facts(session).facts == PaneFacts(Presence.THERE, dead=True)
    os.kill(Identity.of(session.identity).pid, signal.SIGTERM)
    wait_for(lambda: end_facts.facts(session).facts.signal == signal.SIGTERM, "its end")


def test_a_child_in_the_background_does_not_hold_the_status_back(starter: Starter) -> None:
    script = "trap '' HUP; sleep 1000 & echo $! >child; exit 4"
    looked = starter.ended("s", *shell(script))
    os.kill(int((starter.folder / "child").read_text()), signal.SIGKILL)
    assert looked.facts.code == 4


def gone(session: Session) -> tuple[ServerEnd, bool]:
    wait_for(lambda: end_facts.facts(session).facts.place is Presence.GONE, "it to be gone")
    looked = end_facts.facts(session)
    assert end_facts.many([session]) == {session.id: looked}
    assert looked.why
    return looked.server, looked.replaced


def test_what_is_gone_is_known_to_be_and_with_whom(starter: Starter) -> None:
    for command, target in (("kill-pane", "=s:"), ("kill-session", "=s"), ("kill-window", "=s:")):
        session = starter.begin("s", "cat")
        starter.server.tmux(command, "-t", target)
        assert gone(session) == (ServerEnd.LIVES, False), command
    session = starter.begin("s", "cat")
    starter.server.tmux("respawn-pane", "-k", "-t", "=s:", "cat")
    assert gone(session) == (ServerEnd.LIVES, True), "another process has the pane"
    session = starter.begin("t", "cat")
    starter.server.tmux("kill-server")
    assert gone(session) == (ServerEnd.GONE, False)
    starter.server.tmux("new-session", "-d", "-s", "t", "cat")  # another server, with a session of its name
    assert gone(session) == (ServerEnd.GONE, False)


def test_not_gone_where_it_was_renamed_or_moved(starter: Starter) -> None:
    session = starter.begin("s", *shell("echo shown; exec cat"))
    starter.server.tmux("rename-session", "-t", "=s", "other", ";", "move-pane", "-s", "=other:", "-t", "=keeper:")
    wait_for(lambda: end_facts.facts(session).lines == ("shown",), "it")
    assert end_facts.facts(session).facts == PaneFacts(Presence.THERE)


def test_not_gone_where_nobody_answers(starter: Starter) -> None:
    session = starter.begin("s", "cat")
    pid = starter.server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        looked = end_facts.facts(session)
        assert (looked.facts.place, looked.server) == (Presence.UNSEEN, ServerEnd.UNSEEN)
        with pytest.raises(CaptureTimeout):
            panes.remove(session)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert end_facts.facts(session).facts == PaneFacts(Presence.THERE)


def test_not_gone_where_only_the_socket_is_lost(starter: Starter) -> None:
    session = starter.begin("s", "cat")
    pid = starter.server.pid
    starter.server.socket.unlink()
    try:
        for others in range(2):  # no server on the socket, then another
            looked = end_facts.facts(session)
            assert (looked.facts.place, looked.server) == (Presence.UNSEEN, ServerEnd.UNSEEN)
            assert f"pid {pid}" in looked.why
            assert end_facts.many([session])[session.id] == looked
            if not others:
                starter.server.tmux("new-session", "-d", "-s", "s", "cat")
        other = starter.server.pid
        starter.server.tmux("kill-server")
        wait_for(lambda: stat_of(other) is None, "the other server's end")
        with pytest.raises(TransportError, match="not on this socket"):
            panes.remove(session)
    finally:
        os.kill(pid, signal.SIGUSR1)  # its socket anew
        wait_for(lambda: end_facts.facts(session).facts.place is Presence.THERE, "its socket")
    assert panes.remove(session)


def test_find_knows_what_was_begun_by_its_mark(starter: Starter) -> None:
    session = starter.begin("s", "cat")
    assert panes.find("id-s", starter.server.options) == (session.identity, session.pane_started)
    assert session.pane_started is not None
    assert panes.find("id", starter.server.options) is None
    starter.server.tmux("kill-server")
    assert panes.find("id-s", starter.server.options) is None


def test_remove_takes_nothing_else(starter: Starter) -> None:
    alone, shared, dead = starter.begin("alone", "cat"), starter.begin("shared", "cat"), starter.begin("dead", "true")
    starter.server.tmux(
        "new-window", "-d", "-t", "=shared:", "cat", ";", "split-window", "-d", "-t", "=shared:0", "cat"
    )
    wait_for(lambda: end_facts.facts(dead).facts.dead, "its end")
    for session in (alone, shared, dead):
        assert panes.remove(session)
        assert not panes.remove(session)
    assert starter.server.tmux("list-panes", "-a", "-F", "#{session_name}").split() == ["keeper", "shared", "shared"]


def test_remove_takes_no_other_of_its_name_or_pane(starter: Starter) -> None:
    session = starter.begin("s", "cat")
    starter.server.tmux("respawn-pane", "-k", "-t", "=s:", "cat")
    assert not panes.remove(session)
    starter.server.tmux("kill-session", "-t", "=s", ";", "new-session", "-d", "-s", "s", "cat")
    assert not panes.remove(session)
    assert starter.server.tmux("list-sessions", "-F", "#{session_name}").split() == ["keeper", "s"]


def test_the_last_session_of_a_server_is_removed_with_it(starter: Starter) -> None:
    session = starter.begin("s", "cat")
    starter.server.tmux("kill-session", "-t", "=keeper")
    pid = starter.server.pid
    assert panes.remove(session)
    wait_for(lambda: stat_of(pid) is None, "the server's end")
    assert not panes.remove(session)


def test_a_server_without_any_session_has_none_to_look_at_or_remove(starter: Starter) -> None:
    """As a server is for a moment that just ended with its last session; this one stays so."""
    session = starter.begin("s", "cat")
    starter.server.tmux("set-option", "-s", "exit-empty", "off")
    starter.server.tmux("kill-session", "-t", "=s", ";", "kill-session", "-t", "=keeper")
    assert end_facts.facts(session).facts.place is Presence.GONE
    assert not panes.remove(session)
