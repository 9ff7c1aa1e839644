"""Real tmux servers for tests: private sockets, conditions instead of sleeps, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Callable

from stallkit.core.verdict import Snapshot
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

PATIENCE_S = 20.0  # before a condition is given up: a loaded machine is slow, not wrong


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Return as soon as the condition holds; raise AssertionError if it does not come true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"gave up waiting for {what}"
        time.sleep(0.02)


class Server:
    """One private tmux server; its sessions end with it."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "tmux.sock"
        self.options = Options(tmux_socket_path=str(self.socket))
        self._folder = folder
        self._config = folder / "tmux.conf"
        self._config.write_text("set -g remain-on-exit on\n")  # an end is seen, and the server outlives it
        self._environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "HOME": str(folder)}
        self._environment.pop("TMUX", None)

    def tmux(self, *command: str) -> str:
        """What one tmux command prints; raises if it fails."""
        client = ["tmux", "-u", "-f", str(self._config), "-S", str(self.socket)]
        done = subprocess.run(
            [*client, *command],
            env=self._environment,
            cwd=self._folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert done.returncode == 0, f"tmux {command[0]}: {done.stderr}"
        return done.stdout

    def start(self, name: str, *command: str, shows: str = "", size: tuple[int, int] = (80, 24)) -> TmuxTransport:
        """A session that runs a command (argv, no shell), once its screen shows a text."""
        width, height = map(str, size)
        self.tmux("new-session", "-d", "-s", name, "-x", width, "-y", height, *command)
        transport = TmuxTransport(name, self.options)
        self.wait(transport, shows)
        return transport

    def wait(self, transport: TmuxTransport, shows: str) -> Snapshot:
        """The first look that shows a text."""
        looks: list[Snapshot] = []

        def shown() -> bool:
            looks.append(transport.capture())
            return shows in looks[-1].screen.text

        wait_for(shown, f"{shows!r} in {transport.target}, which shows {looks[-1:]}")
        return looks[-1]

    @property
    def pid(self) -> int:
        return int(self.tmux("display-message", "-p", "#{pid}"))

    def end(self) -> None:
        """End the server and everything in it, also what outlives the loss of its terminal (make does)."""
        if not self.socket.exists():
            return
        with contextlib.suppress(AssertionError):  # it may have ended by itself
            groups = [int(pid) for pid in self.tmux("list-panes", "-a", "-F", "#{pane_pid}").split()]
            self.tmux("kill-server")
            for group in groups:
                if group <= 0:  # a pane without a process: 0 would be our own group
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)
