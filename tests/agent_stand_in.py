"""A process that is called like an agent and publishes what a test says, below any command."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Sequence

from terminals import wait_for

from stallkit.probes.procfs import stat_of
from stallkit.signals.heard import signals_below
from stallkit.signals.publisher import Publisher

# Beside it nothing reads the terminal; it ends with the shell that started it, or when the test ends it.
SLEEPS = "exec -a {name} sleep 1000"


def installed_agent(folder: Path) -> Path:
    """A program where npm lays Claude Code, so that the kernel proves it to be that; it is Python by another name."""
    program = folder / "node_modules/@anthropic-ai/claude-code/claude"
    program.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(sys.executable).resolve(), program)
    return program


class StandIn:
    """A process called `name` below a command, with a home of its own; `$AGENT` in the command starts it.

    `before` is what its process does in bash before it takes that name.
    """

    def __init__(self, home: Path, command: Sequence[str] = (), name: str = "claude", before: str = "") -> None:
        self.home, self.name = home, name
        script = home / f"start-{Path(name).name}"
        script.write_text(f"#!/bin/bash\n{before}{SLEEPS.format(name=name)}\n")
        script.chmod(0o755)
        environ = {"HOME": str(home), "PATH": os.environ["PATH"], "AGENT": str(script), "TERM": "xterm"}
        words = [word.replace("$AGENT", str(script)) for word in command] or ["bash", "-c", f"{script}; exit 3"]
        self.shell = subprocess.Popen(words, env=environ, start_new_session=True, stdin=subprocess.DEVNULL)
        self.pid = 0
        try:
            wait_for(self._found, f"a process called {name}")
        except AssertionError:
            self.end()
            raise
        self.pid = self._found()[0]
        self.folder = home / ".claude" / "sessions"
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def publisher(self) -> Publisher:
        stat = stat_of(self.pid)
        assert stat is not None
        return Publisher(self.pid, stat)

    @property
    def file(self) -> Path:
        """Its session file, as Claude Code names it."""
        return self.folder / f"{self.publisher.own_pid}.json"

    def says(self, **more: Any) -> None:
        """Write the session file as the process itself would."""
        own = self.publisher
        said = {"pid": own.own_pid, "procStart": str(own.started), "pidDomain": f"linux:0:{own.domain}"}
        said |= {"status": "waiting", "waitingFor": "permission prompt", "updatedAt": time.time() * 1000 - 2000}
        self.file.write_text(json.dumps(said | more))

    def heard(self, leader: int | None = None) -> list[tuple[str | None, str | None]]:
        """State and reason of each signal below the command, or below another process."""
        return [(said.state, said.stale) for said in signals_below(leader or self.shell.pid)]

    def end(self) -> None:
        for pid in self._below():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.shell.kill()
        self.shell.wait()

    def _found(self) -> list[int]:
        found = []
        for pid in self._below():
            with contextlib.suppress(OSError):  # it ended
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(self._argument):
                    found.append(pid)
        return found

    @property
    def _argument(self) -> bytes:
        return f"{self.name}\0".encode()

    def _below(self) -> list[int]:
        """The processes that have its home, by their environment: also those that nothing here started."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if f"HOME={self.home}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found
