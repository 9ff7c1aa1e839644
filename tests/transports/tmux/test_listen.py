"""Listening to a pane of a real tmux: what is heard, what is not disturbed, and what is left behind: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator

import pytest
from attrs import evolve
from terminals import Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.errors import CaptureTimeout, SessionGone
from stallkit.evidence.snapshot import Snapshot
from stallkit.press.check import check_session
from stallkit.terminal.marks import Marks, StatusKind, StatusState
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e

BLOCKED = b"\x1b]7501;state=blocked:kind=permission\x1b\\"
WORKING = b"\x1b]7501;state=working\x1b\\"
FLOOD_BYTES = 20_000_000
Listener = Callable[..., TmuxTransport]
# It asks whether reports are understood, reports that it is blocked, and keeps whatever is typed.
PROGRAM = """
import sys, termios, tty
tty.setraw(0)
print("ready", end="", flush=True)
sys.stdin.read(1)
report = "\\x1b]7501;state=blocked:kind=permission:app=python\\x1b\\\\"
print("\\x1b]7501;?\\x1b\\\\" + report + "\\r\\nWorking on it", end="", flush=True)
with open(sys.argv[1], "ab", buffering=0) as file:
    while True:
        file.write(sys.stdin.buffer.raw.read(1))
"""


def pane_of(server: Server, target: str = "=s:") -> str:
    return server.tmux("display-message", "-p", "-t", target, "#{pane_id}").strip()


def piped(server: Server, target: str = "=s:") -> bool:
    return server.tmux("display-message", "-p", "-t", target, "#{pane_pipe}").strip() == "1"


def filters(server: Server) -> list[str]:
    """The filters that this server started."""
    listing = subprocess.run(["ps", "-ww", "-eo", "ppid=,args="], check=True, capture_output=True, text=True).stdout
    rows = [line.split(None, 1) for line in listing.splitlines()]
    return [row[1] for row in rows if row[0] == str(server.pid) and "pane_filter.py" in row[1]]


def say(server: Server, data: bytes, pane: str = "=s:") -> None:
    """Print to a pane's terminal, as a program in it does."""
    tty = server.tmux("display-message", "-p", "-t", pane, "#{pane_tty}").strip()
    with Path(tty).open("wb", buffering=0) as terminal:
        terminal.write(data)


def heard(transport: TmuxTransport, condition: Callable[[Marks], object]) -> Snapshot:
    """The first look with marks for which a condition holds."""
    looks: list[Snapshot] = []

    def found() -> bool:
        looks.append(transport.capture())
        return looks[-1].marks is not None and bool(condition(looks[-1].marks))

    wait_for(found, "what was said")
    return looks[-1]


def settled(transport: TmuxTransport) -> Snapshot:
    """The first look with marks."""
    return heard(transport, lambda _: True)


def states(marks: Marks) -> list[StatusState]:
    return [status.state for status in marks.statuses]


@pytest.fixture
def listener(server: Server) -> Iterator[Listener]:
    """Opens transports that listen; when they are closed, no filter of theirs is left."""
    made: list[TmuxTransport] = []

    def start(name: str = "s") -> TmuxTransport:
        made.append(TmuxTransport(name, evolve(server.options, listen=True)))
        return made[-1]

    yield start
    for transport in made:
        transport.close()
        transport.close()
    if server.tmux("list-sessions"):
        wait_for(lambda: not filters(server), "the filters to be gone")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_a_pane_says_is_heard_and_close_leaves_nothing(server: Server, listener: Listener) -> None:
    plain = server.start("s", "cat")
    assert [plain.capture().marks for _ in range(3)] == [None] * 3 and not piped(server), "nobody asked to listen"
    say(server, WORKING)
    before, transport = descriptors(), listener()
    assert settled(transport).marks == Marks(), "what was said before is unknown"
    say(server, BLOCKED + b"\x1b]133;A\x07\x1b]9;4;1;40\x07\x07\x07" + BLOCKED)
    seen = heard(transport, lambda marks: marks.bells and marks.strongest)
    assert seen.marks is not None and seen.marks.strongest is not None and seen.marks.progress is not None
    assert (seen.marks.strongest.kind, seen.marks.shell) == (StatusKind.PERMISSION, "prompt")
    assert seen.marks.progress.value == 40
    rung = seen.marks.bells
    say(server, b"\x07" + WORKING[:9])  # a report in two pieces is read whole
    heard(transport, lambda marks: marks.bells == rung + 1)
    say(server, WORKING[9:])
    heard(transport, lambda marks: states(marks) == [StatusState.WORKING])
    transport.close()
    assert descriptors() == before and not piped(server)


def test_another_panes_reports_are_its_own(server: Server, listener: Listener) -> None:
    server.start("s", "cat")
    pane = pane_of(server)
    server.tmux("split-window", "-d", "-t", "=s:", "cat")
    transport, other = listener(pane), listener(pane_of(server, "=s:.1"))
    settled(transport)
    settled(other)
    say(server, BLOCKED, "=s:.1")
    heard(other, states)
    say(server, b"\x07", pane)
    assert heard(transport, lambda marks: marks.bells).marks == Marks(bells=1)


