"""Starting a program again where one ended: its exit record first, since a restart wipes the pane's screen.

The record is written for any session.  One that `stallkit start` began keeps its name, ports, directory, size, and the
container runtime or sandbox with its image, options and environment: the restart is a new start, within the same
bounds, or it is refused.  One that was started by hand gets the command as it is.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, Iterator, Sequence

from attrs import evolve, frozen
from stallkit_sessions.containers.runtime_call import BWRAP, DOCKER, PODMAN
from stallkit_sessions.containers.runtimes import container_name, runtime_of
from stallkit_sessions.finalize import finalize, write_out
from stallkit_sessions.launch import variables_again
from stallkit_sessions.lifecycle import SIZE, finalize_now, start, start_in_place
from stallkit_sessions.model import ExitRecord, Session
from stallkit_sessions.register import Register, RunningSession
from stallkit_sessions.witnesses import look

from stallkit.errors import StartRefused, StoreError, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.press.gate import End, Outcome
from stallkit.probes.procfs import Process, boot_id
from stallkit.redact.redact import MASK
from stallkit.transports.base import Options, Presence, Transport
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.identity import Identity
from stallkit.transports.tmux.pane import TmuxTransport
from stallkit_supervisor.loop_files import held, working_directory
from stallkit_supervisor.sources import socket_of
from stallkit_supervisor.store import Store

_CONTAINED = frozenset({BWRAP, DOCKER, PODMAN})


@frozen
class Restarter:
    """Starts `command`; `register` is the file of exit records, None to record nothing; `store` knows of halts."""

    command: tuple[str, ...]
    register: Path | None
    store: Store | None = None

    def in_place(self, transport: Transport, name: str, seen: Snapshot) -> Outcome:
        """Start it in the pane that is left, or the transport's equivalent."""
        if self.register is None or not isinstance(transport, TmuxTransport):
            return self._offered(transport, "restart", seen)
        try:
            record = keep_exit(self.register, name, transport, seen)
        except (StoreError, TransportError) as error:
            return Outcome(End.REFUSED, f"its end could not be recorded: {error}", after=seen)
        try:
            if record is not None:
                self._let(record, name)
                if record.session.command:
                    start_here(self.register, record, self.command)
                    return Outcome(End.CLEARED, "the program was started again", after=seen)
            _by_hand(transport, seen, self.command)
        except StartRefused as error:
            return Outcome(End.REFUSED, str(error), after=seen)
        except (StoreError, TransportError) as error:
            return Outcome(End.UNKNOWN, str(error), after=seen)
        return self._offered(transport, "restart", seen)

    def anew(self, transport: Transport, name: str, directory: Path | None = None) -> Outcome:
        """Start it where no pane is left: as `stallkit start` does if that began it, else by its transport.

        `directory` is where a session ran that was started by hand, if that is known.
        """
        if isinstance(transport, TmuxTransport):
            try:
                if self.register is not None and self._anew(self.register, transport, name):
                    return Outcome(End.CLEARED, "the session was started again")
                transport.start(self.command, str(directory) if directory else None)
            except StartRefused as error:
                return Outcome(End.REFUSED, str(error))
            except (StoreError, TransportError) as error:
                return Outcome(End.UNKNOWN, str(error))
            return Outcome(End.CLEARED, "the program was started again")
        return self._offered(transport, "start", None)

    def _anew(self, register: Path, transport: TmuxTransport, name: str) -> bool:
        record = ended_here(register, name, transport.options)
        if record is None:
            return False
        self._let(record, name)
        start_anew(register, record, self.command)
        return True

    def _let(self, record: ExitRecord, name: str) -> None:
        """Raise StartRefused where an ``.auto-stop`` lies where the session was started."""
        stop = held([Path(record.session.directory)], name, self.store)
        if stop is not None:
            raise StartRefused(record.session.name, f"{stop} is there", "find out who wrote it, and remove it")

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


def keep_exit(file: Path, target: str, transport: TmuxTransport, seen: Snapshot) -> ExitRecord | None:
    """Write the exit record of a pane whose program ended; None where its name is another running session's.

    `file` is the register, `target` the session's name.  Raises StoreError where it cannot be written, StartRefused
    where that would forget how the session was started.
    """
    assert seen.identity is not None  # every pane has one
    with _register(file) as register:
        finalize_now(register)
        name = target.removeprefix("tmux:")
        known = next((one for one in register.listing() if one.session.identity == seen.identity), None)
        if isinstance(known, RunningSession):
            raise StartRefused(name, "how it ended is not explained yet", "look again")
        latest = register.latest(name)
        if known is None and not isinstance(latest, RunningSession):
            if latest is not None and latest.session.engine and _is_on(latest.session, transport.options):
                why = "another program was put into its pane, and how that was started is not known"
                raise StartRefused(name, why, f"start it by hand: stallkit postmortem {name}")
            stranger = _stranger(register, name, transport, seen.identity)
            finalize(register, [look(stranger)])
            known = register.get(stranger.session.id)
        write_out(register)
        return known if isinstance(known, ExitRecord) else None


