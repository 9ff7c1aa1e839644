"""The exit codes, as documented in docs/command-line.md: scripts rely on them."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Exit", "exit_of"]


class Exit(IntEnum):
    """What a command tells the shell."""

    OK = 0  # not stalled, or dismissed
    ERROR = 1  # operational error, or could not look
    STALLED = 2
    MAYBE = 3  # it may be waiting, or says that it works and is hung
    ENDED = 4  # the session ended or is gone
    BACKGROUND = 5  # it continues in the background
    TIMEOUT = 6  # the caller's
    FINDINGS = 7  # cases that cannot be read, a regression, errors of lint
    USAGE = 64  # sysexits(3) EX_USAGE; click's own 2 would read as stalled
    INTERRUPTED = 130


_OF_STATUS = {  # of press.check.Status
    "not_stalled": Exit.OK,
    "dismissed": Exit.OK,
    "stalled": Exit.STALLED,
    "asks": Exit.STALLED,
    "failed": Exit.STALLED,
    "hung": Exit.MAYBE,
    "maybe": Exit.MAYBE,
    "unknown": Exit.MAYBE,
    "ended": Exit.ENDED,
}


def exit_of(status: str, idle_ok: bool = False) -> Exit:
    """The exit code for what a check found; with `idle_ok` an agent at its composer is in order, whatever it says."""
    return Exit.OK if idle_ok and status in ("asks", "failed") else _OF_STATUS[status]
