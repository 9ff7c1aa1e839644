"""Starting a program again where one ended: its exit record first, since a restart wipes the pane's screen.

The record is written for any session.  One that `stallkit start` began keeps its name: the restart is a new start.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, Iterator, Sequence

from attrs import evolve, frozen

from stallkit.core.verdict import Snapshot
from stallkit.errors import StallkitError, StoreError, TransportError
from stallkit.press.gate import End, Outcome
from stallkit.probes.procfs import Process, boot_id
from stallkit.sessions.finalize import finalize, write_out
from stallkit.sessions.lifecycle import SIZE, finalize_now, start
from stallkit.sessions.model import ExitRecord, Session
from stallkit.sessions.monitor_client import ask, ensure
from stallkit.sessions.register import Living, Register
from stallkit.sessions.witnesses import look
from stallkit.supervise.loop_files import working_directory
from stallkit.transports.base import Transport
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.identity import Identity
from stallkit.transports.tmux.pane import TmuxTransport

__all__ = ["Restarter", "begun_again", "keep_exit", "start_anew"]


@frozen
class Restarter:
    """Starts `command`; `register` is the file of exit records, None to record nothing."""

    command: tuple[str, ...]
    register: Path | None

    def in_place(self, transport: Transport, name: str, seen: Snapshot) -> Outcome:
        """Start it in the pane that is left, or the transport's equivalent."""
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
        """Start it where no pane is left: as `stallkit start` does if that began it, else by its transport."""
        if self.register is not None and isinstance(transport, TmuxTransport):
            try:
                if start_anew(self.register, name, self.command):
                    return Outcome(End.CLEARED, "the session was started again")
            except (StoreError, TransportError) as error:
                return Outcome(End.UNKNOWN, str(error))
        return self._offered(transport, "start", None)

    def _offered(self, transport: Transport, how: str, seen: Snapshot | None) -> Outcome:
        """Start it by the transport's `restart(command, seen)` or `start(command)`, where it has one."""
        offered: Callable[..., None] | None = getattr(transport, how, None)
        if offered is None:
            return Outcome(End.REFUSED, "its transport cannot start a program", after=seen)
        try:
            offered(self.command, *([seen] if seen else []))
        except TransportError as error:
            return Outcome(End.UNKNOWN, str(error), after=seen)
        return Outcome(End.CLEARED, "the program was started again", after=seen)


def _who_is_in(transport: TmuxTransport) -> str:
    """The identity of a pane that just got another process."""
    now = TmuxTransport(transport.pane, transport.options)
    try:
        return now.capture().identity or ""
    finally:
        now.close()


def keep_exit(file: Path, target: str, transport: TmuxTransport, seen: Snapshot) -> ExitRecord | None:
    """Write the exit record of a pane whose program ended; None where its name is another running session's.

    `file` is the register, `target` the session's name.  Raises StoreError where it cannot be written.
    """
    assert seen.identity is not None  # every pane has one
    with _register(file) as register:
        finalize_now(register)
        name = target.removeprefix("tmux:")
        known = next((one for one in register.listing() if one.session.identity == seen.identity), None)
        if known is None and not isinstance(register.latest(name), Living):
            known = _stranger(register, name, transport, seen.identity)
            finalize(register, [look(known)])
            known = register.get(known.session.id)
        write_out(register)
        return known if isinstance(known, ExitRecord) else None


def begun_again(file: Path, record: ExitRecord, identity: str, command: Sequence[str]) -> None:
    """Note that a session that `stallkit start` began was started again in its pane: the same name, another start.

    Other sessions are not noted.  Raises StoreError, and StartRefused where another session took its name or port.
    """
    if not record.session.command:
        return
    session = _again(record.session, command)
    with _register(file) as register:
        register.claim(session, Process.ours())
        program = Process.of(Identity.of(identity).pid)
        register.bound(session.id, identity, program.started if program else None)
        write_out(register)
    with suppress(StallkitError, OSError):  # without a monitor its end is reported in less detail
        ensure(file.parent)
        ask(file.parent)


def start_anew(file: Path, target: str, command: Sequence[str]) -> bool:
    """Start a session that is gone again, if `stallkit start` began it; return whether it did.

    Raises StoreError and TransportErrors where it cannot be started.
    """
    with _register(file) as register:
        finalize_now(register)
        known = register.latest(target.removeprefix("tmux:"))
        if not isinstance(known, ExitRecord) or not known.session.command:
            return False
        start(register, _again(known.session, command), SIZE)
        return True


def _again(session: Session, command: Sequence[str]) -> Session:
    """Another start of it, by a supervisor's restart command; a container in that command is the user's own."""
    bare = evolve(session, identity="", pane_started=None, engine=None, image=None, container=None)
    return evolve(bare, id=secrets.token_hex(6), command=tuple(command), started_at=time.time(), boot=boot_id())


def _stranger(register: Register, name: str, transport: TmuxTransport, identity: str) -> Living:
    """A session that stallkit did not start as a registered one, so that its end can be explained like any other."""
    options = transport.options
    session = Session(
        name=name,
        id=secrets.token_hex(6),
        command=(),
        directory=_directory(transport, Identity.of(identity)),
        started_at=time.time(),
        boot=boot_id(),
        tmux_socket_name=options.tmux_socket_name,
        tmux_socket_path=options.tmux_socket_path,
    )
    register.claim(session, Process.ours())  # not bound: there must be no event that it started now
    return Living(evolve(session, identity=identity), bound=True, claimed_by=Process.ours())


def _directory(transport: TmuxTransport, identity: Identity) -> str:
    """Where it was started; if unknown, a path that is not a directory, so that nothing is read or written there."""
    directory = working_directory(identity.pid)
    if directory is None:  # usual, since its program ended
        words = ["display-message", "-p", "-t", identity.pane, "#{pane_start_path}"]
        with suppress(TransportError):
            directory = Path(Server(transport.options).run(transport.target, words).removesuffix("\n"))
    return str(directory if directory is not None and directory.is_absolute() else os.devnull)


@contextmanager
def _register(file: Path) -> Iterator[Register]:
    register = Register(file)
    try:
        yield register
    finally:
        register.close()
