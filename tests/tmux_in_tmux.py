"""A tmux client that a person sits at, for tests: attached to one server, in a pane of another."""

from __future__ import annotations

import re
from pathlib import Path

from terminals import Server, wait_for

__all__ = ["Seat"]


class Seat:
    """What a person at a client of a tmux server sees, and what that client sends to its terminal."""

    def __init__(self, watched: Server, folder: Path, term: str = "xterm-256color", session: str = "one") -> None:
        folder.mkdir()
        self._server, self._raw = Server(folder), folder / "raw"
        words = ("env", "-u", "TMUX", f"TERM={term}", "tmux", "-u", "-S", str(watched.socket), "attach", "-t", session)
        self._server.tmux("new-session", "-d", "-s", "seat", "-x", "100", "-y", "24", "sleep", "1000")
        self._server.tmux("pipe-pane", "-t", "seat", f"cat >> {self._raw}")
        self._server.tmux("respawn-pane", "-k", "-t", "seat", *words)
        wait_for(lambda: watched.tmux("list-clients").strip(), "a client")

    @property
    def screen(self) -> str:
        return self._server.tmux("capture-pane", "-p", "-t", "seat")

    @property
    def status(self) -> str:
        """Its last line: the status line of the watched server, or a message in its place."""
        return self.screen.rstrip("\n").rpartition("\n")[2]

    def sees(self, *parts: str) -> str:
        """The first screen with all of these."""
        wait_for(lambda: all(part in self.screen for part in parts), f"{parts} in\n{self.screen}")
        return self.screen

    def press(self, key: str) -> None:
        self._server.tmux("send-keys", "-t", "seat", key)

    @property
    def notices(self) -> list[bytes]:
        """The OSC 9, 99 and 777 that its terminal got."""
        return re.findall(rb"\x1b\](?:9|99|777);[^\x1b\x07]*\x1b\\", self.raw)

    @property
    def raw(self) -> bytes:
        """Everything that its terminal got."""
        return self._raw.read_bytes() if self._raw.exists() else b""

    def end(self) -> None:
        self._server.end()
