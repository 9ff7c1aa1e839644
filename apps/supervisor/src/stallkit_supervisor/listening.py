"""Which panes of a tmux server a supervisor listens to, and what their programs reported.

Reports come on change only, so it listens from the first look on that shows such a program in the foreground.  Panes
without one keep their pipe to themselves: it is the user's for a log.
"""

from __future__ import annotations

from typing import Literal, Mapping

from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.terminal.marks import Marks
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.identity import Identity
from stallkit_supervisor.listener import PaneListener

__all__ = ["LISTEN", "Listen", "Listening"]

Listen = Literal["auto", "all", "never"]
LISTEN: tuple[Listen, ...] = ("auto", "all", "never")

# Beside those of which packs say that they report: `stallkit` wraps any, and the kernel names some of them `node`.
_REPORTERS = frozenset({"node", "stallkit"})


class Listening:
    """The panes that are listened to: ``auto``, those whose program in front may report; ``all``; or ``never``."""

    def __init__(self, server: Server, which: Listen = "auto") -> None:
        self._which = which
        self._wanted: dict[Identity, None] = {}  # in order
        self._listener = PaneListener(server)
        self.news, self.nudged = self._listener.news, self._listener.nudged

    def consider(self, identity: Identity, seen: Snapshot) -> None:
        """Want to hear this pane if a program in it may report; once it is heard, it stays heard."""
        if self._which == "all" or (self._which == "auto" and _reports(seen)):
            self._wanted[identity] = None

    async def listen(self) -> None:
        """Begin to listen to what is wanted."""
        if self._wanted:
            await self._listener.listen(self._wanted)

    @property
    def marks(self) -> Mapping[Identity, Marks | None]:
        """What was reported in each pane; None where nothing listens to it."""
        return {identity: self._listener.marks(identity) for identity in self._wanted}

    def forget(self, identity: Identity) -> None:
        """The pane is gone."""
        self._wanted.pop(identity, None)
        self._listener.forget(identity)

    def at_the_end(self, line: str) -> None:
        """A line of tmux commands that is also given where this process is killed, if it listens to anything."""
        self._listener.at_the_end(line)

    async def close(self) -> None:
        """Listen no more."""
        await self._listener.close()


def _reports(seen: Snapshot) -> bool:
    """Whether a program in the foreground may report of itself."""
    reporters = _REPORTERS | installed_engine().words.reporters
    members = seen.kernel.members if seen.kernel else ()
    return seen.foreground in reporters or any(not reporters.isdisjoint(member.names) for member in members)
