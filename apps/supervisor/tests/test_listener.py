"""Listening to panes of a real tmux: what is heard at once, what is left alone, what is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Coroutine, Literal

import pytest
from stallkit_supervisor.listener import PaneListener
from stallkit_supervisor.session_state import Schedule, WatchConfig
from stallkit_supervisor.sources import FleetSource
from stallkit_supervisor.supervisor import Supervisor
from supervised import shell
from terminals import PATIENCE_S, Server, wait_for

from stallkit.detect.signature import Certainty, Kind, State
from stallkit.evidence.signal import Guard
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import Engine
from stallkit.press.policy import OBSERVE
from stallkit.terminal.marks import Marks, StatusState
from stallkit.transports.tmux.call import Server as Client
from stallkit.transports.tmux.fleet import Fleet
from stallkit.transports.tmux.identity import Identity

pytestmark = pytest.mark.e2e

BLOCKED = b"\x1b]7501;state=blocked:kind=permission:app=codex\x1b\\"
WORKING = b"\x1b]7501;state=working:app=codex\x1b\\"
FLOOD_BYTES = 20_000_000


def collectors(server: Server) -> set[int]:
    listing = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], check=True, capture_output=True, text=True).stdout
    own = [
        line for line in listing.splitlines() if "stallkit_supervisor.collector" in line and str(server.socket) in line
    ]
    return {int(line.split()[0]) for line in own}


def say(server: Server, data: bytes, session: str = "s") -> None:
    """Print to a pane's terminal, as a program in it does."""
    tty = server.tmux("display-message", "-p", "-t", f"={session}:", "#{pane_tty}").strip()
    with Path(tty).open("wb", buffering=0) as terminal:
        terminal.write(data)


def piped(server: Server, session: str = "s") -> bool:
    return server.tmux("display-message", "-p", "-t", f"={session}:", "#{pane_pipe}").strip() == "1"


async def panes(server: Server) -> dict[str, Identity]:
    fleet = Fleet(server.options)
    sweep = await fleet.sweep(lambda row: False)
    await fleet.close()
    return {row.session: row.identity for row in sweep.rows}


async def until(condition: Callable[[], object], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"gave up waiting for {what}") from None


async def listens(listener: PaneListener, identity: Identity) -> None:
    await listener.listen([identity])
    await until(lambda: listener.marks(identity) is not None, "its pipe")


def states(marks: Marks | None) -> list[StatusState]:
    return [status.state for status in marks.statuses] if marks else []


def listening(server: Server, test: Callable[[PaneListener], Coroutine[Any, Any, None]]) -> None:
    """A test with a listener; when it is closed, nothing of it is left."""
    before = collectors(server)

    async def run() -> None:
        listener = PaneListener(Client(server.options))
        try:
            await test(listener)
        finally:
            await listener.close()
            await listener.close()

    asyncio.run(run())
    assert not collectors(server) - before


def test_many_panes_need_one_process(server: Server) -> None:
    for name in "abc":
        server.start(name, "cat").close()

    async def test(listener: PaneListener) -> None:
        found, before = await panes(server), collectors(server)
        await listener.listen(found.values())
        await until(lambda: all(listener.marks(one) == Marks() for one in found.values()), "all pipes")
        say(server, BLOCKED, "b")
        await asyncio.wait_for(listener.nudged(), PATIENCE_S)
        assert listener.news() == {found["b"].pane}
        assert [states(listener.marks(found[name])) for name in "abc"] == [[], [StatusState.BLOCKED], []]
        assert len(collectors(server) - before) == 1
        children = subprocess.run(["ps", "-o", "args=", "--ppid", str(server.pid)], capture_output=True, check=True)
        assert children.stdout.split() == [b"cat"] * 3

    listening(server, test)
    assert not any(piped(server, name) for name in "abc")


def test_notices_and_bells_are_reasons_to_look(server: Server) -> None:
    server.start("s", "cat").close()

    async def test(listener: PaneListener) -> None:
        identity = (await panes(server))["s"]
        await listens(listener, identity)

        def heard() -> int:
            marks = listener.marks(identity)
            return marks.notices + marks.bells if marks else 0

        said = [
            b"\x1b]9;Approval requested\x07",
            b"\x1b]777;notify;Gemini;needs you\x1b\\",
            b"\x1b]99;;done\x1b\\",
            b"\x07",
        ]
        for number, data in enumerate(said, 1):
            say(server, data)
            await until(lambda: heard() >= number, f"{data!r}")  # noqa: B023  # it is awaited here
        await asyncio.wait_for(listener.nudged(), PATIENCE_S)
        assert listener.news() == {identity.pane}
        marks = listener.marks(identity)
        assert marks is not None and marks.notice is not None and (marks.notice.text, marks.bells) == ("done", 1)

    listening(server, test)


