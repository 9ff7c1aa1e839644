"""A server that stops, ends or loses its socket: could-not-look and gone are never confused, and nobody else waits."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import Iterator

import pytest
from terminals import Server, wait_for

from stallkit.errors import CaptureTimeout, TransportError, TransportUnavailable
from stallkit.evidence.snapshot import Snapshot
from stallkit.transports.base import Options
from stallkit.transports.tmux.fleet import Fleet, Sweep
from stallkit.transports.tmux.pane import TmuxTransport

pytestmark = pytest.mark.e2e


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Server]:
    """One more server."""
    folder = tmp_path / "other"
    folder.mkdir()
    made = Server(folder)
    made.start("s", "cat")
    yield made
    made.end()


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def after(runner: asyncio.Runner, fleet: Fleet) -> Sweep:
    """The first sweep that succeeds: in the moment in which a server ends its clients fail in some other way."""
    sweeps: list[Sweep] = []

    def swept() -> bool:
        with contextlib.suppress(TransportError):
            sweeps.append(runner.run(fleet.sweep()))
        return bool(sweeps)

    wait_for(swept, "a sweep")
    return sweeps[-1]


def test_a_stopped_server_could_not_be_looked_at_and_delays_no_other(
    server: Server, other: Server, runner: asyncio.Runner
) -> None:
    server.start("s", "cat")
    fleet, ended = Fleet(server.options), list[str]()
    rows = runner.run(fleet.sweep()).rows

    async def hanging(stopped: Fleet, times: int) -> None:
        for _ in range(times):
            with pytest.raises(CaptureTimeout) as caught:
                await stopped.sweep()
            assert str(server.socket) in caught.value.target
        ended.append("hanging")

    async def going() -> None:
        fleet = Fleet(other.options)
        for _ in range(5):
            assert len((await fleet.sweep()).rows) == 1
        ended.append("going")

    async def both() -> None:
        await asyncio.gather(hanging(fleet, 3), *(hanging(Fleet(server.options), 1) for _ in range(11)), going())

    with stopped(server.pid):
        runner.run(both())
    assert ended == ["going", *["hanging"] * 12]
    sweep = runner.run(fleet.sweep())
    assert (sweep.rows, sweep.gone) == (rows, ()), "it was never gone"


def test_what_a_failed_sweep_saw_is_told_by_the_next(server: Server, runner: asyncio.Runner) -> None:
    """The list arrives, the looks do not: the pane counts as looked at only when its look was handed out."""
    server.start("s", "cat")
    fleet, pid = Fleet(server.options), server.pid

    def stop(_: object) -> bool:
        os.kill(pid, signal.SIGSTOP)
        return True

    try:
        with pytest.raises(CaptureTimeout):
            runner.run(fleet.sweep(wanted=stop))
    finally:
        os.kill(pid, signal.SIGCONT)
    sweep = runner.run(fleet.sweep())
    assert [type(look) for look in sweep.looks.values()] == [Snapshot]
    assert not sweep.unchanged


def test_a_killed_server_is_gone_in_the_second_sweep(server: Server, runner: asyncio.Runner) -> None:
    for name in ("one", "two"):
        server.start(name, "cat")
    fleet = Fleet(server.options)
    rows = runner.run(fleet.sweep()).rows
    pid = server.pid
    os.kill(pid, signal.SIGKILL)
    first = after(runner, fleet)
    later = [runner.run(fleet.sweep()) for _ in range(2)]
    assert [sweep.rows for sweep in (first, *later)] == [(), (), ()]
    assert (first.gone, set(later[0].gone), later[1].gone) == ((), set(rows), ())


def test_a_server_that_was_started_again_has_other_panes(server: Server, runner: asyncio.Runner) -> None:
    server.start("s", "cat")
    fleet = Fleet(server.options)
    (before,) = runner.run(fleet.sweep()).rows
    os.kill(server.pid, signal.SIGKILL)
    after(runner, fleet)
    server.start("s", "sh", "-c", "echo again; exec cat", shows="again")
    sweep = runner.run(fleet.sweep())
    (row,) = sweep.rows
    assert (row.pane, row.name) == (before.pane, before.name)
    assert row.identity != before.identity
    assert sweep.gone == (before,)
    look = sweep.looks[row.pane]
    assert isinstance(look, Snapshot) and "again" in look.screen.text and look.identity == str(row.identity)


def test_a_lost_socket_is_not_a_lost_server(server: Server, runner: asyncio.Runner) -> None:
    """As when something tidies /tmp: every session lives on."""
    server.start("s", "cat")
    fleet, pid = Fleet(server.options), server.pid
    rows = runner.run(fleet.sweep()).rows
    server.socket.unlink()
    try:
        for _ in range(3):
            with pytest.raises(TransportError, match=f"pid {pid}.*USR1"):
                runner.run(fleet.sweep())
    finally:
        os.kill(pid, signal.SIGUSR1)  # it makes its socket anew
    sweep = after(runner, fleet)
    assert (sweep.rows, sweep.gone) == (rows, ())


def test_no_server_and_one_without_sessions_have_no_panes_and_none_is_started(
    server: Server, runner: asyncio.Runner
) -> None:
    fleet = Fleet(server.options)
    for _ in range(2):
        assert runner.run(fleet.sweep()) == Sweep((), {}, frozenset(), ())
    assert not server.socket.exists()
    server.start("s", "cat")
    rows = runner.run(fleet.sweep()).rows
    server.tmux("set-option", "-s", "exit-empty", "off", ";", "kill-session", "-t", "=s")
    assert [runner.run(fleet.sweep()).gone for _ in range(3)] == [(), rows, ()]
    server.start("s", "cat")  # so that it ends with the test
    assert len(runner.run(fleet.sweep()).rows) == 1


def test_what_keeps_from_looking_is_told_apart(tmp_path: Path, runner: asyncio.Runner) -> None:
    with pytest.raises(TransportUnavailable, match="install tmux"):
        runner.run(Fleet(binary="no-such-tmux").sweep())
    (tmp_path / "file").touch()
    with pytest.raises(TransportError, match="Not a directory"):
        runner.run(Fleet(Options(tmux_socket_path=str(tmp_path / "file" / "socket"))).sweep())
    talker = tmp_path / "tmux"
    talker.write_text("#!/bin/sh\necho welcome to this machine\n")
    talker.chmod(0o755)
    with pytest.raises(TransportError, match="welcome"):
        runner.run(Fleet(binary=str(talker)).sweep())


def test_a_cancelled_sweep_leaves_no_child(server: Server, runner: asyncio.Runner) -> None:
    server.start("s", "cat")

    def children() -> set[str]:
        return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}

    before = children()  # of other tests: the resource tracker of multiprocessing stays as long as the process

    async def cancelled() -> None:
        sweep = asyncio.create_task(Fleet(server.options).sweep())
        while not children() - before:
            await asyncio.sleep(0.01)
        sweep.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sweep
        assert not children() - before

    with stopped(server.pid):
        runner.run(cancelled())


def test_a_closed_fleet_looks_no_more(server: Server, runner: asyncio.Runner) -> None:
    transport = server.start("s", "cat")
    fleet = Fleet(server.options)
    runner.run(fleet.sweep())
    runner.run(fleet.close())
    with pytest.raises(TransportError, match="closed"):
        runner.run(fleet.sweep())
    assert TmuxTransport("s", server.options).capture().identity == transport.capture().identity
