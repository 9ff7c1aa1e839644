"""What decides, beside its words, what a command of this user does: a daemon may answer only for one with the same."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["context"]

_VARIABLES = (
    *("STALLKIT_STATE_DIR", "HOME", "TMUX_TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"),
    *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST", "CONTAINERS_CONF"),
)
_NAMESPACES = ("pid", "mnt", "net", "user")


def context() -> dict[str, str | list[str]]:
    """This process's Python, code, path of imports, namespaces and variables that count, as plain values."""
    found: dict[str, str | list[str]] = {"python": sys.executable, "path": sys.path, "code": str(Path(__file__).parent)}
    for name in _NAMESPACES:
        with suppress(OSError):  # not Linux
            found[name] = str(Path(f"/proc/self/ns/{name}").readlink())
    return found | {f"${name}": os.environ[name] for name in _VARIABLES if name in os.environ}
