"""What each witness says about a session: tmux, its server, a container's engine, ourselves.  Values, no judgement."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

__all__ = ["ContainerFacts", "EndFacts", "Order", "PaneFacts", "Place", "ServerEnd"]


class Place(StrEnum):
    """Whether a thing is still where it was."""

    THERE = "there"
    GONE = "gone"  # whoever would know says that there is none
    UNSEEN = "unseen"  # nobody could look


class ServerEnd(StrEnum):
    """What became of a tmux server."""

    LIVES = "lives"
    ENDED = "ended"  # it said good-bye to its clients
    CRASHED = "crashed"  # its clients lost it
    GONE = "gone"  # it is not there, and nobody was with it
    UNSEEN = "unseen"


class Order(StrEnum):
    """What we were told to do to a session, written down before it was done."""

    STOP = "stop"
    REPLACE = "replace"


@frozen
class PaneFacts:
    """What tmux says of the pane."""

    place: Place
    dead: bool = False
    code: int | None = None  # pane_dead_status
    signal: int | None = None  # pane_dead_signal


@frozen
class ContainerFacts:
    """What an engine says of a container.  A code is None where nobody said one: it is never taken for 0."""

    place: Place
    running: bool = False  # only where it is there
    removes_itself: bool = False  # --rm
    started: bool = True  # False where the engine says that it never ran
    event_code: int | None = None  # of its `die`, heard in a stream that was begun before the container
    event_signal: int | None = None  # a `kill` that the engine was asked for
    inspect_code: int | None = None  # of a container that is there and exited; the engine itself vouches for it
    oom: bool = False
    engine_died: bool = False  # the daemon, or the container's monitor, ended while the container ran
    heard: bool = False  # whoever listened has heard its end
    doubtful: bool = False  # the engine lost sight of its program: what its client says (but 255) is made up


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
