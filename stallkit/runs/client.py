"""Runs that go on in the background, each kept by a process of its own: started, asked and listed from any other one.

A run has a folder, readable by its owner alone: the keeper's socket while it runs, its result once it ended.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from stallkit.config import runs_dir
from stallkit.core.redact import redact_all
from stallkit.errors import SessionGone, StoreError, TransportError
from stallkit.transports.base import DEADLINE_S

__all__ = ["RESULT", "SOCKET", "latest", "listing", "request", "save", "start", "told"]

SOCKET, RESULT, ABOUT = "socket", "result.json", "about.json"
KEPT_S = 7 * 86_400.0  # for which the result of a run that ended can be read
MAX_PATH = 107  # bytes of a socket's path (unix(7), sun_path)
MAX_REQUEST = 1_000_000  # bytes: an answer is a line, not a file
AGAIN_S = 0.05  # between two looks for a keeper that ends
START_S = 20.0  # for a keeper to say that it is there: Python's own start on a loaded machine
ANSWER_S = 20.0  # for a keeper to say something: while a wait lasts, it tells every second that it does
_ID = re.compile(r"[\w-]{1,64}", re.ASCII)


def start(command: Sequence[str], *, events: Mapping[str, str] | None = None, **wanted: Any) -> str:
    """Start a program under a keeper of its own; gives the run's id.

    `wanted` is what `Run.start` takes, as plain values; `events` is where its events go, as ``[events]`` of the
    settings has it: `file`, `exec`, `webhook`.  Raises TransportError where the program cannot be started, StoreError
    where there is no room for the run's folder.
    """
    _prune()
    folder = _new_folder()
    try:
        save(folder, ABOUT, _about(command, wanted.get("cwd")))
        said = _keep(folder, {"command": list(command), "events": dict(events or {}), **wanted})
        if "ready" not in said:
            why = said.get("error") or (folder / "keeper.log").read_text("utf-8", "replace").strip()
            raise TransportError(
                f"run:{folder.name}", (why or "its keeper failed").splitlines()[-1], "check the command"
            )
    except Exception:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder.name


def told(command: Sequence[str]) -> list[str]:
    """A command's words without its secrets; looked at together, since one word may name what the next one is."""
    return str(redact_all("\x1f".join(command))).split("\x1f")


def _about(command: Sequence[str], cwd: object) -> dict[str, Any]:
    return {"command": told(command), "cwd": str(cwd or Path.cwd()), "started": _now()}


def _keep(folder: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """Start a keeper; gives what it says of its start."""
    with (folder / "keeper.log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-P", "-m", "stallkit.runs.background", str(folder)],  # -P: nothing is imported from here
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # so that no terminal's hang-up and no Ctrl-C ends it
        )
    assert keeper.stdin is not None and keeper.stdout is not None  # pipes, as asked for
    said: dict[str, Any] = {}
    try:
        with keeper.stdin, keeper.stdout:
            with suppress(BrokenPipeError):
                keeper.stdin.write(json.dumps(wanted).encode())
                keeper.stdin.close()
            ready = select.poll()
            ready.register(keeper.stdout, select.POLLIN)
            if not ready.poll(START_S * 1_000):
                raise TransportError(f"run:{folder.name}", f"its keeper says nothing for {START_S:g} s", "try again")
            said = json.loads(keeper.stdout.readline() or "{}")
    finally:
        if "ready" not in said:  # also where somebody pressed Ctrl-C
            keeper.terminate()
            with suppress(subprocess.TimeoutExpired):
                keeper.wait(DEADLINE_S)
            keeper.kill()
            keeper.wait()
    return said


def request(
    id: str, asked: dict[str, Any], on_progress: Callable[[float, str], object] | None = None
) -> dict[str, Any]:
    """What a run's keeper answers; of a run that ended, its result.

    Raises SessionGone where there is no such run, or nobody knows how it ended, TransportError for what the keeper
    refuses or where it does not answer.
    """
    folder = runs_dir() / id
    if not _ID.fullmatch(id) or not folder.is_dir():
        raise SessionGone(f"run:{id}", "there is no such run")
    line = json.dumps({**asked, "progress": True}).encode() + b"\n"
    if len(line) > MAX_REQUEST:
        raise TransportError(f"run:{id}", f"{len(line):,} bytes are no answer", f"give less than {MAX_REQUEST:,}")
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.settimeout(DEADLINE_S)
            connection.connect(str(folder / SOCKET))
            connection.sendall(line)
            connection.settimeout(ANSWER_S)
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
            if isinstance(error, (TimeoutError, BlockingIOError)):  # the latter where too many ask at once
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
    """The result of a run whose keeper did not answer; one that is being killed is there for a moment still."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        try:
            result: dict[str, Any] = json.loads((folder / RESULT).read_text())
        except (OSError, ValueError) as error:
            if not _kept(folder):
                why = "its keeper is gone, so that the program lost its terminal; how it ended is unknown"
                raise SessionGone(f"run:{folder.name}", why) from error
            if time.monotonic() >= deadline:
                raise TransportError(f"run:{folder.name}", "its keeper broke off", "ask again") from error
            time.sleep(AGAIN_S)
        else:
            return result


def _kept(folder: Path) -> bool:
    """Whether somebody is at a run's socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        try:
            connection.connect(str(folder / SOCKET))
        except OSError as error:
            return isinstance(error, (TimeoutError, BlockingIOError))
    return True


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
    """Forget the runs that ended long ago, and those that lost their keeper then."""
    for folder in runs_dir().glob("*/"):
        with suppress(OSError):
            ended = folder / RESULT
            known = ended if ended.exists() else folder / ABOUT
            if time.time() - known.stat().st_mtime > KEPT_S and not _kept(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
