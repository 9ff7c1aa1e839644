"""A call of tmux: what its failures mean; and a deferred one, carried out when it is complete, and never otherwise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
import terminals
from terminals import wait_for

from stallkit.errors import CaptureTimeout, SessionGone, TransportError
from stallkit.probes.procfs import Process
from stallkit.transports.tmux.call import EXITED, DeferredCommand, NoServer, NoSessions, Server, ServerExited, failure

COMPLAINTS: dict[str, type[TransportError]] = {
    "can't find pane: %7": SessionGone,
    "can't find session: worker": SessionGone,
    "can't find window: 3": SessionGone,
    "no server running on /tmp/tmux-0/default": NoServer,
    "error connecting to /tmp/x (No such file or directory)": NoServer,
    "error connecting to /tmp/x (Connection refused)": NoServer,
    "error connecting to /tmp/x (Permission denied)": TransportError,
    "no current target": NoSessions,
    EXITED: ServerExited,
    "server exited": ServerExited,
    "": TransportError,
}


def test_each_complaint_has_its_error() -> None:
    errors = {complaint: failure("tmux:s", complaint + "\n", 1) for complaint in COMPLAINTS}
    assert {complaint: type(error) for complaint, error in errors.items()} == COMPLAINTS
    assert all((complaint or "tmux exited with 1") in str(error) for complaint, error in errors.items())


pytestmark = pytest.mark.e2e

LINE = 'if-shell -F "#{==:1,1}" "set-option -g @done yes ; display-message -p done" "display-message -p other"\n'
# Gives a line to tmux, whole or a part of it, and is killed before it ends it.
KILLED = """
import sys, time
from stallkit.transports.base import Options
from stallkit.probes.procfs import Process
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.call import DeferredCommand
call = DeferredCommand(Server(Options(tmux_socket_path=sys.argv[1])), "tmux:s", ["display-message", "-p", "first"])
call.said(lambda text: text.endswith("\\n"))
call.give(sys.argv[2])
print(call.pid, flush=True)
time.sleep(1000)
"""


def two_steps(server: terminals.Server) -> DeferredCommand:
    return DeferredCommand(Server(server.options), "tmux:s", ["display-message", "-p", "first"])


def is_done(server: terminals.Server) -> bool:
    return "@done" in server.tmux("show-options", "-g")


def test_what_it_says_comes_first_and_the_line_at_the_end_if_it_is_finished(server: terminals.Server) -> None:
    server.start("s", "cat")
    for finished in (False, True):
        with two_steps(server) as call:
            assert call.said(lambda text: text.endswith("\n")) == "first\n"
            call.give(LINE)
            assert not is_done(server)
            if finished:
                assert call.finish() == "done\n"
        assert is_done(server) is finished


def test_a_line_whose_caller_is_killed_is_not_carried_out(server: terminals.Server) -> None:
    server.start("s", "cat")
    for length in (len(LINE), len(LINE) - 1, len(LINE) - 2, LINE.index(" ; "), LINE.index('" "dis') + 1):
        command = [sys.executable, "-c", KILLED, str(server.socket), LINE[:length]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as caller:
            assert caller.stdout is not None
            client = Process.of(int(caller.stdout.readline()))
            assert client is not None
            caller.kill()
        wait_for(lambda client=client: not client.alive(), "the client to end")
        assert not is_done(server), length


def test_without_a_server_there_is_no_session(server: terminals.Server) -> None:
    with two_steps(server) as call, pytest.raises(SessionGone, match=r"no server|No such file"):
        call.said(bool)


def test_a_server_that_is_stopped_meanwhile_does_it_never_or_later(server: terminals.Server) -> None:
    server.start("s", "cat")
    pid = server.pid
    with two_steps(server) as call:
        call.said(lambda text: text.endswith("\n"))
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(CaptureTimeout):
                call.give(LINE)
                call.finish()
        finally:
            os.kill(pid, signal.SIGCONT)
