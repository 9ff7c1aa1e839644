"""Whether a prompt may be asked at the process's own terminal: only where nobody else reads what is typed there."""

from __future__ import annotations

import os

from attrs import field, frozen

from stallkit.detect.families import RELAYS
from stallkit.probes.procfs import ancestors, stat_of
from stallkit.probes.readers import Readers, holders, readers, tty_facts


@frozen
class TerminalFacts:
    """What is known of the controlling terminal."""

    there: bool
    ours: bool = False  # our job is in its foreground
    canonical: bool | None = None
    readers: Readers = field(factory=Readers)
    asker: int | None = None  # the pid of the process that called us, and waits for our output
    inside: str | None = None  # the program in a terminal that shows this one, and types into it


def look(descriptor: int | None) -> TerminalFacts:
    """The facts on the controlling terminal, opened by the caller at this descriptor; None: there is none."""
    ours = stat_of(os.getpid())
    if descriptor is None or ours is None or not ours.device:
        return TerminalFacts(there=descriptor is not None)
    return TerminalFacts(
        there=True,
        ours=ours.foreground == ours.group,
        canonical=tty_facts("/dev/tty").canonical,
        readers=readers(ours.device, but={os.getpid()}),
        asker=ours.parent,
        inside=_inside(ours.device),
    )


def refusal(facts: TerminalFacts) -> str | None:
    """Why nothing is asked at this terminal; None where it may be.

    What is unknown counts as a reader, except the process that called us: it waits for our output, unless it is seen to
    read.

    >>> refusal(TerminalFacts(there=False))
    'it has no terminal'
    """
    if not facts.there:
        return "it has no terminal"
    if facts.inside is not None:
        return f"its terminal is one that {facts.inside} holds and types into"
    if facts.readers.known:
        first = facts.readers.known[0]
        return f"{first.name} (pid {first.pid}) reads its terminal"
    doubtful = [one for one in facts.readers.unknown if one.pid != facts.asker]
    if doubtful:
        return f"{doubtful[0].name} (pid {doubtful[0].pid}) may read its terminal"
    if not facts.readers.complete:
        return "who reads its terminal is unknown"
    if not facts.ours:
        return "it is in the background of its terminal"
    if facts.canonical is not True:
        return "its terminal is in raw mode: a program reads single keys there"
    return None


def _inside(device: int) -> str | None:
    """The name of a program above us that holds the master of our terminal while it sits on another one itself.

    A terminal's emulator, tmux and sshd have no terminal, and a relay (script, sudo) hands keys on unseen.
    """
    above = dict(ancestors(os.getpid()))
    for pid in holders(device):
        stat = above.get(pid)
        if stat is not None and stat.device not in (0, device) and stat.name.partition(":")[0] not in RELAYS:
            return stat.name
    return None
