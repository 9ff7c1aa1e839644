"""Listening to one tmux pane: its output is piped through a filter, which hands on what the program says of itself.

``pipe-pane`` rather than a client in control mode, although that needs no process a pane: an attached client counts as
somebody who looks (bells, focus, ``destroy-unattached``), one that lags holds the pane's program up, and tmux 3.3a and
3.5a crash if something happens to a session in the milliseconds in which such a client connects.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable

from stallkit.core.marks import Marks, MarksReader
from stallkit.errors import TransportError

__all__ = ["DRAINED", "PanePipe", "pipe_into"]

CHUNK = 65_536  # bytes a read: as many as the pipe holds
DRAINED = "@stallkit_drained"  # a pane option: its pipe serves nothing but `sessions.panes`, and anybody may take it
_FILTER = Path(__file__).with_name("pane_filter.py")


class PanePipe:
    """Gathers `Marks` of one pane (``%3``); what was said before listening began is unknown, and so never among them.

    A pane has one pipe: where the user has one already, nobody listens, and the marks are None.  `run` is one call of
    tmux.  Not for use from several threads at once.
    """

    def __init__(self, run: Callable[[list[str]], str], pane: str) -> None:
        self._run, self._pane = run, pane
        self._folder: str | None = None
        self._pipe = -1
        self._reader = MarksReader()
        self._hears = False  # the filter is there
        self._asked = False

    def heard(self, *, alive: bool) -> Marks | None:
        """What was said up to now, None where nobody hears it; not `alive`: the pane's program ended.

        Begins to listen at the first call, and again where the filter ended before the program: it was read too seldom.
        """
        if not self._asked:
            self._asked = True
            self._start()
        over = self._drain()
        if over and alive:
            self._reader, self._hears, self._asked = MarksReader(), False, not self._hears
        if not self._hears:
            return None
        if not alive:
            self._reader.process_exited()
        return self._reader.marks

    def close(self) -> None:
        """Listen no more, and take the pane's pipe away if it is ours still."""
        if self._hears and not self._drain():
            with suppress(TransportError):  # it ends with its listener in any case, at the pane's next output
                self._run(["pipe-pane", "-t", self._pane])
        self._forget()

    def _forget(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        self._forget_folder()

    def _start(self) -> None:
        self._forget()
        try:
            self._folder = tempfile.mkdtemp(prefix="stallkit-")
            fifo = str(Path(self._folder, "marks"))
            os.mkfifo(fifo, 0o600)
            self._pipe = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._run(pipe_into(self._pane, _FILTER, fifo))
        except (OSError, TransportError):  # no room, or no server: the look itself says so
            self._forget()

    def _drain(self) -> bool:
        """Read what is there; True where nobody will say anything more."""
        while self._pipe >= 0:
            try:
                data = os.read(self._pipe, CHUNK)
            except BlockingIOError:
                return False
            except OSError:
                data = b""
            if not data:  # nobody has opened it yet, or nobody has it open any more
                return self._hears
            if not self._hears:
                self._hears, data = True, data[1:]
                self._forget_folder()
            self._reader.feed(data, time.monotonic())
        return True

    def _forget_folder(self) -> None:
        """Once both ends are open it is not needed, so that nothing is left behind, however we end."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def pipe_into(pane: str, script: Path, fifo: str) -> list[str]:
    """The command of tmux that pipes a pane's output into a script of ours, unless it is piped already.

    The script is run with nothing of ours in its environment, and is given the path of the FIFO that it writes to.
    """
    program = "exec " + shlex.join([sys.executable, "-I", "-S", str(script), fifo])
    taken = f"#{{&&:#{{pane_pipe}},#{{!=:#{{{DRAINED}}},1}}}}"
    take = f"set-option -p -u -t {pane} {DRAINED} ; pipe-pane -O -t {pane} {_quoted(program)}"
    return ["if-shell", "-F", "-t", pane, taken, "", take]


def _quoted(command: str) -> str:
    """A shell command as an argument in a command of tmux, which expands formats and times in it."""
    return '"' + re.sub(r'(["\\$])', r"\\\1", command.replace("#", "##").replace("%", "%%")) + '"'
