"""Where stallkit's files are: a flag, else the environment, else a default."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import platformdirs

CACHE = "STALLKIT_CACHE"  # a directory for parsed packs, or off
FILE = "stallkit.toml"  # settings, also in the working directory
STALL_TIMEOUT = "STALLKIT_STALL_TIMEOUT"  # seconds at rest after which a stall is suspected
STATE_DIR = "STALLKIT_STATE_DIR"
TMUX_SOCKET = "STALLKIT_TMUX"  # name or path of the socket of the tmux server that commands reach


def state_dir() -> Path:
    """The directory for what stallkit records: ``$STALLKIT_STATE_DIR``, else the user's state directory."""
    return Path(os.environ.get(STATE_DIR) or _user_path("state"))


def allowed_dir() -> Path:
    """The directory of the records which directories' settings a person allowed."""
    return state_dir() / "allowed"


def audit_dir() -> Path:
    """The directory of the logs of what a person changed: proxies, manifests, waivers."""
    return state_dir() / "audit"


def cache_dir() -> Path | None:
    """The directory of what can be computed again: ``$STALLKIT_CACHE``, else the user's cache; None if off."""
    given = os.environ.get(CACHE)
    return None if given == "off" else Path(given or _user_path("cache"))


def event_log(flag: str | Path | None = None) -> Path:
    """The file that events are appended to."""
    return Path(flag) if flag else state_dir() / "events.jsonl"


def proxies_file() -> Path:
    """The file that says where the proxies of each sandbox are."""
    return _user_path("config") / "proxies.toml"


def queue_file() -> Path:
    """The file of what a person has to answer."""
    return state_dir() / "queue.db"


def records_screens() -> bool:
    """Whether whole screens are kept: ``[record] screens = true`` in the user's own settings, and in no other file."""
    try:
        table = tomllib.loads(user_config().read_text()).get("record")
    except (OSError, ValueError):  # whoever reads the settings says what is wrong with them
        return False
    return isinstance(table, dict) and table.get("screens") is True


def relay_socket(pid: int, started: int) -> Path:
    """Where the `stallkit wrap` that is this process tells what it knows; `started` in clock ticks since boot."""
    return state_dir() / "relays" / f"{pid}-{started}.sock"


def runs_dir() -> Path:
    """The directory of the background runs, one folder each."""
    return state_dir() / "runs"


def sandboxes_dir() -> Path:
    """The directory of the sandboxes that manifests describe, one folder each: what they are given, and left."""
    return state_dir() / "sandboxes"


def sandboxes_file() -> Path:
    """The file of those sandboxes: what they were started from, and how far their rebuilds are."""
    return state_dir() / "sandboxes.db"


def store_file() -> Path:
    """The file of the state that a supervisor needs again after it was killed."""
    return state_dir() / "watch.db"


def sessions_file() -> Path:
    """The file of the sessions that stallkit started, and of how they ended."""
    return state_dir() / "sessions.db"


def stuck_dir() -> Path:
    """The directory of the sandboxes' directories, each with the socket at which its agents ask."""
    return state_dir() / "stuck"


def user_config() -> Path:
    """The user's own settings; those of an allowed directory take precedence."""
    return _user_path("config") / FILE


def waivers_file() -> Path:
    """The file of the exceptions that a person granted."""
    return state_dir() / "waivers.db"


_OF_LINUX = {"cache": ".cache", "config": ".config", "state": ".local/state"}


def _user_path(kind: str) -> Path:
    """The user's directory of that kind: platformdirs knows it, but takes as long to import as a bare Python.

    So where one of the two variables decides on Linux, it is read here.
    """
    if sys.platform == "linux":
        given, home = Path(os.environ.get(f"XDG_{kind.upper()}_HOME", "")), Path(os.environ.get("HOME", ""))
        if given.is_absolute() or home.is_absolute():
            return (given if given.is_absolute() else home / _OF_LINUX[kind]) / "stallkit"

    found: Path = getattr(platformdirs, f"user_{kind}_path")("stallkit")
    return found
