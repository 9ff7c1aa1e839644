"""What the commands on sessions share: the register, and how an ended session is shown."""

from __future__ import annotations

from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Iterator, NoReturn

import click
from attrs import evolve

from stallkit.cli import common
from stallkit.cli.common import Name, print_json, warn_unwritable
from stallkit.cli.verb_group import like
from stallkit.config import sessions_file
from stallkit.errors import StoreError
from stallkit.press.send import Readiness, Ready
from stallkit.transports.base import Options
from stallkit.transports.tmux.identity import Identity
from stallkit_sessions.cli.panel import EARLIER, as_json, show
from stallkit_sessions.finalize import write_out
from stallkit_sessions.lifecycle import finalize_now, lasting
from stallkit_sessions.model import ExitRecord, Session
from stallkit_sessions.register import Register, RunningSession


@contextmanager
def opened(settled: bool = True, or_copy: bool = False) -> Iterator[Register]:
    """The register, with every end noted that can be found.

    With `or_copy`, one that cannot be written is read as it is, with a warning.
    """
    with closing(Register(sessions_file(), or_copy=or_copy)) as register:
        why = register.unwritable
        if settled and why is None:
            try:
                finalize_now(register)
            except StoreError as error:
                if not or_copy:
                    raise
                why = error.why
        warn_unwritable(sessions_file(), why)
        yield register


def found(name: str) -> RunningSession | ExitRecord:
    """The session of that name, or how it ended.  Raises click.UsageError where none was ever started."""
    session = named(name)
    if session is None:
        raise click.UsageError(no_session(name))
    return session


def no_session(name: str) -> str:
    """The words for a name that no session has."""
    known = [known for known, _ in sessions()]
    return f"no session {name!r} was started{like(name, known)}; stallkit list shows all"


def sessions(ctx: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """The sessions that stallkit started, with a word on their state; also for a shell that completes names."""
    if sessions_file().exists():
        with closing(Register(sessions_file(), or_copy=True)) as register:
            for one in register.listing():
                yield one.session.name, f"ended: {one.cause}" if isinstance(one, ExitRecord) else "running"


def named(name: str) -> RunningSession | ExitRecord | None:
    """The session of that name, or how it ended; None if none was ever started, or it is still being started."""
    if not sessions_file().exists():
        return None
    with opened() as register:
        session = register.latest(name)
    return session if isinstance(session, ExitRecord) or (session is not None and session.bound) else None


def reached(session: Session, listen: bool = False) -> tuple[str, Options]:
    """The target and the options that reach exactly its pane."""
    pane = Identity.of(session.identity).pane
    return f"tmux:{pane}", evolve(session.options, listen=listen)


def show_end(record: ExitRecord, as_json: bool) -> None:
    """Print how a session ended, for a person or a program."""
    if as_json:
        print_json({"version": 1, "target": record.session.name, "ended": end_object(record)})
    else:
        with opened(settled=False) as register:
            earlier = earlier_ends(register, record)
        show(record, earlier)


def end_object(record: ExitRecord) -> dict[str, Any]:
    """How it ended, for programs."""
    with opened(settled=False) as register:
        return as_json(record, earlier_ends(register, record))


def earlier_ends(register: Register, record: ExitRecord) -> list[ExitRecord]:
    """The ends of that name before its latest, the newest first: up to one more than a panel lists."""
    found = register.records(record.session.name, limit=EARLIER + 2)
    return [one for one in reversed(found) if one.session.id != record.session.id]


def leave(ctx: click.Context, record: ExitRecord) -> NoReturn:
    """Print how it ended, and exit the command: there is no session to act on."""
    common.leave(ctx, _ended(record))


class StartedHere:
    """What commands of the library ask: `stallkit.cli.common.StartedSessions`."""

    def names(self) -> Iterator[tuple[str, str]]:
        """Each name, with a word on its state."""
        return sessions()

    def find(self, name: str, listen: bool = False) -> common.RunningTarget | common.EndReport | None:
        """The session of that name; None if none was started, or it is still being started."""
        session = named(name)
        if session is None or isinstance(session, ExitRecord):
            return None if session is None else _ended(session)
        return common.RunningTarget(*reached(session.session, listen))

    def behind(self, target: str, socket_name: str | None, socket_path: str | None) -> common.EndReport | None:
        """How the session of a bare name or ``tmux:NAME`` on that server ended."""
        scheme, _, name = target.rpartition(":")
        record = named(name) if scheme in ("", "tmux") else None
        if not isinstance(record, ExitRecord):
            return None
        path = str(Path(socket_path).absolute()) if socket_path else None
        there = (record.session.tmux_socket_name, record.session.tmux_socket_path)
        here = not scheme or there in ((socket_name, path), lasting(socket_name, path))
        return _ended(record) if here else None

    def note(self, name: str, found: Readiness) -> common.EndReport | None:
        """Keep what a wait for its start found; how it ended, if it did meanwhile."""
        session = named(name)
        if session is None or isinstance(session, ExitRecord):
            return None if session is None else _ended(session)
        with opened(settled=False) as register:
            if found.ready is Ready.READY:
                register.ready(session.session.id)
            elif found.ready is Ready.TIMEOUT:
                register.start_timeout(session.session.id, found.why)
            write_out(register)
        return None


def _ended(record: ExitRecord) -> common.EndReport:
    return common.EndReport(partial(end_object, record), partial(show_end, record))


STARTED = StartedHere()


SESSION = Name("name", "stallkit_sessions.cli.named_sessions:sessions")
