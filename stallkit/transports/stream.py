"""Listening to one tmux pane: a control-mode client beside the user's, which gathers what the program says of itself.

Measured on 3.3a and 3.5a.  The client does not resize (``ignore-size``), brings no environment along (``-E``), never
sends a key, and tmux stops sending to it when it is a second behind (``pause-after``).  That is not enough:

* tmux also stops *reading* a pane, and so holds up its program, while all attached clients are control clients that
  lag behind; at times not even the pause comes then.  A client that takes no output (``no-output``) is never behind, so
  each listener has one at its side.
* A client whose output nobody reads does not leave when it is told to, and the server stays with it.  So a shell waits
  for us to end, however we do, and kills both.

What an attached client changes, however quiet: the session counts as attached, its bells in the current window are
noted no more, and a program that asked for focus reports (mode 1004) is told that it has the focus.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from contextlib import suppress
from typing import Sequence

from stallkit.core.marks import Marks, MarksReader
from stallkit.transports.control import ControlReader, Event, Exited, Output, Paused, Reply, SessionChanged

__all__ = ["PaneStream"]

CHUNK = 65_536  # bytes a read
PIPE_BYTES = 1_048_576  # what waits between two looks; the kernel's own limit for one pipe of a user
PAUSE_AFTER_S = 1  # the least that tmux can count
MOST_PAUSED = 100  # other panes at a time: one command has to fit into one write

# Standard input is the listener's, standard output as well; what stands in for standard error is never written to, and
# closes with us.  A listener that ended before is told by its output: the pids are fresh.
_GUARD = f"""
exec 3<&0 4<&2 2>/dev/null
session=$1; shift
set -- "$@" -C attach-session -E -t "$session" -f
"$@" ignore-size,read-only,no-output <&4 >/dev/null 3<&- 4<&- & beside=$!
"$@" ignore-size,read-only,pause-after={PAUSE_AFTER_S} <&3 3<&- 4<&- & listener=$!
exec </dev/null >/dev/null 3<&-
read -r nothing <&4
kill -9 $listener $beside
wait
"""
_F_SETPIPE_SZ, _F_GETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", None), getattr(fcntl, "F_GETPIPE_SZ", None)


class PaneStream:
    """Gathers `Marks` of one pane; what was said before listening began is unknown, and so never among them.

    Nothing here waits for tmux or raises for what it does: where nobody can listen, the marks are None.  `client` is
    the tmux command with its socket, `pane` the pane's id (``%3``).  Not for use from several threads at once.
    """

    def __init__(self, client: Sequence[str], pane: str) -> None:
        self._command = list(client)
        self._pane = pane
        self._session: str | None = None  # where the clients were started; another one is another start
        self._guard: subprocess.Popen[bytes] | None = None  # with the listener's input and output
        self._life = -1  # what the guard waits on
        self._control = ControlReader()
        self._reader = MarksReader()
        self._hears = False  # what the pane writes comes here, from its first byte to its latest
        self._paused = False
        self._over = False  # the client leaves, or is in another session than the pane
        self._others: set[str] = set()  # panes whose output is of no use here

    def heard(self, session: str, *, alive: bool, may_attach: bool) -> Marks | None:
        """What was said up to now by the pane's program, in the pane's session; None where that is not known.

        Starts to listen if it has not yet and may, ends it where the pane went to another session.  Not `alive`: the
        program ended.
        """
        if session != self._session:
            self.close()
            if not may_attach:
                return None
            self._session = session
            self._start()
        in_time = self._drain()
        self._steer()
        if not self._hears or not in_time:
            return None
        if not alive:
            self._reader.process_exited()
        return self._reader.marks

    def close(self) -> None:
        """End the clients and wait until they are gone; `heard` would start others."""
        self._end()
        self._session = None

    def _start(self) -> None:
        self._control = ControlReader()
        try:
            theirs, self._life = os.pipe()
            try:
                self._guard = subprocess.Popen(
                    ["sh", "-c", _GUARD, "sh", self._session or "", *self._command],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=theirs,
                    bufsize=0,
                    start_new_session=True,  # C-c at our terminal is not for it
                )
            finally:
                os.close(theirs)
        except OSError:  # no descriptors left, or no processes
            self._end()
            return
        commands, output = self._pipes(self._guard)
        os.set_blocking(commands, False)
        os.set_blocking(output, False)
        if _F_SETPIPE_SZ is not None:
            with suppress(OSError):  # the user has many of them already
                fcntl.fcntl(output, _F_SETPIPE_SZ, PIPE_BYTES)

    def _end(self) -> None:
        """Listening came to its end, and is not begun again in this session."""
        self._forget()
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
        if self._guard is not None:
            for pipe in (self._guard.stdin, self._guard.stdout):
                if pipe is not None:
                    pipe.close()
            self._guard.wait()
            self._guard = None

    @staticmethod
    def _pipes(guard: subprocess.Popen[bytes]) -> tuple[int, int]:
        """The descriptors of the listener's input and output."""
        assert guard.stdin is not None and guard.stdout is not None
        return guard.stdin.fileno(), guard.stdout.fileno()

    def _drain(self) -> bool:
        """Read what is there; False where the pipe was full, so that more waits behind it and this is old."""
        if self._guard is None:
            return False
        output = self._pipes(self._guard)[1]
        room = fcntl.fcntl(output, _F_GETPIPE_SZ) if _F_GETPIPE_SZ is not None else CHUNK
        left = room
        while left > 0:
            try:
                data = os.read(output, CHUNK)
            except BlockingIOError:
                return True
            except OSError:
                data = b""
            left -= len(data)
            for event in self._control.feed(data):
                self._take(event)
            if self._over or not data:
                self._end()
                return False
        return False

    def _take(self, event: Event) -> None:
        match event:
            case Output(pane, data) if pane == self._pane:
                self._reader.feed(data, time.monotonic())
            case Output(pane, _):
                self._others.add(pane)
            case Paused(pane) if pane == self._pane:
                self._forget()  # bytes are lost: whatever was known may have been revoked in them
                self._paused = True
            case Reply(lines=lines) if f"%continue {self._pane}".encode() in lines:
                self._hears, self._paused = True, False
            case SessionChanged(session) if session == self._session:
                self._hears = True
            case SessionChanged() | Exited():  # the session was closed: tmux may move its clients to the next one
                self._over = True

    def _steer(self) -> None:
        """Tell tmux what to send: this pane again after a pause, and no others."""
        wanted = [f"{self._pane}:continue"] if self._paused else []
        wanted += [f"{pane}:pause" for pane in sorted(self._others)[:MOST_PAUSED]]
        self._others.clear()
        if self._guard is None or not wanted:
            return
        command = "refresh-client " + " ".join(f"-A '{one}'" for one in wanted)
        try:
            os.write(self._pipes(self._guard)[0], f"{command}\n".encode())
        except BlockingIOError:  # nobody reads: the server is stopped
            pass
        except OSError:
            self._end()

    def _forget(self) -> None:
        self._reader = MarksReader()
        self._hears = self._paused = self._over = False
        self._others.clear()
