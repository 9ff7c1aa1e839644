"""A gpg-agent of the tests' own: one that gpg starts by itself would outlive them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path


class Agent:
    """A private GNUPGHOME with its agent, which asks through pinentry-curses."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self.environment = {"GNUPGHOME": str(folder)}
        pinentry = ["--pinentry-program", "/usr/bin/pinentry-curses"]
        self._run("gpg-agent", "--homedir", str(folder), *pinentry, "--daemon")  # returns once it listens
        told = self._run("gpg-connect-agent", "--homedir", str(folder), "getinfo pid", "/bye")
        self._pid = int(told.split()[1])  # D PID

    def _run(self, *command: str) -> str:
        null = subprocess.DEVNULL  # the agent keeps what it is given open
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=null, text=True, timeout=20).stdout

    def close(self) -> None:
        """End it and its pinentries, which ask on even when nobody would hear the answer."""
        threads = Path(f"/proc/{self._pid}/task").glob("*/children")
        pinentries = [int(pid) for children in threads for pid in children.read_text().split()]
        for pid in (self._pid, *pinentries):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
