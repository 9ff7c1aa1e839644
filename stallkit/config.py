"""Where stallkit's files are: a flag, else the environment, else a default."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

__all__ = [
    "CACHE",
    "FILE",
    "STALL_TIMEOUT",
    "STATE_DIR",
    "TMUX_SOCKET",
    "cache_dir",
    "event_log",
    "relay_socket",
    "runs_dir",
    "sessions_file",
    "state_dir",
    "store_file",
    "user_config",
]

CACHE = "STALLKIT_CACHE"  # a directory for compiled packs, or off
FILE = "stallkit.toml"  # a project's settings, in the working directory
STALL_TIMEOUT = "STALLKIT_STALL_TIMEOUT"  # seconds at rest after which a stall is suspected
STATE_DIR = "STALLKIT_STATE_DIR"
TMUX_SOCKET = "STALLKIT_TMUX"  # name or path of the socket of the tmux server that commands reach


def state_dir() -> Path:
    """The directory for what stallkit records: ``$STALLKIT_STATE_DIR``, else the user's state directory."""
    return Path(os.environ.get(STATE_DIR) or platformdirs.user_state_path("stallkit"))


def cache_dir() -> Path | None:
    """The directory of what can be computed anew: ``$STALLKIT_CACHE``, else the user's cache directory; None if off."""
    given = os.environ.get(CACHE)
    return None if given == "off" else Path(given or platformdirs.user_cache_path("stallkit"))


def event_log(flag: str | Path | None = None) -> Path:
    """The file that events are appended to."""
    return Path(flag) if flag else state_dir() / "events.jsonl"


def relay_socket(pid: int, started: int) -> Path:
    """Where the `stallkit wrap` that is this process tells what it knows; `started` in clock ticks since boot."""
    return state_dir() / "relays" / f"{pid}-{started}.sock"


def runs_dir() -> Path:
    """The directory of the background runs, one folder each."""
    return state_dir() / "runs"


def store_file() -> Path:
    """The file of the state that a supervisor needs again after it was killed."""
    return state_dir() / "watch.db"


def sessions_file() -> Path:
    """The file of the sessions that stallkit started, and of how they ended."""
    return state_dir() / "sessions.db"


def user_config() -> Path:
    """The user's own settings; those of a project take precedence."""
    return Path(platformdirs.user_config_path("stallkit")) / FILE
