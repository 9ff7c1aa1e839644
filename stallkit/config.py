"""Settings and where they come from: a flag, else the environment, else a default."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

__all__ = ["event_log", "runs_dir", "state_dir"]


def state_dir() -> Path:
    """The directory for what stallkit records: ``$STALLKIT_STATE_DIR``, else the user's state directory."""
    return Path(os.environ.get("STALLKIT_STATE_DIR") or platformdirs.user_state_path("stallkit"))


def event_log(flag: str | Path | None = None) -> Path:
    """The file that events are appended to."""
    return Path(flag) if flag else state_dir() / "events.jsonl"


def runs_dir() -> Path:
    """The directory of the runs that go on in the background, one folder each."""
    return state_dir() / "runs"
