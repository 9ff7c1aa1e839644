"""Panes in which stallkit itself runs: they show other sessions' prompts, and who sits there is being asked already."""

from __future__ import annotations

import os
from typing import Sequence

from stallkit.detect.families import INTERPRETERS
from stallkit.evidence.facts import Member
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.procfs import text_of

__all__ = ["own_pane", "runs_stallkit"]

_NAME = "stallkit"
_CARRY = frozenset({"attach", "record", "run", "wrap"})  # another program is inside, which may ask


def own_pane() -> tuple[str, str] | None:
    """The pid of the server and the pane in which this program runs; None outside tmux."""
    _, *pid = os.environ.get("TMUX", "").split(",")[:2]  # SOCKET,PID,SESSION
    return (pid[0], os.environ.get("TMUX_PANE", "")) if pid else None


def runs_stallkit(seen: Snapshot) -> bool:
    """Whether a command of stallkit is in front that has no other program in it, as far as its command line is seen."""
    members = seen.kernel.members if seen.kernel else ()
    return any(_may_be(one) and _shows_others(_words(one.pid)) for one in members if not one.ended)


def _may_be(member: Member) -> bool:
    """Whether its command line is worth a look."""
    return _NAME in (*member.names, member.script) or (
        member.script is None and not member.names.isdisjoint(INTERPRETERS)
    )


def _shows_others(words: Sequence[str]) -> bool:
    """Whether these words start such a command.

    >>> _shows_others(["python3", "/usr/bin/stallkit", "watch", "--all"]), _shows_others(["stallkit", "wrap", "acme"])
    (True, False)
    """
    for place, word in enumerate(words[:4]):
        if word.rpartition("/")[2] == _NAME:
            return place + 1 < len(words) and words[place + 1] not in _CARRY
    return False


def _words(pid: int) -> list[str]:
    try:
        return text_of(pid, "cmdline").removesuffix("\0").split("\0")
    except OSError:  # it ended, or this is no Linux
        return []
