"""Runs that go on in the background, each kept by a process of its own: started, asked and listed from any other one.

A run has a folder, readable by its owner alone: the keeper's socket while it runs, its result once it ended.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Callable, Sequence

from stallkit.config import runs_dir
from stallkit.core.redact import redact_all
from stallkit.errors import SessionGone, StoreError, TransportError
from stallkit.transports.base import DEADLINE_S

__all__ = ["RESULT", "SOCKET", "latest", "listing", "request", "save", "start"]

SOCKET, RESULT, ABOUT = "socket", "result.json", "about.json"
KEPT_S = 7 * 86_400.0  # for which the result of a run that ended can be read
MAX_PATH = 107  # bytes of a socket's path (unix(7), sun_path)
START_S = 20.0  # for a keeper to say that it is there: Python's own start on a loaded machine


def start(command: Sequence[str], **wanted: Any) -> str:
    """Start a program under a keeper of its own; gives the run's id.

    `wanted` is what `Run.start` takes, as plain values.  Raises TransportError where the program cannot be started,
    StoreError where there is no room for the run's folder.
    """
    _prune()
    folder = _new_folder()
    about = {"command": list(command), "cwd": str(wanted.get("cwd") or Path.cwd()), "started": _now()}
    save(folder, ABOUT, about)
    with (folder / "keeper.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "stallkit.watch.keeper", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # so that no terminal's hang-up and no Ctrl-C ends it
        )
    assert keeper.stdin is not None and keeper.stdout is not None  # pipes, as asked for
    with keeper.stdin, keeper.stdout:
        with suppress(BrokenPipeError):
            keeper.stdin.write(json.dumps({"command": list(command), **wanted}).encode())
            keeper.stdin.close()
        said = json.loads(keeper.stdout.readline() or "{}")
    if "ready" not in said:
        keeper.wait()
        why = said.get("error") or (folder / "keeper.log").read_text("utf-8", "replace").strip() or "its keeper failed"
        shutil.rmtree(folder, ignore_errors=True)
        raise TransportError(f"run:{folder.name}", why.splitlines()[-1], "check the command")
    return folder.name


def request(
    id: str, asked: dict[str, Any], on_progress: Callable[[float, str], object] | None = None
) -> dict[str, Any]:
    """What a run's keeper answers; of a run that ended, its result.

    Raises SessionGone where there is no such run, or nobody knows how it ended, TransportError for what the keeper
    refuses or where it does not answer.
    """
    folder = runs_dir() / id
    if not id or Path(id).name != id or not folder.is_dir():
        raise SessionGone(f"run:{id}", "there is no such run")
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.settimeout(DEADLINE_S)
            connection.connect(str(folder / SOCKET))
            connection.sendall(json.dumps({**asked, "progress": on_progress is not None}).encode() + b"\n")
            connection.settimeout(None)  # a wait lasts as long as was asked for
            with connection.makefile("rb") as lines:
                for line in lines:
                    said: dict[str, Any] = json.loads(line)
                    if "error" in said:
                        raise TransportError(f"run:{id}", said["error"], "check what was asked")
                    if "progress" not in said:
                        return said
                    if on_progress is not None:
                        on_progress(said["progress"]["seconds"], said["progress"]["line"])
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise TransportError(f"run:{id}", "its keeper does not answer", "try again later") from error
    return _ended(folder)


def latest() -> str:
    """The id of the run that was started last; raises SessionGone where there is none."""
    started = []
    for folder in runs_dir().glob("*/"):
        with suppress(OSError, ValueError):
            started.append((str(json.loads((folder / ABOUT).read_text())["started"]), folder.name))
    if not started:
        raise SessionGone("run:last", "there is no run")
    return max(started)[1]


def listing() -> list[dict[str, Any]]:
    """Every run that is known, the latest first: its id, command, folder, start, and what it does now."""
    found = []
    for folder in runs_dir().glob("*/"):
        with suppress(OSError, ValueError):
            about = json.loads((folder / ABOUT).read_text())
            try:
                now = request(folder.name, {"do": "poll"})
            except TransportError as error:
                now = {"status": "lost", "why": error.why, "exit_status": None, "seconds": None}
            found.append({"id": folder.name, **about, **{name: now[name] for name in _LISTED}})
    return sorted(found, key=lambda run: str(run["started"]), reverse=True)


_LISTED = ("status", "why", "exit_status", "seconds")


def save(folder: Path, name: str, value: dict[str, Any]) -> None:
    """Write a file of a run's folder, redacted, whole or not at all; raises StoreError."""
    try:
        handle, temporary = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w") as file:
            json.dump(redact_all(value), file)
        Path(temporary).replace(folder / name)
    except OSError as error:
        raise StoreError("run", str(folder), error.strerror or str(error), "see whether there is room") from error


def _ended(folder: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads((folder / RESULT).read_text())
    except (OSError, ValueError) as error:
        why = "its keeper is gone, so that the program lost its terminal; how it ended is unknown"
        raise SessionGone(f"run:{folder.name}", why) from error
    return result


def _new_folder() -> Path:
    root = runs_dir()
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            folder = root / f"r{secrets.token_hex(3)}"
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                break
    except OSError as error:
        todo = "set STALLKIT_STATE_DIR to a folder that can be written"
        raise StoreError("run", str(root), error.strerror or str(error), todo) from error
    if len(os.fsencode(folder / SOCKET)) > MAX_PATH:
        folder.rmdir()
        raise StoreError(
            "run", str(root), "its path is too long for a socket", "set STALLKIT_STATE_DIR to a shorter one"
        )
    return folder


def _prune() -> None:
    """Forget the runs that ended long ago."""
    for folder in runs_dir().glob("*/"):
        with suppress(OSError):
            if time.time() - (folder / RESULT).stat().st_mtime > KEPT_S:
                shutil.rmtree(folder, ignore_errors=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
