"""The one process that reads what many panes print, passes on what their programs report of themselves, drops the rest.

It is a process of its own so that a supervisor that is stopped or busy makes no tmux server keep what is printed, and
so that nothing is left behind if one is killed: then it gives tmux the last words that it got for each pane
that is still its own, and ends.

Panes come as datagrams at a socket: a number, and with it the pipe (`hand_over`).  Standard input and output is the
supervisor's channel.  To the supervisor: a kind, the pane's number, a length, the marks.  From it: lines of a number
and the tmux command that must be given at the end; 0 is for what must be said in any case.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

from stallkit.terminal.osc_stream import RESET, OscReader

CHUNK = 65_536  # bytes a read
ROOM = 65_536  # bytes of marks that wait for the supervisor, a pane: who reports more is no longer listened to
PACE_S = 0.05  # between two deliveries: a program that reports without end costs the supervisor no more than that
DEADLINE_S = 2.0  # for tmux to take the last words
BEGAN, MARKS, ENDED, LOST = b"B", b"M", b"E", b"L"
_BELL = b"\x07"
# What terminal/marks.py reads; tmux knows the title.
_MARKS = (b"\x1b]7501;", b"\x1b]133;", b"\x1b]633;", b"\x1b]9;", b"\x1b]99;", b"\x1b]777;")


class _Pane:
    def __init__(self, number: int) -> None:
        self.number = number
        self.reader = OscReader()
        self.marks = bytearray()


class Collector:
    """Panes come in at `door`, marks go out at `channel`, until the supervisor at its other end has gone."""

    def __init__(self, channel: socket.socket, door: socket.socket) -> None:
        self._channel, self._door = channel, door
        channel.setblocking(False)
        door.setblocking(False)
        self._panes: dict[int, _Pane] = {}  # by the descriptor of their pipe
        self._words: dict[int, bytes] = {}  # the last ones, by a pane's number
        self._said, self._out = b"", bytearray()
        self._passed_at = 0.0
        self._ready = select.poll()
        for one in (channel, door):
            self._ready.register(one, select.POLLIN)

    def run(self) -> None:
        while True:
            for descriptor, events in self._ready.poll(self._pause_ms()):
                if descriptor == self._channel.fileno():
                    if events & ~select.POLLOUT and not self._told():
                        return
                elif descriptor == self._door.fileno():
                    self._take()
                else:
                    self._read(descriptor)
            if not self._pass_on():
                return

    def last_words(self) -> list[bytes]:
        """What tmux must hear of the panes whose pipe is still ours, and in any case."""
        over = {descriptor for descriptor, events in self._ready.poll(0) if events & select.POLLHUP}
        numbers = [0, *(pane.number for descriptor, pane in self._panes.items() if descriptor not in over)]
        return [self._words[number] for number in numbers if number in self._words]

    def _pause_ms(self) -> float | None:
        """How long nothing has to be done, unless something comes."""
        if self._out or not any(pane.marks for pane in self._panes.values()):
            return None
        return max(0.0, self._passed_at + PACE_S - time.monotonic()) * 1_000 + 1

    def _told(self) -> bool:
        """Hear the supervisor; False if it has gone."""
        try:
            data = self._channel.recv(CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        *lines, self._said = (self._said + data).split(b"\n")
        for line in lines:
            number, _, words = line.partition(b" ")
            self._words[int(number)] = words
        return bool(data)

    def _take(self) -> None:
        """Take a pane's pipe."""
        try:
            data, pipes, *_ = socket.recv_fds(self._door, 100, 1)
        except OSError:
            return
        expected = data.isdigit() and int(data) in self._words
        if not pipes or not expected or int(data) in {pane.number for pane in self._panes.values()}:
            for pipe in pipes:
                os.close(pipe)
            return
        os.set_blocking(pipes[0], False)
        self._panes[pipes[0]] = _Pane(int(data))
        self._ready.register(pipes[0], select.POLLIN)
        self._frame(BEGAN, int(data))

    def _read(self, descriptor: int) -> None:
        pane = self._panes[descriptor]
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        for piece in pane.reader.feed(data):
            if piece == RESET or piece.startswith(_MARKS):
                pane.marks += piece
            elif piece.startswith(_BELL) and not pane.marks.endswith(_BELL):
                pane.marks += _BELL  # one for many
        if not data or len(pane.marks) > ROOM:
            self._ready.unregister(descriptor)
            os.close(descriptor)
            del self._panes[descriptor], self._words[pane.number]
            self._frame(LOST if data else ENDED, pane.number)

    def _pass_on(self) -> bool:
        """Pass marks on to the supervisor, as far as it takes them; False if it has gone."""
        now = time.monotonic()
        if not self._out and now >= self._passed_at + PACE_S:
            self._passed_at = now
            for pane in self._panes.values():
                if pane.marks:
                    self._frame(MARKS, pane.number, bytes(pane.marks))
                    pane.marks.clear()
        try:
            while self._out:
                del self._out[: self._channel.send(self._out)]
        except BlockingIOError:
            pass
        except OSError:
            return False
        self._ready.modify(self._channel, select.POLLIN | (select.POLLOUT if self._out else 0))
        return True

    def _frame(self, kind: bytes, number: int, marks: bytes = b"") -> None:
        self._out += kind + number.to_bytes(4) + len(marks).to_bytes(4) + marks


def main() -> None:
    """Collect for one supervisor; the words are the door's descriptor and folder, and the client of its tmux server."""
    _, door, folder, *client = sys.argv
    collector = Collector(socket.socket(fileno=0), socket.socket(fileno=int(door)))
    try:
        collector.run()
        words = b"\n".join(collector.last_words())
        if words:
            given = [*client, "source-file", "-"]
            subprocess.run(given, input=words + b"\n", capture_output=True, timeout=DEADLINE_S, check=False)
    except (OSError, subprocess.SubprocessError):  # no tmux any more: nothing is left there either
        sys.exit(1)
    finally:
        for name in ("door", ""):
            path = Path(folder, name)
            path.rmdir() if not name else path.unlink(missing_ok=True)
