"""Panes whose program ended, and what is started in them again, for tests."""

from __future__ import annotations

from started import House
from terminals import wait_for

from stallkit.evidence.snapshot import Snapshot
from stallkit.transports.tmux.pane import TmuxTransport

__all__ = ["dead", "shows"]


def dead(pane: TmuxTransport) -> Snapshot:
    """The first look at a pane whose program ended."""
    looks: list[Snapshot] = []

    def ended() -> bool:
        looks.append(pane.capture())
        return looks[-1].alive is False

    wait_for(ended, "its end")
    return looks[-1]


def shows(house: House, text: str) -> None:
    """Wait until the pane of the session `a` shows a text."""
    wait_for(lambda: text in house.tmux("capture-pane", "-p", "-t", "=a:"), f"{text!r} in its pane")
