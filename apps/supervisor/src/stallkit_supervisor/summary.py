"""What the sessions of a supervisor need, in one short line for a status bar.  Pure.

>>> summary([("wait", "tmux:w7"), ("wait", "tmux:w1"), ("limit", "tmux:w3")])
'2 wait: w1 w7, 1 limit: w3'
"""

from __future__ import annotations

from typing import Iterable, Literal

from stallkit.redact.redact import redact
from stallkit.terminal.marks import plain

__all__ = ["NEEDS", "Need", "summary"]

# wait: for an answer, at a prompt or after its turn; failed, hung, ended: as a person is told; stopped: by a limit of
# stallkit's own, or by a rule; unseen: it could not be looked at; limit: of usage, which passes by itself.
Need = Literal["wait", "failed", "hung", "ended", "stopped", "unseen", "limit"]
NEEDS: tuple[Need, ...] = ("wait", "failed", "hung", "ended", "stopped", "unseen", "limit")  # in this order
ROOM = 60  # characters of names, for each need
NAME = 24


def summary(needs: Iterable[tuple[Need, str]]) -> str:
    """How many sessions need what, and which, as far as there is room; empty where none needs anything.

    The names are those of targets.  Without secrets, and without characters that a terminal would not show.
    """
    by_need: dict[Need, list[str]] = {need: [] for need in NEEDS}
    for need, target in needs:
        by_need[need].append(_short(target))
    return ", ".join(f"{len(names)} {need}: {_that_fit(sorted(names))}" for need, names in by_need.items() if names)


def _short(target: str) -> str:
    """A target's name for people: without its scheme, and not too long."""
    name = plain(redact(target.removeprefix("tmux:"))).replace(" ", "_")
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


def _that_fit(names: list[str]) -> str:
    fit, room = 0, ROOM
    for name in names:
        room -= len(name) + 1
        if room < 0:
            break
        fit += 1
    left = len(names) - fit
    return " ".join([*names[:fit], *([f"+{left}"] if left else [])])
