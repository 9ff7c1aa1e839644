"""Where the endpoint's sockets of a sandbox are.  Pure.

Two, for the same sandbox: one in the directory that is mounted into it, where it may put anything in the socket's
place, a link to another sandbox's socket too; and one that no sandbox gets, for programs outside, as its proxy, which
would follow that link.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["host_socket", "mounted_socket"]


def mounted_socket(folder: Path, sandbox: str) -> Path:
    """In the sandbox's own directory, below the directory of all."""
    return folder / sandbox / "notify.sock"


def host_socket(folder: Path, sandbox: str) -> Path:
    """For the sandbox's proxy; no sandbox's name begins with a dot."""
    return folder / ".host" / f"{sandbox}.sock"