def test_a_pipe_of_the_users_own_stays_and_one_that_the_user_takes_is_not_taken_back(
    server: Server, tmp_path: Path
) -> None:
    for name in ("s", "mine", "taken"):
        server.start(name, "cat").close()
    logs = {name: tmp_path / name for name in ("s", "taken")}
    server.tmux("pipe-pane", "-t", "=s:", f"cat >> {logs['s']}")

    async def test(listener: PaneListener) -> None:
        found = await panes(server)
        await listener.listen(found.values())
        await until(lambda: all(listener.marks(found[name]) is not None for name in ("mine", "taken")), "other pipes")
        assert listener.marks(found["s"]) is None
        server.tmux("pipe-pane", "-t", "=taken:", f"cat >> {logs['taken']}")
        await until(lambda: listener.marks(found["taken"]) is None, "the marks to be unknown")
        server.tmux("pipe-pane", "-t", "=taken:")
        await listener.listen([found["taken"]])
        assert not piped(server, "taken")
        server.tmux("pipe-pane", "-t", "=taken:", f"cat >> {logs['taken']}")

    listening(server, test)
    for name, log in logs.items():
        assert piped(server, name)
        say(server, b"still logged", name)
        wait_for(lambda log=log: log.exists() and b"still logged" in log.read_bytes(), "the user's log")  # type: ignore[misc]


def test_a_session_of_ours_keeps_the_pipe_that_it_began_with(server: Server) -> None:
    server.start("s", "cat").close()
    server.tmux("pipe-pane", "-O", "-t", "=s:", "exec cat >/dev/null")
    for name, value in (("@stallkit_drained", "1"), ("@stallkit_session", "x")):
        server.tmux("set-option", "-p", "-t", "=s:", name, value)

    async def test(listener: PaneListener) -> None:
        await listens(listener, (await panes(server))["s"])

    listening(server, test)
    assert piped(server)
    assert server.tmux("show-options", "-p", "-v", "-t", "=s:", "@stallkit_drained").strip() == "1"


def test_a_flood_is_not_held_up_and_a_report_in_it_is_heard(server: Server, tmp_path: Path) -> None:
    done = tmp_path / "done"
    printed = f"read line; head -c {FLOOD_BYTES} /dev/zero | tr '\\0' a | fold -w 70; touch {done}; exec cat"
    server.start("s", "sh", "-c", printed).close()

    async def test(listener: PaneListener) -> None:
        identity = (await panes(server))["s"]
        await listens(listener, identity)
        server.tmux("send-keys", "-t", "=s:", "Enter")
        await until(done.exists, "the program to have printed all")
        say(server, WORKING)
        await until(lambda: states(listener.marks(identity)), "the report behind it")

    listening(server, test)


def test_who_reports_without_end_is_no_longer_heard_and_the_others_are(server: Server) -> None:
    for name in "ab":
        server.start(name, "cat").close()

    async def test(listener: PaneListener) -> None:
        found = await panes(server)
        await listener.listen(found.values())
        await until(lambda: all(listener.marks(one) is not None for one in found.values()), "all pipes")
        for _ in range(40):
            say(server, WORKING * 1_000, "a")
        await until(lambda: listener.marks(found["a"]) is None, "the pane to be given up")
        say(server, BLOCKED, "b")
        await until(lambda: states(listener.marks(found["b"])), "the other's report")

    listening(server, test)


def test_a_collector_that_is_killed_makes_all_unknown(server: Server) -> None:
    server.start("s", "cat").close()

    async def test(listener: PaneListener) -> None:
        identity, before = (await panes(server))["s"], collectors(server)
        await listens(listener, identity)
        (pid,) = collectors(server) - before
        os.kill(pid, signal.SIGKILL)
        await until(lambda: listener.marks(identity) is None, "the marks to be unknown")
        await listener.listen([identity])
        assert not collectors(server) - before, "not again at once"

    listening(server, test)


def test_a_stopped_server_holds_nobody_up(server: Server) -> None:
    server.start("s", "cat").close()
    pid = server.pid

    async def test(listener: PaneListener) -> None:
        await listens(listener, (await panes(server))["s"])
        os.kill(pid, signal.SIGSTOP)

    try:
        listening(server, test)
    finally:
        os.kill(pid, signal.SIGCONT)


LISTEN = """
import asyncio, sys
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.fleet import Fleet
from stallkit_supervisor.listener import PaneListener

async def listen(options):
    sweep = await Fleet(options).sweep()
    panes = [row.identity for row in sweep.rows]
    listener = PaneListener(Server(options))
    await listener.listen(panes)
    while any(listener.marks(pane) is None for pane in panes):
        await asyncio.sleep(0.01)
    print("listening", flush=True)
    await asyncio.sleep(1000)

asyncio.run(listen(Options(tmux_socket_path=sys.argv[1])))
"""


