"""All that is known when a session's end is explained, as a value."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from stallkit.transports.containers.container_events import ContainerFacts
from stallkit.transports.tmux.end_facts import PaneFacts, ServerEnd

__all__ = ["EndFacts", "Order"]


class Order(StrEnum):
    """What we were told to do to a session, written down before it was done."""

    STOP = "stop"
    REPLACE = "replace"


@frozen
class EndFacts:
    """All that is known when a session's end is explained."""

    pane: PaneFacts
    server: ServerEnd = ServerEnd.LIVES
    container: ContainerFacts | None = None
    order: Order | None = None
    same_boot: bool = True
    program_lives: bool | None = None  # the process that was in the pane; None: nobody knows
    respawned: bool = False  # its pane was given to another program
