"""The terminal in which stallkit runs, as a place for notices."""

from __future__ import annotations

import os
import sys
from typing import IO, Callable, Mapping

from stallkit.errors import TransportError
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import Server
from stallkit_supervisor.notify.cloud_event import CloudEvent
from stallkit_supervisor.notify.notice import CLEARED, Notice
from stallkit_supervisor.notify.terminal_codes import Code, codes, in_tmux, osc_of, taken_away

__all__ = ["Terminal", "own_terminal"]

_CLIENT = "#{client_activity} #{client_termname} #{client_termtype}"


class Terminal:
    """Shows notices by OSC 9, 777 or 99, or rings the bell; `code` None is by what the terminal is called.

    Inside tmux the sequences go through to the client's terminal where the option ``allow-passthrough`` is on; where it
    is off, tmux itself hears the bell.  What is written moves no cursor and changes no cell.
    """

    def __init__(
        self,
        code: Code | None = None,
        write: Callable[[bytes], None] | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`write` gets the bytes; None is the terminal of standard output or error, if one of them is one."""
        self.name = "terminal"
        self._code, self._environment = code, environment
        self._write = write or own_terminal()

    def deliver(self, said: CloudEvent) -> str:
        if self._write is None:
            raise OSError("neither standard output nor error is a terminal")
        notice, (code, how) = Notice.of(said.event), self._how()
        data = taken_away(notice, code) if said.event.name == CLEARED else codes(notice, code)
        if data:
            self._write(in_tmux(data) if self._tmux else data)
        return f"{how} was written" if data else f"nothing to take away by {how}"

    def close(self) -> None:
        pass

    @property
    def _tmux(self) -> str:
        """The socket of the tmux server that it runs in; empty outside of tmux."""
        return self._environment.get("TMUX", "").partition(",")[0]

    def _how(self) -> tuple[Code, str]:
        """The sequence for the terminal as it is now, and what to call it: another client may be attached."""
        if not self._tmux:
            code = self._code or osc_of(self._environment)
            return code, _named(code)
        kept, client = self._client()
        code = self._code or osc_of(self._environment, client)
        return ("bell", f"a bell ({kept})") if kept and code != "bell" else (code, _named(code))

    def _client(self) -> tuple[str, str]:
        """Why tmux hands no sequence through from here, or nothing; and what the latest client's terminal is called."""
        pane, server = self._environment.get("TMUX_PANE", ""), Server(Options(tmux_socket_path=self._tmux))
        try:
            place = server.run("tmux", ["display-message", "-p", "-t", pane, "#{session_id} #{window_active}"])
            session, active = place.split()
            passes = server.run("tmux", ["show-options", "-Apv", "-t", pane, "allow-passthrough"]).strip()
            clients = server.run("tmux", ["list-clients", "-t", session, "-F", _CLIENT]).splitlines()
        except (TransportError, ValueError):
            return "tmux does not answer", ""
        latest = max(clients, default="", key=lambda line: int(line.split(" ", 1)[0]))
        if passes == "all" or (passes == "on" and active == "1"):
            return "", latest.partition(" ")[2]
        kept = "this window is not shown" if passes == "on" else "allow-passthrough is off"
        return f"tmux: {kept}", latest.partition(" ")[2]


def own_terminal() -> Callable[[bytes], None] | None:
    """What writes to the terminal of standard output or error; None where neither is one.

    A whole sequence is one write through the stream's own buffer, which is locked meanwhile: it stands before or
    after what others print, never within.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and stream.isatty() and hasattr(stream, "buffer"):
            buffer: IO[bytes] = stream.buffer

            def write(data: bytes, buffer: IO[bytes] = buffer) -> None:
                buffer.write(data)
                buffer.flush()

            return write
    return None


def _named(code: Code) -> str:
    return "a bell" if code == "bell" else code.upper().replace("OSC", "OSC ")
