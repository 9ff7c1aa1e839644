"""Sandboxes as manifests describe them, for tests: in a real bubblewrap, with a state directory of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from machine_room import PROGRAMS, missing

from stallkit.errors import TransportError
from stallkit.transports.containers.runtime_call import BWRAP, call

FOREVER = ["sh", "-c", "echo ready; while :; do sleep 1; done"]


def need_bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put bubblewrap on the path, or skip."""
    if why := missing("bwrap"):
        pytest.skip(why)
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    try:
        call([BWRAP, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", "true"], BWRAP)
    except TransportError as error:  # the kernel forbids its namespaces
        pytest.skip(str(error))


def manifest(directory: Path, *lines: str, name: str = "web", command: list[str] | None = None, **more: Any) -> str:
    """The text of a manifest for bubblewrap."""
    given = {"name": name, "engine": "bwrap", "command": command or FOREVER, "directory": str(directory), **more}
    rows = [f"{key} = {json.dumps(value)}" for key, value in given.items() if value is not None]
    return "\n".join([*rows, *lines, ""])
