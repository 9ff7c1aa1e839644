"""The terminal in which stallkit runs, as a place for notices."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
from typing import IO, Callable, Literal, Mapping

from stallkit.errors import TransportError
from stallkit.transports.base import Options
from stallkit.transports.tmux.call import Server
from stallkit_supervisor.notify.hooks import CloudEvent
from stallkit_supervisor.notify.notice import CLEARED, Notice

# --- how a terminal is asked to show a notice ---

Code = Literal["osc9", "osc99", "osc777", "bell"]
CODES: tuple[Code, ...] = ("osc9", "osc99", "osc777", "bell")
BELL = b"\a"
_ST = b"\x1b\\"
# Parts of the names of terminals whose documentation has that sequence, in this order.
_KNOWN: tuple[tuple[str, Code], ...] = (
    ("kitty", "osc99"),
    ("ghostty", "osc777"),
    ("wezterm", "osc777"),
    ("foot", "osc777"),
    ("rxvt-unicode", "osc777"),
    ("contour", "osc777"),
    ("iterm", "osc9"),
    ("warp", "osc9"),
)
_NAMES = ("TERM_PROGRAM", "LC_TERMINAL", "TERM")


def osc_of(environment: Mapping[str, str], client: str | None = None) -> Code:
    """The sequence for a terminal; `client` is what tmux says of its own one, else the environment counts."""
    names = [client] if client is not None else [environment.get(name, "") for name in _NAMES]
    said = " ".join(names).lower()
    return next((code for name, code in _KNOWN if name in said), "bell")


def codes(notice: Notice, code: Code) -> bytes:
    """The bytes that show a notice, which has no control characters."""
    match code:
        case "osc9":  # a number first would be another command, as 9;4 is
            return b"\x1b]9;" + _text(f"stallkit: {notice.line}") + _ST
        case "osc777":  # a ; ends the title
            title, body = notice.title.replace(";", ","), notice.body or notice.title
            return b"\x1b]777;notify;" + _text(title) + b";" + _text(body) + _ST
        case "osc99":
            parts = [("title", "0", notice.title), ("body", "1", notice.body)]
            return b"".join(
                f"\x1b]99;i={_id(notice)}:d={done}:e=1:p={part};".encode() + base64.b64encode(_text(text)) + _ST
                for part, done, text in parts
            )
        case "bell":
            return BELL


def taken_away(notice: Notice, code: Code) -> bytes:
    """The bytes that take an earlier notice of the same key away; nothing where the terminal has no way to do that."""
    return f"\x1b]99;i={_id(notice)}:p=close;".encode() + _ST if code == "osc99" else b""


def in_tmux(data: bytes) -> bytes:
    r"""A sequence as tmux hands it through to its terminal; a bell needs none of that.

    >>> in_tmux(b"\x1b]9;x\x1b\\")
    b'\x1bPtmux;\x1b\x1b]9;x\x1b\x1b\\\x1b\\'
    """
    return data if data == BELL else b"\x1bPtmux;" + data.replace(b"\x1b", b"\x1b\x1b") + _ST


def _text(text: str) -> bytes:
    """Text as bytes, without anything that could end the sequence, whoever made it."""
    return "".join(char for char in text if char.isprintable()).encode("utf-8", "replace")


def _id(notice: Notice) -> str:
    """The same for each notice of a session, and of harmless characters."""
    return "stallkit-" + hashlib.sha256(notice.key.encode("utf-8", "replace")).hexdigest()[:16]


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
