"""Runs in background processes, one each: started, asked and listed from any other process.

A run has a folder that only its owner can read: with a socket while it runs, with its result once it has ended.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from stallkit_wrap.relay.driver import wrapped

from stallkit import daemon, private
from stallkit.config import runs_dir
from stallkit.daemon_socket import ANSWER_S, DaemonError, DaemonGone, DaemonRefused, DaemonSilent, listens, stream
from stallkit.errors import SessionGone, StoreError, TransportError
from stallkit.redact.redact import redact_all, redact_words
from stallkit.signals.collect import command_with_signals, remove_files

SOCKET, RESULT, ABOUT, LOG = "socket", "result.json", "about.json", "keeper.log"
KEPT_S = 7 * 86_400.0  # how long the result of an ended run is kept, and how long one goes on that nobody asks for
ENDS_S, AGAIN_S = 2.0, 0.05  # for a killed background process to be gone; between two looks for that
_ID = re.compile(r"[\w-]{1,64}", re.ASCII)


def start(
    command: Sequence[str],
    *,
    events: Mapping[str, str] | None = None,
    wrap: bool = False,
    hooks: bool = False,
    **options: Any,
) -> str:
    """Start a program in a background process of its own, perhaps behind a `stallkit wrap`; returns the run's id.

    With `hooks` an agent says more of itself.  `options` are those of `Run.start`, as plain values; `events` is where
    its events go, with the keys of ``[events]`` in the settings: `file`, `exec`, `webhook`.  Raises TransportError
    if the program cannot be started, StoreError if the run's files cannot be made.
    """
    _prune()
    folder = _new_folder()
    try:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        at = str(options.get("cwd") or Path.cwd())
        # Redacted together, since one word may name what the next one is.
        save(folder, ABOUT, {"command": redact_words(command), "cwd": at, "started": now})
        words = _with_signals(command, folder) if hooks else list(command)
        payload = {"command": wrapped(words) if wrap else words, "events": dict(events or {}), **options}
        daemon.start("stallkit_sessions.runs.background", str(folder), log=folder / LOG, payload=payload, cwd=None)
    except DaemonError as error:
        _remove(folder)
        raise TransportError(f"run:{folder.name}", error.why, "check the command") from error
    except Exception:
        _remove(folder)
        raise
    return folder.name


def _remove(folder: Path) -> None:
    """Remove what a run left: its folder, and the files of its hooks."""
    remove_files(folder.name)
    shutil.rmtree(folder, ignore_errors=True)


def _with_signals(command: Sequence[str], folder: Path) -> list[str]:
    try:
        return command_with_signals(command, folder.name)
    except OSError as error:
        why = f"its hooks cannot be written: {error}"
        raise StoreError("run", folder.name, why, "start it without --hooks") from error


def request(
    id: str,
    asked: dict[str, Any],
    on_progress: Callable[[float, str], object] | None = None,
    answer_s: float = ANSWER_S,
) -> dict[str, Any]:
    """The answer of a run's background process; for a run that ended, its result.

    Raises SessionGone if there is no such run, or how it ended is unknown, TransportError if the request is
    refused, or no answer begins within `answer_s`.
    """
    folder = runs_dir() / id
    if not _ID.fullmatch(id) or not folder.is_dir():
        raise SessionGone(f"run:{id}", "there is no such run")
    try:
        for reply in stream(folder / SOCKET, {**asked, "progress": True}, answer_s):
            if "progress" not in reply:
                return reply
            if on_progress is not None:
                on_progress(reply["progress"]["seconds"], reply["progress"]["line"])
    except DaemonRefused as error:
        raise TransportError(f"run:{id}", error.why, "check the request") from error
    except DaemonSilent as error:
        raise TransportError(f"run:{id}", "its background process does not answer", "try again later") from error
    except DaemonGone:
        pass
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
    """Every known run, the latest first: its id, command, folder, start, and what it does now."""
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
        raise StoreError("run", str(folder), error.strerror or str(error), "check for free space") from error


def _ended(folder: Path) -> dict[str, Any]:
    """The result of a run whose socket does not answer; a killed process may still exist for a moment."""
    deadline = time.monotonic() + ENDS_S
    while True:
        try:
            result: dict[str, Any] = json.loads((folder / RESULT).read_text())
        except (OSError, ValueError) as error:
            if not listens(folder / SOCKET):
                why = "its background process is gone, so the program lost its terminal; how it ended is unknown"
                raise SessionGone(f"run:{folder.name}", why) from error
            if time.monotonic() >= deadline:
                raise TransportError(f"run:{folder.name}", "its background process broke off", "ask again") from error
            time.sleep(AGAIN_S)
        else:
            return result


def _new_folder() -> Path:
    root = runs_dir()
    try:
        private.folder(root.parent)
        private.folder(root)
        while True:
            folder = root / f"r{secrets.token_hex(3)}"
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                break
    except OSError as error:
        todo = "set STALLKIT_STATE_DIR to a writable folder"
        raise StoreError("run", str(root), error.strerror or str(error), todo) from error
    return folder


def _prune() -> None:
    """Delete the runs that ended long ago, and those whose background process was killed long ago."""
    for folder in runs_dir().glob("*/"):
        with suppress(OSError):
            ended = folder / RESULT
            known = ended if ended.exists() else folder / ABOUT
            if time.time() - known.stat().st_mtime > KEPT_S and not listens(folder / SOCKET):
                _remove(folder)