def test_nothing_outlives_us(server: Server, tmp_path: Path) -> None:
    """Stopped, it holds nobody up: what is printed is read all the same.  Killed, it leaves no pipe."""
    server.start("s", "cat").close()
    before = collectors(server)
    command = [sys.executable, "-c", LISTEN, str(server.socket)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"listening\n"
            server.start("mine", "cat").close()
            server.tmux("pipe-pane", "-t", "=mine:", f"cat >> {tmp_path}/log")
            assert len(collectors(server) - before) == 1 and piped(server, "s")
            os.kill(process.pid, signal.SIGSTOP)
            for _ in range(100):
                say(server, WORKING * 100)
            assert len(collectors(server) - before) == 1
        finally:
            os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: not collectors(server) - before, "the collector to end")
    assert piped(server, "mine") and not piped(server, "s"), "its pipe is taken away, another's is not"


SELDOM = Schedule(interval_s=600.0, eager_s=600.0)  # but for a reason to look at once

# It says what it is told to, with nothing new on its screen.
SAYS = """
import sys
print("a program", flush=True)
for line in sys.stdin:
    print(line.strip().encode().decode("unicode_escape"), end="", flush=True)
"""

SAYS_BLOCKED = r"\x1b]7501;state=blocked:app=codex:kind=permission\x07"


def start(server: Server, name: str, program: str) -> None:
    """A program of that name which says what it is told to."""
    script = f'stty -echo -icanon; exec -a {program} {sys.executable} -c "$0"'
    server.start(name, "bash", "-c", script, SAYS, shows="a program").close()


def tell(server: Server, name: str, said: str) -> None:
    server.tmux("send-keys", "-t", f"={name}:", "-l", said)
    server.tmux("send-keys", "-t", f"={name}:", "Enter")


def watched(
    server: Server,
    listen: Literal["auto", "all", "never"],
    then: Callable[[], None],
    until: Callable[[Snapshot, Verdict], object],
) -> Verdict:
    """The verdict on `s` that comes of what is done once it is listened to."""
    source = FleetSource([], server.options, everything=True, listen=listen)
    supervisor = Supervisor(policy=WatchConfig(OBSERVE, SELDOM), sources=[source], engine=Engine([]))

    async def watch() -> Verdict:
        async with asyncio.timeout(PATIENCE_S), supervisor:
            while not await asyncio.to_thread(piped, server, "s"):
                await asyncio.sleep(0.02)
            then()
            while True:
                seen = supervisor.sessions.get("tmux:s")
                if seen and seen.snapshot and seen.verdict and until(seen.snapshot, seen.verdict):
                    return seen.verdict
                await asyncio.sleep(0.02)

    return asyncio.run(watch())


def test_a_report_is_heard_at_once(server: Server) -> None:
    start(server, "s", "codex")
    shell(server, "other", "echo a shell; exec sleep 100", "a shell")
    others: list[bool] = []

    def say() -> None:
        others.append(piped(server, "other"))
        tell(server, "s", SAYS_BLOCKED)

    verdict = watched(server, "auto", say, lambda _, verdict: verdict.signals)
    assert (verdict.state, verdict.certainty, verdict.kind) == (State.WAITING, Certainty.SURE, Kind.PERMISSION)
    assert verdict.by_signal and [one.source for one in verdict.signals] == ["osc7501"]
    assert others == [False], "a shell reports nothing: its pipe is free"
    assert not piped(server, "s")


def test_a_report_under_anothers_name_is_a_claim(server: Server) -> None:
    start(server, "s", "somebody")
    verdict = watched(server, "all", lambda: tell(server, "s", SAYS_BLOCKED), lambda _, verdict: verdict.signals)
    assert verdict.certainty is Certainty.MAYBE and verdict.signals[0].guard is Guard.NONE


def test_a_notice_is_a_reason_to_look(server: Server) -> None:
    """It names no state: the look at once finds what the screen shows."""
    start(server, "s", "codex")

    def ask() -> None:
        tell(server, "s", r"\x1b]777;notify;codex;Approval requested\x1b\\\r\nOverwrite? [y/N] ")

    verdict = watched(server, "auto", ask, lambda seen, _: "Overwrite" in seen.screen.text)
    (notice,) = verdict.signals
    assert (notice.source, notice.state, notice.counts) == ("notice", None, False)
    assert notice.words.endswith("Approval requested")


def test_who_does_not_want_it_is_not_listened_to(server: Server) -> None:
    start(server, "s", "codex")
    source = FleetSource([], server.options, everything=True, listen="never")

    async def sweep() -> None:
        for _ in range(3):
            await source.sweep(lambda target: True)
        assert not piped(server, "s")
        await source.close()

    asyncio.run(sweep())
