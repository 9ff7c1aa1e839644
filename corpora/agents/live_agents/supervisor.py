"""A real `stallkit watch --service` over all panes of one tmux server, and what it has said so far."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

from attrs import fields_dict
from stallkit_supervisor.settings import WatchSettings

COMMAND = [sys.executable, "-c", "import sys; from stallkit.cli.main import main; sys.argv[0] = 'stallkit'; main()"]
RULES = """\
[policy]
name = "rules"
profile = "careful"

[[policy.rule]]
do = "press"
kind = "permission"
agent = "any"
request.command = ["git status", "make check"]
never = "*rm *"
"""
WATCH = {  # a patient policy acts within a moment, the others look as seldom as they do unless told otherwise
    "daemon": "interval_s = 2\nstall_timeout_s = 6\n",
}


def settings(policy: str, hung_after_s: float) -> str:
    """The file stallkit.toml of a policy."""
    rules = RULES if policy == "rules" else ""
    named = "" if rules else f'policy = "{policy}"\n'
    hung = f"hung_after_s = {hung_after_s:g}\n" if "hung_after_s" in fields_dict(WatchSettings) else ""
    return f"{named}\n[watch]\nall = true\n{hung}{WATCH.get(policy, '')}\n{rules}"


class Supervisor:
    """Started at once; `events` grows, in the order in which they were said."""

    def __init__(self, folder: Path, socket: str, policy: str, hung_after_s: float) -> None:
        self.policy, self.hung_after_s = policy, hung_after_s
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "stallkit.toml"
        config.write_text(settings(policy, hung_after_s))
        state = folder / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        self.events: list[dict[str, Any]] = []
        self._errors = (folder / "supervise.err").open("w")
        self._process = subprocess.Popen(
            [*COMMAND, "watch", "--service", "--config", str(config), "-L", socket],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=folder,
            env={**os.environ, "STALLKIT_STATE_DIR": str(state)},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.events.append(json.loads(line))

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def since(self, target: str, at: float) -> list[dict[str, Any]]:
        """The events about a target from a moment on."""
        return [one for one in list(self.events) if one["target"] == target and seconds(one) >= at]

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reader.join(10)
        self._errors.close()


def seconds(event: dict[str, Any]) -> float:
    """When an event was, in seconds since 1970."""
    return datetime.fromisoformat(event["time"]).timestamp()
