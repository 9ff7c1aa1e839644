"""Listening to one tmux pane: its output goes through a filter, which passes on what the program reports of itself.

``pipe-pane`` rather than a client in control mode, although that needs no process for each pane: an attached client
counts as a viewer (bells, focus, ``destroy-unattached``), one that lags holds up the pane's program, and tmux 3.3a and
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

from stallkit.errors import TransportError
from stallkit.terminal.marks import Marks, MarksReader

__all__ = ["DRAINED", "PanePipe", "pipe_into"]

CHUNK = 65_536  # bytes a read: the pipe's capacity
DRAINED = "@stallkit_drained"  # a pane option: its pipe is that of a session that was started, and may be replaced
_FILTER = Path(__file__).with_name("pane_filter.py")


class PanePipe:
    """Gathers `Marks` of one pane (``%3``), from when listening begins; what was reported before is unknown.

    A pane has one pipe: where the user has one already, the marks are None.  `run` is one call of tmux.  Not for use
    from several threads at once.
    """

    def __init__(self, run: Callable[[list[str]], str], pane: str) -> None:
        self._run, self._pane = run, pane
        self._folder: str | None = None
        self._pipe = -1
        self._reader = MarksReader()
        self._hears = False  # the filter runs
        self._asked = False

    def heard(self, *, alive: bool) -> Marks | None:
        """The marks up to now, None where there is no filter; not `alive`: the pane's program ended.

        Begins to listen at the first call, and again where the filter ended before the program: it was read too rarely.
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
        """Stop listening, and remove the pane's pipe if it is still ours."""
        if self._hears and not self._drain():
            with suppress(TransportError):  # without this call it ends at the pane's next output
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
        except (OSError, TransportError):  # no space, or no server: the look itself reports it
            self._forget()

    def _drain(self) -> bool:
        """Read pending marks; True where no more can come."""
        while self._pipe >= 0:
            try:
                data = os.read(self._pipe, CHUNK)
            except BlockingIOError:
                return False
            except OSError:
                data = b""
            if not data:  # the filter has not opened it yet, or has closed it
                return self._hears
            if not self._hears:
                self._hears, data = True, data[1:]
                self._forget_folder()
            self._reader.feed(data, time.monotonic())
        return True

    def _forget_folder(self) -> None:
        """Remove the FIFO's folder: once both ends are open it is not needed, and nothing is left behind."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def pipe_into(pane: str, script: Path, *words: str) -> list[str]:
    """The tmux command that pipes a pane's output into a script of ours, unless it is piped already.

    The script runs without our environment, and gets these words, such as the path of the FIFO that it writes to.
    """
    program = "exec " + shlex.join([sys.executable, "-I", "-S", str(script), *words])
    taken = f"#{{&&:#{{pane_pipe}},#{{!=:#{{{DRAINED}}},1}}}}"
    take = f"set-option -p -u -t {pane} {DRAINED} ; pipe-pane -O -t {pane} {_quoted(program)}"
    return ["if-shell", "-F", "-t", pane, taken, "", take]


def _quoted(command: str) -> str:
    """A shell command as an argument of a tmux command, which expands formats and times in it."""
    return '"' + re.sub(r'(["\\$])', r"\\\1", command.replace("#", "##").replace("%", "%%")) + '"'
