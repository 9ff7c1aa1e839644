"""Starting and stopping sessions: the name is taken, and each order and record written, before anything is done."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Callable

from attrs import evolve

from stallkit import private
from stallkit.config import sessions_file
from stallkit.errors import StallkitError, StartRefused, StoreError, TransportError
from stallkit.probes.procfs import Process, boot_id
from stallkit.signals.collect import remove_files
from stallkit.transports.base import Presence
from stallkit.variables import Variables
from stallkit_sessions.containers.runtimes import ContainerRuntime, runtime_of
from stallkit_sessions.end_facts import facts
from stallkit_sessions.finalize import finalize, write_out
from stallkit_sessions.launch import Launch, launch, variables_again
from stallkit_sessions.model import Cause, ExitRecord, Order, Session
from stallkit_sessions.monitor_client import ask, ensure
from stallkit_sessions.panes import NameTaken, begin, find, remove, respawn
from stallkit_sessions.register import Register, RunningSession
from stallkit_sessions.terminate import end_program
from stallkit_sessions.witnesses import adopt, look_at_all

SIZE = (120, 40)  # columns and rows of a terminal by default: agents draw for wide ones
CLIENT_S, AGAIN_S = 10.0, 0.1  # for the client of a container that ended to end as well: podman's takes a second
UP_S = 10.0  # for a container to run, or not to: after that its image may still be on its way
Begun = tuple[str, int | None]  # the identity of what began, and its start in clock ticks since boot
GRACE_S = 10.0  # for a program to end by itself after TERM, as docker stop gives it


def start(
    register: Register,
    session: Session,
    size: tuple[int, int],
    replace: bool = False,
    tell: Callable[[str], object] = lambda line: None,
    variables: Variables | None = None,
) -> Session:
    """Start it, watched from its beginning; the returned session has its ports and identity.

    With `replace` a session of that name is stopped first.  `tell` is called with warnings.  Without `variables` it is
    another start of one that was given them.  Raises StartRefused and other TransportErrors if it could not be
    started, StoreError if that cannot be noted, ValueError for an invalid name or ports: then name and ports are
    free again, and nothing runs.
    """
    variables = variables_again(session) if variables is None else variables
    session = evolve(_on_its_socket(session), size=size)
    finalize_now(register)
    held = register.latest(session.name)
    if replace and isinstance(held, RunningSession):
        stop(register, held, Order.REPLACE)
        held = register.latest(session.name)
    session = register.claim(session, Process.ours())

    def begins(launched: Launch) -> Begun:
        if isinstance(held, ExitRecord):
            tidy(held)
        return begin(session, launched.argv, size, launched.environment)

    begun = _claimed(register, session, variables, begins, tell)
    _await_container(register, session)
    return begun


def start_in_place(register: Register, record: ExitRecord, session: Session) -> Session:
    """Start a session in the pane that an ended one of its name left; the returned session has its identity.

    Raises as `start` does: name and ports are taken before anything is done, and free again if it failed.
    """
    variables = variables_again(session)
    session = register.claim(session, Process.ours())

    def begins(launched: Launch) -> Begun:
        return respawn(record.session, session.id, launched.argv, launched.environment)

    begun = _claimed(register, session, variables, begins, lambda line: None)
    _remove_container(record)
    return begun


def _claimed(
    register: Register,
    session: Session,
    variables: Variables,
    begins: Callable[[Launch], Begun],
    tell: Callable[[str], object],
) -> Session:
    """Start a session that has its name and ports, and note that it runs; where that fails, nothing of it is left."""
    try:
        _watched(tell)
        with launch(session, variables) as launched:
            identity, started = begins(launched)
            launched.delivered(identity)
        if not register.bound(session.id, identity, started):
            raise StartRefused(session.name, "its claim was given up meanwhile", "start it again")
    except NameTaken:  # by a session that stallkit did not start
        register.abandon(session.id)
        raise
    except Exception:  # an interrupt leaves the claim to the next command, which binds what runs, or gives it up
        _undo(register, session)
        raise
    write_out(register)
    if not ask():  # the monitor may have just ended, as it had no sessions
        _watched(tell)
    found = register.get(session.id)
    assert found is not None  # it was just bound
    return found.session


def _await_container(register: Register, session: Session) -> None:
    """Return once its container runs, or has ended, or is still being made after a while.

    Raises StartRefused if its runtime could not start it: the session has ended then.
    """
    runtime, deadline = runtime_of(session), time.monotonic() + UP_S
    while runtime is not None and session.container is not None and time.monotonic() < deadline:
        finalize_now(register)
        found = register.get(session.id)
        if isinstance(found, ExitRecord):
            if found.cause is Cause.NOT_STARTED:
                raise StartRefused(session.name, found.why, f"see stallkit output {session.name}")
            return
        if runtime.facts(session.container).running:
            return
        time.sleep(AGAIN_S)


def stop(register: Register, living: RunningSession, order: Order = Order.STOP, grace_s: float = GRACE_S) -> ExitRecord:
    """End a session: its program, its record, its pane and container, in this order.

    Raises TransportError if its program cannot be ended or looked at: then nothing is removed.
    """
    session = living.session
    if not living.bound:
        why = f"process {living.claimed_by.pid} is starting it just now"
        raise TransportError(session.name, why, "try again when it has started")
    register.order(session.id, order, Process.ours())
    try:
        last = facts(session)
        if last.facts.place is Presence.UNSEEN:  # its state is unknown
            raise TransportError(session.name, last.why, "try again when its tmux server answers")
        if last.lines:
            register.saw([(session.id, last.lines, None, time.time())])
        runtime = runtime_of(session)
        if runtime is not None and session.container is not None:
            _end_container(runtime, session, session.container, grace_s)
        else:
            end_program(session, grace_s)
        finalize_now(register)
    except BaseException:
        with suppress(StoreError):
            register.order(session.id, None)
        raise
    record = register.get(session.id)
    if not isinstance(record, ExitRecord):
        register.order(session.id, None)
        raise TransportError(session.name, "it did not end", "look at it: stallkit output " + session.name)
    tidy(record)
    return record


def _end_container(runtime: ContainerRuntime, session: Session, container: str, grace_s: float) -> None:
    """End a container and its client; one that the client is about to make is looked for until it exists.

    Raises the runtime's TransportErrors.
    """
    deadline = time.monotonic() + CLIENT_S
    while time.monotonic() < deadline:
        runtime.stop(container, grace_s)
        pane = facts(session).facts
        if pane.place is not Presence.THERE or pane.dead:
            return
        time.sleep(AGAIN_S)
    end_program(session, grace_s)


def tidy(record: ExitRecord) -> None:
    """Remove what an ended session left: its dead pane, its container unless that runs on."""
    with suppress(TransportError):
        remove(record.session)
    _remove_container(record)


def _remove_container(record: ExitRecord) -> None:
    runtime, container = runtime_of(record.session), record.session.container
    if runtime is not None and container is not None:
        with suppress(TransportError):
            if not runtime.facts(container).running:
                runtime.remove(container)


def clear(record: ExitRecord, grace_s: float = GRACE_S) -> None:
    """The same, and end what outlived the session: a container without its client, a program that ignores SIGHUP.

    Raises TransportError if that cannot be done.
    """
    runtime, container = runtime_of(record.session), record.session.container
    if runtime is not None and container is not None and runtime.facts(container).running:
        runtime.stop(container, grace_s)
    if record.session.boot == boot_id():  # a process of another boot is another process
        end_program(record.session, grace_s)
    tidy(record)


def finalize_now(register: Register) -> None:
    """Write down every end that can be found: by the monitor, which saw it; without one, from what is left.

    Raises StoreError.
    """
    if not ask():
        finalize(register, look_at_all([one for one in register.living() if adopt(register, one)]))
    write_out(register)


def lasting(name: str | None, path: str | None) -> tuple[str | None, str | None]:
    """Name and path of a tmux server's socket that mean the same in any other environment.

    The socket's folder depends on TMUX_TMPDIR and the default server on TMUX, which differ in the monitor.
    """
    folder, inside = os.environ.get("TMUX_TMPDIR"), os.environ.get("TMUX", "").split(",")[0]
    if path is not None or not (folder or inside):
        return name, path
    if name is None and inside:
        return None, inside
    return None, str(Path(folder or "/tmp").resolve() / f"tmux-{os.getuid()}" / (name or "default"))


def _on_its_socket(session: Session) -> Session:
    name, path = lasting(session.tmux_socket_name, session.tmux_socket_path)
    if path is not None and session.tmux_socket_path is None:
        above = Path(path).parent  # tmux makes and checks it only for a socket that has a name
        if above.name == f"tmux-{os.getuid()}":
            private.folder(above)
        above.mkdir(mode=0o700, exist_ok=True)
    return evolve(session, tmux_socket_name=name, tmux_socket_path=path)


def _undo(register: Register, session: Session) -> None:
    """Stop what a failed start left running, and give up its claim, as far as tmux and the runtime answer."""
    with suppress(StallkitError):
        found = find(session.id, session.options)
        if found is not None:
            begun = evolve(session, identity=found[0], pane_started=found[1])
            end_program(begun, 0)
            remove(begun)
    if session.hooks:
        remove_files(session.id)
    with suppress(StoreError):
        register.abandon(session.id)


def reconcile() -> None:
    """The first step of a new supervisor: write down what ended while no process looked, and have the rest watched.

    Raises StoreError.
    """
    if sessions_file().exists():
        with closing(Register(sessions_file())) as register:
            finalize_now(register)
            if register.living():
                ensure()
                if not ask():  # one that was just killed may still have held its lock
                    ensure()


def _watched(tell: Callable[[str], object]) -> None:
    try:
        ensure()
    except (StallkitError, OSError) as error:
        tell(f"{error}: how it ends may stay unknown")
