"""How a real tmux server ended: told by a client that waits with it, which leaves no trace."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import AsyncIterator, Callable

import pytest
from stallkit_sessions.end_facts import ServerEnd
from stallkit_sessions.server_monitors import ServerWatch
from terminals import PATIENCE_S, Server, read_of, wait_for

from stallkit.errors import CaptureTimeout
from stallkit.probes.procfs import stat_of

pytestmark = pytest.mark.e2e


def children(pid: int, word: str) -> list[int]:
    """The processes that a process started, by a word of their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        stat = stat_of(int(path.name))
        if (
            stat is not None
            and stat.parent == pid
            and stat.state != "Z"
            and word.encode() in read_of(int(path.name), "cmdline")
        ):
            found.append(int(path.name))
    return found


def waiters() -> list[int]:
    return children(os.getpid(), "wait-for")


def connected(waiter: int) -> bool:
    """Whether the server has answered it: its output is a file in memory, and tmux keeps that of errors open."""
    return bool(read_of(waiter, "fd/2"))


@asynccontextmanager
async def watching(server: Server) -> AsyncIterator[ServerWatch]:
    watch = ServerWatch(server.options)
    await watch.start()
    try:
        yield watch
    finally:
        await watch.close()


async def end_of(watch: ServerWatch) -> ServerEnd:
    while watch.end is ServerEnd.LIVES:
        await asyncio.sleep(0.01)
    return watch.end


async def soon(what: asyncio.Future[ServerEnd] | asyncio.Task[ServerEnd]) -> ServerEnd:
    async with asyncio.timeout(PATIENCE_S):
        return await what


def watched(server: Server, act: Callable[[int], object]) -> ServerEnd:
    """How the server ended, by a watch that began before the act, which is given the server's pid."""

    async def run() -> ServerEnd:
        async with watching(server) as watch:
            assert watch.end is ServerEnd.LIVES
            ended = asyncio.create_task(end_of(watch))
            await asyncio.to_thread(act, watch.server.pid)
            return await soon(ended)

    found = asyncio.run(run())
    assert waiters() == []
    return found


ENDS: dict[str, tuple[Callable[[Server, int], object], ServerEnd]] = {
    "kill-server": (lambda server, _: server.tmux("kill-server"), ServerEnd.ENDED),
    "its last session": (lambda server, _: server.tmux("kill-session", "-t", "=s"), ServerEnd.ENDED),
    "SIGTERM": (lambda _, pid: os.kill(pid, signal.SIGTERM), ServerEnd.ENDED),
    "SIGKILL": (lambda _, pid: os.kill(pid, signal.SIGKILL), ServerEnd.CRASHED),
    "SIGSEGV": (lambda _, pid: os.kill(pid, signal.SIGSEGV), ServerEnd.CRASHED),
}


def test_how_a_server_ended(server: Server) -> None:
    for scene in ENDS:
        server.tmux("new-session", "-d", "-s", "s", "cat")
        act, end = ENDS[scene]
        assert watched(server, lambda pid, act=act: act(server, pid)) is end, scene


def test_a_client_that_is_killed_is_replaced(server: Server) -> None:
    for number in [signal.SIGKILL, signal.SIGTERM]:
        server.tmux("new-session", "-d", "-s", "s", "cat")

        def act(_: int, number: signal.Signals = number) -> None:
            (first,) = waiters()
            os.kill(first, number)
            wait_for(lambda: [pid for pid in waiters() if pid != first and connected(pid)], "another client")
            server.tmux("kill-server")

        assert watched(server, act) is ServerEnd.ENDED, number


def test_nobody_was_with_it_when_it_ended(server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "s", "cat")

    def act(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)  # so that no other client is let in
        (first,) = waiters()
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: first not in waiters(), "the client's end")
        os.kill(pid, signal.SIGKILL)

    assert watched(server, act) in (ServerEnd.GONE, ServerEnd.CRASHED)  # the latter where the next one was queued


def test_a_stopped_server_and_a_lost_socket_are_no_end(server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "s", "cat")

    async def run() -> None:
        async with watching(server) as watch:
            pid = watch.server.pid
            os.kill(pid, signal.SIGSTOP)
            server.socket.unlink()
            (first,) = waiters()
            os.kill(first, signal.SIGKILL)  # and the next finds no server on the socket
            ended = asyncio.create_task(end_of(watch))
            done, _ = await asyncio.wait([ended], timeout=1)
            assert not done
            assert watch.end is ServerEnd.LIVES
            os.kill(pid, signal.SIGCONT)
            await asyncio.to_thread(server.tmux, "new-session", "-d", "-s", "other", "cat")
            done, _ = await asyncio.wait([ended], timeout=1)  # another server has the socket: it is not this one
            assert not done
            await asyncio.to_thread(server.tmux, "kill-server")
            done, _ = await asyncio.wait([ended], timeout=1)
            assert not done
            os.kill(pid, signal.SIGUSR1)
            await asyncio.to_thread(wait_for, server.socket.exists, "its socket")
            await asyncio.to_thread(wait_for, waiters, "a client")
            await asyncio.to_thread(server.tmux, "kill-server")
            assert await soon(ended) in (ServerEnd.ENDED, ServerEnd.GONE)  # the client may still be on its way in

    asyncio.run(run())
    assert waiters() == []


def test_it_holds_no_server_up_and_leaves_nothing(server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "s", "cat")
    pid = server.pid

    async def run() -> None:
        async with watching(server):
            assert len(waiters()) == 1
        assert waiters() == []

    asyncio.run(run())
    server.tmux("kill-session", "-t", "=s")  # the last: the server ends, with a watch as without
    wait_for(lambda: stat_of(pid) is None, "the server's end")


def test_no_server(server: Server) -> None:
    async def run() -> ServerEnd:
        async with watching(server) as watch:
            return await end_of(watch)

    assert asyncio.run(run()) is ServerEnd.GONE
    assert not server.socket.exists()


def test_nobody_could_look(server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "s", "cat")
    pid = server.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(CaptureTimeout):
            asyncio.run(ServerWatch(server.options).start())
    finally:
        os.kill(pid, signal.SIGCONT)
    assert waiters() == []


def test_its_client_ends_with_a_killed_process(server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "s", "cat")
    program = (
        "import asyncio, sys\n"
        "from stallkit_sessions.server_monitors import ServerWatch\n"
        "from stallkit.transports.base import Options\n"
        "async def run():\n"
        "    watch = ServerWatch(Options(tmux_socket_path=sys.argv[1]))\n"
        "    await watch.start()\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(run())\n"
    )
    watcher = subprocess.Popen([sys.executable, "-c", program, str(server.socket)])
    wait_for(lambda: children(watcher.pid, "wait-for"), "its client")
    (client,) = children(watcher.pid, "wait-for")
    watcher.kill()
    watcher.wait()
    wait_for(lambda: (stat := stat_of(client)) is None or stat.state in "ZX", "the client's end")
