"""How commands ask the supervisors that run, each at its own socket in the state directory (`supervisor_socket`).

for event in events(sockets()[0]):
    print(event["event"], event["target"])
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator

from stallkit.config import state_dir
from stallkit.daemon_client import DaemonGone, DaemonRefused, DaemonSilent, ask, stream
from stallkit.probes.procfs import Process

__all__ = ["events", "own_socket", "remove_dead", "sockets", "statuses", "verdict"]

ANSWER_S = 2.0
LINE_S = 20.0  # between two lines of events: four times as long as a supervisor is silent


def own_socket(folder: Path) -> Path:
    """The path of this process's socket."""
    return folder / f"supervisor-{os.getpid()}.sock"


def sockets(folder: Path | None = None) -> list[Path]:
    """The sockets of all supervisors, also of those that were killed."""
    return sorted((folder or state_dir()).glob("supervisor-*.sock"))


def remove_dead(folder: Path | None = None) -> bool:
    """Remove the sockets of supervisors that were killed; whether there were any."""
    dead = [path for path in sockets(folder) if _ended(path)]
    for path in dead:
        path.unlink(missing_ok=True)
    return bool(dead)


def statuses(folder: Path | None = None, answer_s: float = ANSWER_S) -> list[dict[str, Any]]:
    """What each running supervisor says of itself and its sessions.

    Raises DaemonSilent where one does not answer within `answer_s` seconds.
    """
    found = []
    for path in sockets(folder):
        with suppress(DaemonGone):
            found.append(ask(path, {"do": "status"}, answer_s))
    return found


def verdict(target: str, folder: Path | None = None, answer_s: float = ANSWER_S) -> dict[str, Any] | None:
    """The verdict of the last look at a session, by the first supervisor that watches it; None where none does."""
    for path in sockets(folder):
        with suppress(DaemonGone, DaemonRefused, DaemonSilent):
            return ask(path, {"do": "verdict", "target": target}, answer_s)
    return None


def events(path: Path, line_s: float = LINE_S) -> Iterator[dict[str, Any]]:
    """Each event of the supervisor at a socket from now on, as in its log, until it ends.

    Raises DaemonGone where it was killed, DaemonSilent where it hangs, DaemonRefused where this client read too slowly.
    """
    for line in stream(path, {"do": "events"}, line_s):
        event = line.get("progress")
        if event is not None:
            yield event


def _ended(path: Path) -> bool:
    pid = path.stem.partition("-")[2]
    return not pid.isdecimal() or Process.of(int(pid)) is None
