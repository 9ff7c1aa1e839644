"""Away from Linux: nothing needs Linux at import time, and what only Linux knows is unknown."""

from __future__ import annotations

import subprocess
import sys

# What Linux alone has, of the modules that stallkit uses; then everything is imported, and a run and a probe are tried.
_ELSEWHERE = """
import importlib, os, pkgutil, select, sys
import hypothesis, pytest, urllib.request  # they ask what Python was built for, which stays what it is
sys.platform = "darwin"
for module, names in ((os, ("pidfd_open", "memfd_create", "eventfd")), (select, ("epoll",))):
    for name in names:
        vars(module).pop(name, None)
import stallkit
import stallkit_sessions
for found in pkgutil.walk_packages(stallkit.__path__, "stallkit."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
from stallkit.probes import foreground_job
foreground_job.PROC = "/nowhere"  # as on a system without /proc
engine = stallkit.Engine([])
print(stallkit_sessions.run(["sh", "-c", "exit 3"], engine=engine).exit_status)
asks = stallkit_sessions.run(["sh", "-c", "read x"], engine=engine, window_s=1)
print(asks.status, asks.verdict.certainty, asks.snapshot.kernel.listening)
asks.run.stop()
"""


def test_without_what_linux_alone_has() -> None:
    done = subprocess.run([sys.executable, "-c", _ELSEWHERE], check=False, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("3\nmaybe maybe None\n", "", 0)
