"""Recordings as tests write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FACTS = {"foreground": "rm", "listening": True, "how": "read", "echo": True, "canonical": True}
BUSY = {"foreground": "cc", "listening": False, "echo": True, "canonical": True}


def facts(**told: Any) -> str:
    return json.dumps(told)


def write(path: Path, *events: tuple[float, str, str], **header: Any) -> Path:
    """A recording of version 2 with these events."""
    lines = [{"version": 2, "width": 80, "height": 24, **header}, *events]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def session(path: Path) -> Path:
    """Builds, asks, goes on: with facts and markers, each marker given a while after what it speaks of."""
    return write(
        path,
        (0.1, "o", "Building one\r\n"),
        (0.2, "o", "Building two\r\n"),
        (0.4, "k", facts(**BUSY)),
        (1.5, "m", "working"),
        (2.0, "o", "Proceed? [y/N] "),
        (2.2, "k", facts(**FACTS)),
        (5.3, "m", "waiting:confirm"),
        (7.3, "o", "y\r\nremoving\r\n"),
        (7.6, "k", facts(**BUSY)),
        (9.3, "m", "working"),
        (9.5, "o", "removed\r\n"),
        (12.0, "x", "0"),
        command="bash -c make",
    )
