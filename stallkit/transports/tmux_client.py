"""The tmux client as a child process: how it is called, and what its failures mean.

A plain client, never one in control mode: tmux 3.3a and 3.5a crash, with every session in them, if any session or
program ends in the milliseconds in which a control client connects (docs/tmux.md has the figures).
"""

from __future__ import annotations

import re

from stallkit.errors import SessionGone, TransportError, TransportUnavailable
from stallkit.transports.base import Options

__all__ = ["client", "failure", "not_installed"]

_NOT_THERE = re.compile(
    r"can't find (?:pane|session|window)|no server running"
    r"|error connecting to .*\((?:No such file or directory|Connection refused)\)"
)


def client(binary: str, options: Options) -> list[str]:
    """The tmux command with its socket.  ``-u``: a client in the C locale loses every character beyond ASCII."""
    if options.tmux_socket_path:
        return [binary, "-u", "-S", options.tmux_socket_path]
    if options.tmux_socket_name:
        return [binary, "-u", "-L", options.tmux_socket_name]
    return [binary, "-u"]


def failure(target: str, complaints: str, status: int) -> TransportError:
    """What a call of tmux that failed says of its target: SessionGone where tmux says that there is none."""
    said = complaints.strip() or f"tmux exited with {status}"
    if _NOT_THERE.search(said):
        return SessionGone(target, said)
    return TransportError(target, said, "see whether tmux answers by hand")


def not_installed(target: str, error: OSError) -> TransportUnavailable:
    """The client could not even be started."""
    if isinstance(error, FileNotFoundError):
        return TransportUnavailable(target, "tmux", "tmux is not installed", "install tmux, or add it to PATH")
    return TransportUnavailable(target, "tmux", str(error), "see whether tmux runs by hand")
