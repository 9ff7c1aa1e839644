"""What needs a person, in the status line of a real tmux, as its client shows it; whatever sessions are called."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest
from stallkit_supervisor.session_state import WatchConfig
from stallkit_supervisor.sources import FleetSource
from stallkit_supervisor.status_text import NEEDS, StatusNeed, clear_stale, summary
from stallkit_supervisor.supervisor import Supervisor
from supervised import EAGER, PATIENCE_S
from terminals import OnTerminal, Server, wait_for

from stallkit.press.policy import OBSERVE
from stallkit.transports.tmux.call import Server as Client

ASKS = "read -p 'Proceed? [y/N] ' answer; clear; echo went on; exec sleep 1000"
# Formats, styles, times, words of a shell and of tmux: each would be seen, or leave a file.  (tmux reads the name
# of a new session as a format, too.)
HOSTILE = ["##(touch pwned)", "#[reverse]a", "##{host}", "##{l:x}", "%H%M", "$(touch pwned)", "a'b\"c", "-x", "`id`"]


def text(server: Server) -> str:
    return server.tmux("show-options", "-gqv", "@stallkit").rstrip("\n")


def asks(server: Server, name: str) -> None:
    server.tmux("new-session", "-d", f"-s{name}", "-x", "80", "-y", "24", "bash", "-c", ASKS)


async def watched(server: Server, *conditions: str) -> None:
    """A supervisor of all sessions, until its text has been each of these in turn, with what follows from it."""
    source = FleetSource([], server.options, everything=True)
    async with asyncio.timeout(PATIENCE_S), Supervisor(policy=WatchConfig(OBSERVE, EAGER), sources=[source]):
        for condition in conditions:
            while await asyncio.to_thread(text, server) != condition:
                await asyncio.sleep(0.02)
            if condition:
                server.tmux("send-keys", "-t", f"={condition.split()[-1]}:", "Enter")


@pytest.mark.e2e
def test_it_says_who_waits_and_nothing_at_the_end(server: Server) -> None:
    asks(server, "w1")
    asks(server, "w7")
    asyncio.run(watched(server, "2 wait: w1 w7", "1 wait: w1", ""))
    asks(server, "w8")
    asyncio.run(watched(server, "1 wait: w8"))
    assert text(server) == "" and server.tmux("show-options", "-gqv", "@stallkit_of") == ""


@pytest.mark.e2e
def test_a_client_shows_it_as_it_is(server: Server, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    inner = Server(tmp_path / "inner")
    try:
        for name in HOSTILE:
            asks(inner, name)
        inner.tmux("set-option", "-g", "status-left", "")
        inner.tmux("set-option", "-g", "status-right-length", "180")
        inner.tmux("set-option", "-g", "status-right", "|#{@stallkit}|")
        inner.tmux("set-option", "-g", "window-status-format", "")
        inner.tmux("set-option", "-g", "window-status-current-format", "")
        attach = ("env", "-u", "TMUX", "tmux", "-u", "-S", str(inner.socket), "attach")
        client = OnTerminal(server, (200, 24), *attach)
        client.shows(r"\|\|$")

        async def run() -> None:
            source = FleetSource([], inner.options, everything=True)
            supervisor = Supervisor(policy=WatchConfig(OBSERVE, EAGER), sources=[source])
            async with supervisor:
                await asyncio.to_thread(wait_for, lambda: "9 wait" in client.screen.splitlines()[-1], "all that wait")
                row = client.screen.splitlines()[-1]
                assert row.endswith(f"|{supervisor.summary}|")
                assert [part for part in ("#[reverse]a", "#(touch", "#{host}") if part not in row] == [], row

        asyncio.run(run())
        client.shows(r"\|\|$")
        assert not list(tmp_path.rglob("pwned"))
    finally:
        inner.end()


WATCH = """
import asyncio, sys
from stallkit_supervisor import Supervisor
from stallkit.transports.base import Options

async def watch():
    async with Supervisor(everything=True, policy="observe", options=Options(tmux_socket_path=sys.argv[1])) as watching:
        async for event in watching:
            pass

asyncio.run(watch())
"""


@contextmanager
def watching(server: Server) -> Iterator[None]:
    """A supervisor of its own, which is killed in the end, whatever comes of the test."""
    with subprocess.Popen([sys.executable, "-c", WATCH, str(server.socket)]) as process:
        try:
            yield
        finally:
            process.kill()


@pytest.mark.e2e
def test_the_text_of_one_that_was_killed_can_be_told(server: Server) -> None:
    asks(server, "w1")
    with watching(server):
        wait_for(lambda: text(server) == "1 wait: w1", "its text")
        assert not clear_stale(Client(server.options)), "it runs"
    assert text(server) == "1 wait: w1"
    assert clear_stale(Client(server.options))
    assert text(server) == "" and not clear_stale(Client(server.options))


@pytest.mark.e2e
def test_one_that_listens_takes_its_text_along_where_it_is_killed(server: Server) -> None:
    server.tmux("new-session", "-d", "-s", "w1", "bash", "-c", 'exec -a codex bash -c "$0"', ASKS)
    with watching(server):
        wait_for(lambda: text(server) == "1 wait: w1", "its text")
        pipe = ("display-message", "-p", "-t", "=w1:", "#{pane_pipe}")
        wait_for(lambda: server.tmux(*pipe).strip() == "1", "it to listen")
    wait_for(lambda: text(server) == "" and server.tmux(*pipe).strip() == "0", "all of it to be gone")


FIRST = [f"s-{number:02}" for number in range(12)]


@pytest.mark.parametrize(
    ("needs", "line"),
    [
        ([], ""),
        ([("limit", "tmux:c"), ("wait", "tmux:b"), ("wait", "acme:a")], "2 wait: acme:a b, 1 limit: c"),
        ([("wait", f"tmux:{'x' * 99}")], f"1 wait: {'x' * 23}…"),
        ([("wait", f"tmux:s-{number:02}") for number in range(20)], f"20 wait: {' '.join(FIRST)} +8"),
        ([("unseen", "tmux:a\u202eb\nc"), ("stopped", "tmux:two words")], "1 stopped: two_words, 1 unseen: abc"),
    ],
)  # fmt: skip
def test_a_short_line(needs: list[tuple[StatusNeed, str]], line: str) -> None:
    assert summary(needs) == line
    assert all(need in NEEDS for need, _ in needs)
