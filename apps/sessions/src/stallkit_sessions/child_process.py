"""A command in a session of its own: it can ask nobody for a password, and what it starts (ssh) ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Mapping, Sequence


def run_alone(
    command: Sequence[str],
    environment: Mapping[str, str],
    deadline_s: float,
    cwd: str | Path | None = None,
    given: bytes = b"",
) -> subprocess.CompletedProcess[bytes]:
    """Its exit status and what it printed; `given` is its standard input.

    Raises OSError if it cannot be started, subprocess.TimeoutExpired after its deadline: then it has ended.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(given or None, timeout=deadline_s)
        except BaseException:
            end_group(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a child that leads a session of its own, with what it started there."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