def start_here(file: Path, record: ExitRecord, command: Sequence[str]) -> None:
    """Start a session that `stallkit start` began again, in the pane that it left.

    Raises StartRefused, and other TransportErrors and StoreErrors, where it cannot be started.
    """
    with _register(file) as register:
        start_in_place(register, record, _again(record.session, command))


def start_anew(file: Path, record: ExitRecord, command: Sequence[str]) -> None:
    """Start a session that `stallkit start` began again, where no pane is left of it.  Raises as `start_here` does."""
    with _register(file) as register:
        start(register, _again(record.session, command), record.session.size or SIZE)


def ended_here(file: Path, target: str, options: Options) -> ExitRecord | None:
    """How the session of that name ended, if `stallkit start` began it on that tmux server.

    Raises StartRefused where it has not ended, StoreError where that cannot be read.
    """
    with _register(file) as register:
        finalize_now(register)
        known = register.latest(target.removeprefix("tmux:"))
    if known is None or not known.session.command or not _is_on(known.session, options):
        return None
    if isinstance(known, RunningSession):
        raise StartRefused(known.session.name, "it has not ended, as far as is known", "look at it: stallkit list")
    return known


def started_with(file: Path, identity: str) -> tuple[str, ...] | None:
    """The command of the session that `stallkit start` began in a pane; None where it began none there.

    Raises StoreError, and StartRefused where it could not be started again as it was.
    """
    with _register(file) as register:
        found = next((one.session for one in register.living() if one.session.identity == identity), None)
    if found is None or not found.command:
        return None
    if any(MASK in word for word in found.command):
        why = "its command was redacted in the register, so it is not known"
        raise StartRefused(found.name, why, "start it by hand, and give secrets in a file")
    variables_again(found)
    return _again(found, found.command).command


def _again(session: Session, command: Sequence[str]) -> Session:
    """Another start of it, with a supervisor's restart command in place of its own, and everything else as it was.

    Raises StartRefused where that is not known, or where its container runs on.
    """
    name, runtime = session.name, runtime_of(session)
    if not Path(session.directory).is_dir():
        raise StartRefused(name, f"{session.directory} is not a directory", "make it again, or start it elsewhere")
    if any(MASK in word for word in session.engine_options):
        why = "its runtime's options were redacted in the register, so they are not known"
        raise StartRefused(name, why, "start it by hand, and give secrets in a file")
    if runtime is not None and session.container is not None:
        found = runtime.facts(session.container)
        if found.running or found.place is Presence.UNSEEN:
            why = "its container runs on" if found.running else "whether its container runs on is unknown"
            raise StartRefused(name, why, f"{'' if session.sealed else 'attach to it, or: '}stallkit stop {name}")
    id = secrets.token_hex(6)
    bare = evolve(session, identity="", pane_started=None, id=id, container=container_name(name, id, session.engine))
    return evolve(bare, command=tuple(command), started_at=time.time(), boot=boot_id())


def _is_on(session: Session, options: Options) -> bool:
    """Whether a session was started on that tmux server: it has a path if the environment had a say."""
    own = session.tmux_socket_path or f"/tmp/tmux-{os.getuid()}/{session.tmux_socket_name or 'default'}"
    return Path(own).resolve() == Path(socket_of(options)).resolve()


def _by_hand(transport: TmuxTransport, seen: Snapshot, command: Sequence[str]) -> None:
    """Raise StartRefused where a pane was started by hand in a container or sandbox that `command` does not name."""
    assert seen.identity is not None  # every pane has one
    words = ["display-message", "-p", "-t", Identity.of(seen.identity).pane, "#{pane_start_command}"]
    begun = _names(Server(transport.options).run(transport.target, words)) & _CONTAINED
    if begun and not begun & _names(" ".join(command)):
        why = f"its pane was started with {', '.join(sorted(begun))}, and the restart command would run on the host"
        raise StartRefused(transport.target, why, "start it with stallkit start, or name it in [restart] command")


def _names(text: str) -> set[str]:
    """The programs that a command's words may name."""
    return {word.rpartition("/")[2] for word in re.split(r"[\s\"'`;&|()]+", text)}


def _stranger(register: Register, name: str, transport: TmuxTransport, identity: str) -> RunningSession:
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
    return RunningSession(evolve(session, identity=identity), bound=True, claimed_by=Process.ours())


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
