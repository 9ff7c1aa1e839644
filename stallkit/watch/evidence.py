"""How long a session's end is left unexplained, because a witness who knows may still speak.  Pure.

tmux learns an exit status a moment after the terminal closed, an engine tells of a container's end after its client's,
and the client that waits with a tmux server ends after the sessions are gone.  Who asks too soon writes *unknown* into
a record that could have said it.
"""

from __future__ import annotations

from stallkit.sessions.facts import EndFacts
from stallkit.transports.base import Presence
from stallkit.transports.tmux.end_facts import ServerEnd

__all__ = ["PATIENCE_S", "complete"]

DYING_S = 0.5  # for a program that lost its terminal to end: one that lives on is told as that
PATIENCE_S = 3.0  # for the slowest of them, on a loaded machine; then what is known has to do


def complete(facts: EndFacts, age_s: float) -> bool:
    """Whether nobody could add to what is known of an end that was first seen `age_s` seconds ago."""
    if age_s >= PATIENCE_S or not facts.same_boot:
        return True
    container = facts.container
    if container is not None:
        runs_on = container.running and facts.pane.place is not Presence.THERE
        asked = container.inspect_code is not None or container.place is Presence.GONE
        known = container.event_code is not None or (container.heard and asked)
        return known or runs_on or not container.started
    pane = facts.pane
    if pane.place is Presence.GONE:
        if facts.program_lives and age_s < DYING_S:
            return False
        return facts.server in (ServerEnd.LIVES, ServerEnd.ENDED, ServerEnd.CRASHED)
    return pane.code is not None or pane.signal is not None