def test_a_program_that_ended_does_nothing_more(server: Server, listener: Listener) -> None:
    server.start("s", "sh", "-c", "read line")
    transport = listener()
    settled(transport)
    say(server, b"\x1b]7501;state=error:id=a\x07" + WORKING)
    heard(transport, lambda marks: len(states(marks)) == 2)
    server.tmux("send-keys", "-t", "=s:", "Enter")
    wait_for(lambda: transport.capture().alive is False, "the end")
    seen = transport.capture()
    assert seen.marks is not None and states(seen.marks) == [StatusState.ERROR]


def test_a_pipe_of_the_users_own_stays_and_one_that_the_user_takes_is_his(
    server: Server, listener: Listener, tmp_path: Path
) -> None:
    for name in ("own", "taken"):
        server.start(name, "cat")
        log, takes = tmp_path / name, ("pipe-pane", "-t", f"={name}:", f"cat >> {tmp_path / name}")
        if name == "own":
            server.tmux(*takes)
        transport = listener(name)
        if name == "own":
            assert [transport.capture().marks for _ in range(5)] == [None] * 5
        else:
            settled(transport)
            assert len(filters(server)) == 1
            server.tmux(*takes)
            wait_for(lambda transport=transport: transport.capture().marks is None, "the marks to be unknown")
        transport.close()
        say(server, b"still logged", f"={name}:")
        wait_for(lambda log=log: log.exists() and b"still logged" in log.read_bytes(), "the user's log")


def test_who_reads_too_seldom_begins_anew(server: Server, listener: Listener) -> None:
    """More was said between two looks than a pipe holds: what is known may have been revoked in what is lost."""
    server.start("s", "cat")
    transport = listener()
    settled(transport)
    say(server, BLOCKED)
    heard(transport, states)
    for _ in range(40):
        say(server, WORKING * 100)
    wait_for(lambda: not filters(server), "the filter to end")
    assert transport.capture().marks is None
    heard(transport, lambda marks: not states(marks))
    say(server, WORKING)
    heard(transport, states)


def test_a_flood_is_not_held_up(server: Server, listener: Listener, tmp_path: Path) -> None:
    done = tmp_path / "done"
    printed = f"read line; head -c {FLOOD_BYTES} /dev/zero | tr '\\0' a | fold -w 70; touch {done}; exec cat"
    server.start("s", "sh", "-c", printed)
    transport = listener()
    settled(transport)
    say(server, BLOCKED)
    heard(transport, states)
    server.tmux("send-keys", "-t", "=s:", "Enter")
    wait_for(done.exists, "the program to have printed all, while nobody looks")
    say(server, WORKING)
    heard(transport, lambda marks: states(marks) == [StatusState.WORKING])


def test_a_session_that_ends_takes_its_filter_along(server: Server, listener: Listener) -> None:
    server.start("other", "cat")
    for end, more in (("kill-session", ()), ("respawn-pane", ("-k", "cat"))):
        server.start("s", "cat")
        transport = listener()
        settled(transport)
        server.tmux(end, "-t", "=s:", *more)
        with pytest.raises(SessionGone):
            transport.capture()
        wait_for(lambda: not filters(server), "the filter to end")


def test_a_stopped_server_holds_nobody_up(server: Server, listener: Listener) -> None:
    server.start("s", "cat")
    transport = listener()
    settled(transport)
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(CaptureTimeout):
            transport.capture()
        transport.close()
    finally:
        os.kill(pid, signal.SIGCONT)
    after = listener()
    say(server, b"the old pipe is noticed to be broken at the next output")
    heard(after, lambda _: True)


LISTEN = """
import sys
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport
transport = TmuxTransport("s", Options(tmux_socket_path=sys.argv[1], listen=True))
while transport.capture().marks is None:
    pass
print("listening", flush=True)
sys.stdin.read()
"""


def test_nothing_outlives_us(server: Server) -> None:
    server.start("s", "cat")
    command = [sys.executable, "-c", LISTEN, str(server.socket)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"listening\n"
        assert len(filters(server)) == 1
        os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not filters(server), "the filter to be gone with the process that listened")


def test_a_folder_with_any_name(
    server: Server, listener: Listener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """tmux expands formats and times in the command, the shell the rest."""
    folder = tmp_path / """a'b"c #{pid} %H $HOME \\ ;d"""
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    server.start("s", "cat")
    settled(listener())


def test_a_report_in_tmux_reaches_the_verdict(server: Server, tmp_path: Path, listener: Listener) -> None:
    typed = tmp_path / "typed"
    typed.touch()
    server.start("s", sys.executable, "-c", PROGRAM, str(typed), shows="ready")
    transport = listener()
    settled(transport)
    server.tmux("send-keys", "-t", "=s:", "g")
    seen = heard(transport, states)
    assert seen.marks is not None and seen.marks.queries == 1
    server.wait(transport, "Working on it")
    verdict = check_session(transport, Engine([])).verdict
    assert (verdict.state, verdict.certainty, verdict.kind) == (State.WAITING, Certainty.SURE, Kind.PERMISSION)
    assert any("osc7501" in reason for reason in verdict.reasons)
    server.tmux("send-keys", "-t", "=s:", "x")
    wait_for(typed.read_bytes, "a key")
    assert typed.read_bytes() == b"x", "nothing was typed but that key: the query is not answered"
