"""Listening to many panes of one tmux server, with one process for all of them (`collector`).

Each pane's pipe is handed over to that process (`hand_over`), which passes on only what programs report of themselves.
A pane has one pipe: a pipe of the user's own stays, and one that the user takes from us is not taken back.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Iterable, Literal

from attrs import define
from stallkit_sessions.panes import unpiped

import stallkit
from stallkit.errors import TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.terminal.marks import Marks, MarksReader
from stallkit.transports.tmux.call import Server, quoted
from stallkit.transports.tmux.identity import Identity
from stallkit.transports.tmux.pane import pipe_into

AT_ONCE = 16  # panes in one call: each starts a process for some 15 ms
AGAIN_S = 60.0  # until a pane is tried again that was piped elsewhere, or reported too much; and a collector that ended
NUDGE_S = 1.0  # between two looks that one pane's reports ask for
END_S = 4.0  # for the collector to end: longer than it gives tmux
CHUNK = 65_536
_HEADER = 9  # bytes: kind, number, length
_HAND_OVER = Path(__file__).with_name("hand_over.py")
_ROOTS = sorted({str(Path(str(file)).parents[1]) for file in (stallkit.__file__, __file__)})
# It runs without site-packages, for speed: what it imports needs none.
_COLLECT = f"import sys; sys.path[:0] = {_ROOTS!r}; from stallkit_supervisor.collector import main; main()"
_LONGEST = 90  # characters of the path of a socket


@define
class _Heard:
    """One pane that was asked for."""

    identity: Identity
    number: int
    asked_at: float
    reader: MarksReader | None = None  # None: its pipe was not handed over, or not yet
    marks: Marks | None = None  # what was read up to now, or None where it has to be made
    nudged_at: float = float("-inf")
    over: bool = False  # the pipe has been taken from us


class PaneListener:
    """What the programs in panes report of themselves, from the moment on at which their panes were asked for.

    It belongs to one event loop.  Its process ends with it, also if this one is killed, and takes its pipes away.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._heard: dict[Identity, _Heard] = {}
        self._by_number: dict[int, _Heard] = {}
        self._numbers = itertools.count(1)
        self._fresh: set[str] = set()
        self._nudge = asyncio.Event()
        self._collector: _Collector | None = None
        self._failed_at: float | None = None
        self._data = bytearray()
        self._last_words = ""

    async def listen(self, wanted: Iterable[Identity]) -> None:
        """Ask for these panes, as far as they are not heard yet, some in each call; tmux may not answer."""
        now = time.monotonic()
        fresh = [one for one in wanted if self._asks(one, now)][:AT_ONCE]
        if not fresh or not self._started(now):
            return
        assert self._collector is not None  # it was started
        lines = []
        for identity in fresh:
            self.forget(identity)
            heard = _Heard(identity, next(self._numbers), now)
            self._heard[identity] = self._by_number[heard.number] = heard
            self._collector.tell(heard.number, unpiped(identity.pane))
            words = pipe_into(identity.pane, _HAND_OVER, str(self._collector.folder), str(heard.number))
            lines.append(" ".join(map(quoted, words)))
        with suppress(TransportError):  # the look itself reports it
            await self._server.answer(["source-file", "-"], "\n".join(lines) + "\n")

    def marks(self, identity: Identity) -> Marks | None:
        """What was reported in a pane; None if nothing listens."""
        heard = self._heard.get(identity)
        if heard is None or heard.reader is None:
            return None
        if heard.marks is None:
            heard.marks = heard.reader.marks
        return heard.marks

    def forget(self, identity: Identity) -> None:
        """The pane is gone."""
        heard = self._heard.pop(identity, None)
        if heard is not None:
            self._by_number.pop(heard.number, None)

    def news(self) -> frozenset[str]:
        """The panes (``%3``) in which something was reported since the last call."""
        found, self._fresh = frozenset(self._fresh), set()
        self._nudge.clear()
        return found

    async def nudged(self) -> None:
        """Return once there is a reason to look at once; each pane gives one a second at most."""
        await self._nudge.wait()

    async def close(self) -> None:
        """Listen no more; the pipes are taken away."""
        collector, self._collector = self._collector, None
        self._heard, self._by_number = {}, {}
        if collector is not None:
            self._unread(collector)
            await asyncio.to_thread(collector.end)

    def at_the_end(self, line: str) -> None:
        """A line of tmux commands that is given when this process ends, in whatever way, if it listens to anything."""
        if line != self._last_words:
            self._last_words = line
            if self._collector is not None:
                self._collector.tell(0, line)

    def _asks(self, identity: Identity, now: float) -> bool:
        heard = self._heard.get(identity)
        return heard is None or (heard.reader is None and not heard.over and now >= heard.asked_at + AGAIN_S)

    def _started(self, now: float) -> bool:
        """Whether a collector runs; one that could not be started, or was killed, is started again later."""
        if self._collector is not None:
            return True
        if self._failed_at is not None and now < self._failed_at + AGAIN_S:
            return False
        try:
            self._collector = _Collector(self._server)
        except OSError:
            self._failed_at = now
            return False
        if self._last_words:
            self._collector.tell(0, self._last_words)
        asyncio.get_running_loop().add_reader(self._collector.channel, self._read, self._collector)
        return True

    def _unread(self, collector: _Collector) -> None:
        asyncio.get_running_loop().remove_reader(collector.channel)
        self._data.clear()

    def _read(self, collector: _Collector) -> None:
        try:
            data = collector.channel.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:  # it was killed
            self._unread(collector)
            self._collector, self._failed_at = None, time.monotonic()
            self._heard, self._by_number = {}, {}
            collector.end()
            return
        self._data += data
        while len(self._data) >= _HEADER:
            end = _HEADER + int.from_bytes(self._data[5:_HEADER])
            if len(self._data) < end:
                return
            self._frame(bytes(self._data[:1]), int.from_bytes(self._data[1:5]), bytes(self._data[_HEADER:end]))
            del self._data[:end]

    def _frame(self, kind: bytes, number: int, marks: bytes) -> None:
        heard = self._by_number.get(number)
        if heard is None:
            return
        now = time.monotonic()
        if kind == b"B":
            heard.reader = MarksReader()
            return
        if kind == b"M" and heard.reader is not None:
            heard.reader.feed(marks, now)
        else:
            heard.reader, heard.over, heard.asked_at = None, kind == b"E", now
        heard.marks = None
        self._fresh.add(heard.identity.pane)
        if now >= heard.nudged_at + NUDGE_S:
            heard.nudged_at = now
            self._nudge.set()


