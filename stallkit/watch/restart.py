"""Starting a program again where one ended: its exit record first, since a restart takes its pane's screen away."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Protocol, Sequence

from attrs import evolve, frozen

from stallkit.core.verdict import Snapshot
from stallkit.errors import StoreError, TransportError
from stallkit.press.gate import End, Outcome
from stallkit.transports.base import Transport
from stallkit.transports.tmux.pane import TmuxTransport
from stallkit.watch.exits import begun_again, keep_exit, start_anew

__all__ = ["Restartable", "Restarter"]


class Restartable(Protocol):
    """What a transport offers that can start programs; both raise TransportError."""

    def restart(self, command: Sequence[str], seen: Snapshot) -> None:
        """Start it in the place of one that ended."""

    def start(self, command: Sequence[str]) -> None:
        """Start it in a session of the target's name, which is not there."""


@frozen
class Restarter:
    """Starts `command`; `register` is the file of exit records, None where nothing is to be recorded."""

    command: tuple[str, ...]
    register: Path | None

    def in_place(self, transport: Transport, name: str, seen: Snapshot) -> Outcome:
        """In the pane that is left, or whatever the transport has in its stead."""
        if self.register is None or not isinstance(transport, TmuxTransport):
            return self._offered(transport, "restart", seen)
        try:
            record = keep_exit(self.register, name, transport, seen)
        except (StoreError, TransportError) as error:
            return Outcome(End.REFUSED, f"its end could not be recorded: {error}", after=seen)
        outcome = self._offered(transport, "restart", seen)
        if outcome.end is not End.CLEARED or record is None:
            return outcome
        try:
            begun_again(self.register, record, _who_is_in(transport), self.command)
        except (StoreError, TransportError) as error:
            return evolve(outcome, why=f"{outcome.why}; {error}")
        return outcome

    def anew(self, transport: Transport, name: str) -> Outcome:
        """Where nothing is left: what `stallkit start` began is started by it again, the rest by its transport."""
        if self.register is not None and isinstance(transport, TmuxTransport):
            try:
                if start_anew(self.register, name, self.command):
                    return Outcome(End.CLEARED, "the session was started again")
            except (StoreError, TransportError) as error:
                return Outcome(End.UNKNOWN, str(error))
        return self._offered(transport, "start", None)

    def _offered(self, transport: Transport, how: str, seen: Snapshot | None) -> Outcome:
        offered: Callable[..., None] | None = getattr(transport, how, None)
        if offered is None:
            return Outcome(End.REFUSED, "its transport cannot start a program", after=seen)
        try:
            offered(self.command, *([seen] if seen else []))
        except TransportError as error:
            return Outcome(End.UNKNOWN, str(error), after=seen)
        return Outcome(End.CLEARED, "the program was started again", after=seen)


def _who_is_in(transport: TmuxTransport) -> str:
    """The identity of a pane that was just given to another process."""
    now = TmuxTransport(transport.pane, transport.options)
    try:
        return now.capture().identity or ""
    finally:
        now.close()
