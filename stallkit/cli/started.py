"""The sessions that stallkit started, by their bare names: what commands of the library ask of `stallkit-sessions`."""

from __future__ import annotations

from typing import Any, Callable, Iterator, NoReturn, Protocol

import click
from attrs import frozen

from stallkit.cli.exits import Exit
from stallkit.distributions import offered
from stallkit.press.send import Readiness
from stallkit.transports.base import Options

__all__ = ["EndReport", "RunningTarget", "StartedSessions", "leave", "started"]


@frozen
class RunningTarget:
    """A session that runs: the target and the options that reach exactly its pane."""

    target: str
    options: Options


@frozen
class EndReport:
    """A session that is over: how it ended, for programs, and printed for a person."""

    as_object: Callable[[], dict[str, Any]]
    show: Callable[[bool], None]  # with true as JSON


class StartedSessions(Protocol):
    """What knows the sessions that were started; their names have no colon."""

    def names(self) -> Iterator[tuple[str, str]]:
        """Each name, with a word on its state."""
        ...

    def find(self, name: str, listen: bool = False) -> RunningTarget | EndReport | None:
        """The session of that name; None if none was started, or it is still being started."""
        ...

    def behind(self, target: str, socket_name: str | None, socket_path: str | None) -> EndReport | None:
        """How the session of a bare name or ``tmux:NAME`` on that server ended, if it was started and is over."""
        ...

    def note(self, name: str, found: Readiness) -> EndReport | None:
        """Keep what a wait for its start found; how it ended, if it did meanwhile."""
        ...


class _Nothing:
    """Without that distribution nothing was started."""

    def names(self) -> Iterator[tuple[str, str]]:
        yield from ()

    def find(self, name: str, listen: bool = False) -> RunningTarget | EndReport | None:
        return None

    def behind(self, target: str, socket_name: str | None, socket_path: str | None) -> EndReport | None:
        return None

    def note(self, name: str, found: Readiness) -> EndReport | None:
        return None


def started() -> StartedSessions:
    """What knows them."""
    found: StartedSessions = offered("sessions") or _Nothing()
    return found


def leave(ctx: click.Context, ended: EndReport) -> NoReturn:
    """Print how it ended, and exit the command: there is no session to act on."""
    ended.show(bool(ctx.params.get("as_json")))
    ctx.exit(Exit.ENDED)
