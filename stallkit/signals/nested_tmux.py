"""A client of tmux inside a session: the first process of the pane that it shows, asked of its own server.

Only a client of this user that is in no sandbox names a server that is asked: a server may make its clients write files
and run commands.
"""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

from stallkit.signals.publisher import Publisher

__all__ = ["in_pane", "socket_of"]

CLIENT = "tmux: client"  # what a client calls itself
ANSWER_S = 2.0
_WITH_VALUE = "cfLST"  # options of tmux that take one


def in_pane(publisher: Publisher) -> int | None:
    """The first process of the active pane that this client shows; None for other processes, and where it is unknown.

    Starts tmux once for a client, and nothing for another process.
    """
    if publisher.stat.name != CLIENT or not publisher.ours:
        return None
    socket = socket_of(publisher.words, publisher.environ, os.geteuid())
    if socket is None or not _is_socket(socket):
        return None
    asked = ["tmux", "-S", socket, "list-clients", "-F", "#{client_pid} #{pane_pid}"]
    environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
    try:
        told = subprocess.run(
            asked, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_S, check=False, env=environ
        )
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [line.split() for line in told.stdout.decode("utf-8", "replace").splitlines()]
    panes = [row[1] for row in rows if len(row) == 2 and row[0] == str(publisher.pid)]
    return int(panes[0]) if panes and panes[0].isdecimal() else None


def socket_of(words: tuple[str, ...], environ: dict[str, str], user: int) -> str | None:
    """The socket that a tmux with this command line and environment speaks to; None where that is not plain.

    >>> socket_of(("tmux", "-2L", "work", "attach"), {}, 1000)
    '/tmp/tmux-1000/work'
    """
    label, path = "default", ""
    rest = list(words[1:])
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        letters = rest.pop(0)[1:]
        at = next((at for at, letter in enumerate(letters) if letter in _WITH_VALUE), None)
        if at is None:
            continue
        value = letters[at + 1 :] or (rest.pop(0) if rest else "")
        if letters[at] == "S":
            path = value
        elif letters[at] == "L":
            label, path = value, ""
    named = path or label != "default"
    if not named and (inside := environ.get("TMUX", "").partition(",")[0]):
        path = inside
    path = path or f"{environ.get('TMUX_TMPDIR') or '/tmp'}/tmux-{user}/{label}"
    return path if path.startswith("/") else None


def _is_socket(path: str) -> bool:
    try:
        found = Path(path).stat()
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid()
