"""Labelled cases made up for tests: as rows of a corpus, and as files of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ASKS = "Proceed with the setup? [y/N] "
# Facts without which no verdict is sure: for a second something waited for input, and the screen stayed as it was.
READS = {
    "pane_current_command": "setup",
    "proc": [{"tty_wait": {"how": "read"}}],
    "probe_1s": {"tty_wait_samples": 5, "tty_wait_hits": 5, "screen_same": True},
}
BUSY = "cc -c main.c\ncc -c util.c"


def row(id: str, screen: str = ASKS, state: str = "waiting", **more: Any) -> dict[str, Any]:
    """One case with the cursor behind its text; `label_kind` and its like go into the label."""
    lines = screen.split("\n")
    label = {"state": state} | {key[6:]: more.pop(key) for key in list(more) if key.startswith("label_")}
    at = {"cols": 80, "rows": 24, "cursor_x": len(lines[-1]), "cursor_y": len(lines) - 1}
    return {"id": id, "program": "made-up", "screen": screen, **at, "label": label} | more


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    """A corpus of these rows; a string stands as it is."""
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows))
    return path
