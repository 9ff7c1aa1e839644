"""What tests of the queue at real sessions share: `stallkit` over one tmux server and one state directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Sequence

from terminals import Server, wait_for

COMMAND = str(Path(sys.executable).parent / "stallkit")


class Desk:
    """A person's desk: commands in a folder of its own, and what they started; `command` is how stallkit is called."""

    def __init__(self, folder: Path, server: Server | None = None, command: Sequence[str] = (COMMAND,)) -> None:
        self.folder, self.server, self.command = folder, server, command
        self.environment = {**os.environ, "STALLKIT_STATE_DIR": str(folder / "state"), "COLUMNS": "100"}
        for name in ("TMUX", "STALLKIT_TMUX", "NOTIFY_SOCKET", "WATCHDOG_USEC"):
            self.environment.pop(name, None)
        self.environment["XDG_CONFIG_HOME"] = str(folder / "config")
        self.started: list[subprocess.Popen[bytes]] = []

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *words],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """A command that runs on; its output goes to the file ``out``."""
        with (self.folder / "out").open("a") as out:
            made = subprocess.Popen(
                [*self.command, *words], env=self.environment, cwd=self.folder, stdout=out, stderr=out
            )
        self.started.append(made)
        return made

    def watch(self, *targets: str) -> subprocess.Popen[bytes]:
        assert self.server is not None
        return self.begin("watch", *targets, "--policy", "observe", "--json", "-S", str(self.server.socket))

    def items(self, *words: str) -> list[dict[str, Any]]:
        done = self("stuck", "list", "--json", *words)
        assert done.stdout, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)["items"]
        return found

    def item(self, **wanted: str) -> dict[str, Any]:
        """The first item that is listed with these facts."""
        found: list[dict[str, Any]] = []

        def listed() -> bool:
            found[:] = [one for one in self.items("--all") if wanted.items() <= one.items()]
            return bool(found)

        wait_for(listed, f"an item with {wanted}")
        return found[0]

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.wait()
