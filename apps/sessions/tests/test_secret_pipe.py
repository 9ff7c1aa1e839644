"""Variables in a pipe: once, whole, and not after their giver has gone."""

from __future__ import annotations

import subprocess
import sys

import pytest
from stallkit_sessions.launch import SecretPipe, sourced

from stallkit.errors import StartRefused


def test_a_giver_that_was_killed_starts_nothing() -> None:
    code = (
        "import os, signal, subprocess\n"
        "from stallkit_sessions.launch import SecretPipe, sourced\n"
        "pipe = SecretPipe('a', 'export A=1\\n')\n"
        "print(pipe.path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout.strip()
    done = subprocess.run(sourced(path, ["echo", "started"]), capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stdout == "" and path in done.stderr


def test_who_does_not_read_is_not_waited_for_forever() -> None:
    with SecretPipe("a", "export A=1\n") as pipe:
        pipe.delivered(lambda: True)  # its program has ended
        with pytest.raises(StartRefused, match="did not take its variables"):
            pipe.delivered(lambda: False, within_s=0.05)


def test_more_than_a_pipe_holds_is_refused_and_a_lot_is_not() -> None:
    lot = "export A=" + "x" * 500_000 + "\n"
    with SecretPipe("a", lot) as pipe:
        done = subprocess.run(["sh", "-c", 'wc -c <"$0"', pipe.path], capture_output=True, text=True, check=True)
        assert int(done.stdout) == len(lot)
    with pytest.raises(StartRefused, match="its variables take"):
        SecretPipe("a", "x" * 2_000_000)


def test_without_proc_there_is_no_way() -> None:
    with pytest.raises(StartRefused, match="need /proc"):
        SecretPipe("a", "", proc="/nowhere")