class _Collector:
    """The process, and the channel to it."""

    def __init__(self, server: Server) -> None:
        """Raises OSError if it cannot be started."""
        folder = tempfile.mkdtemp(prefix="stallkit-")
        if len(folder) > _LONGEST:
            Path(folder).rmdir()
            folder = tempfile.mkdtemp(prefix="stallkit-", dir="/tmp")
        self.folder = Path(folder)
        try:
            self.channel, other = socket.socketpair()
            with other, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
                door.bind(str(self.folder / "door"))
                words = [str(door.fileno()), folder, *server.client]
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _COLLECT, *words],
                    stdin=other.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[door.fileno()],
                    start_new_session=True,  # Ctrl-Z and Ctrl-C at our terminal are not for it
                )
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.channel.setblocking(False)

    def tell(self, number: int, words: str) -> None:
        """What it tells tmux when we have gone."""
        with suppress(OSError):  # it has ended, as will be read
            self.channel.send(f"{number} {words}\n".encode())

    def end(self) -> None:
        """Wait until it has ended, as it does once we have gone."""
        self.channel.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


# --- which panes a supervisor listens to: those whose program in front may report, all, or none ---

Listen = Literal["auto", "all", "never"]

# Beside those of which packs say that they report: `stallkit` wraps any, and the kernel names some of them `node`.
_REPORTERS = frozenset({"node", "stallkit"})


def may_report(seen: Snapshot) -> bool:
    """Whether a program in the foreground may report of itself."""
    reporters = _REPORTERS | installed_engine().words.reporters
    members = seen.kernel.members if seen.kernel else ()
    return seen.foreground in reporters or any(not reporters.isdisjoint(member.names) for member in members)
