"""Carrying out a decision on a watched session, in a thread: look again, write the intent, act, write the outcome.

This order makes a crash safe: an intent is on the disk before anything is done, and one without an outcome is never
repeated.

A program is started again where one ended, its exit record first, since a restart wipes the pane's screen.  The record
is written for any session.  One that `stallkit start` began keeps its name, ports, directory, size, and the container
runtime or sandbox with its image, options and environment: the restart is a new start, within the same bounds, or it is
refused.  One that was started by hand gets the command as it is.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, Iterator, Sequence

from attrs import evolve, field, frozen
from stallkit_sessions.containers.runtime_call import BWRAP, DOCKER, PODMAN
from stallkit_sessions.containers.runtimes import container_name, runtime_of
from stallkit_sessions.finalize import finalize, write_out
from stallkit_sessions.launch import variables_again
from stallkit_sessions.lifecycle import SIZE, finalize_now, start, start_in_place
from stallkit_sessions.model import ExitRecord, Session
from stallkit_sessions.register import Register, RunningSession
from stallkit_sessions.resuming import resume_command, session_of, session_shown
from stallkit_sessions.terminate import TerminationResult, end_process
from stallkit_sessions.witnesses import look

from stallkit.config import sessions_file
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Pack
from stallkit.errors import SessionGone, StartRefused, StoreError, TransportError
from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot, names_of
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.press.check import observe
from stallkit.press.gate import MOVES_S, End, Outcome, press
from stallkit.press.policy import Action, Choose, Interrupt, Policy, Press, Restart, Resume, Send
from stallkit.press.reader_check import UNREAD, came_later, is_of
from stallkit.press.rules import Scene
from stallkit.press.send import send
from stallkit.press.strokes import doubt_of_work
from stallkit.probes.procfs import PROC, Process, boot_id
from stallkit.redact.redact import MASK
from stallkit.transports import base
from stallkit.transports.base import Moving, Options, Presence, Transport
from stallkit.transports.tmux.call import Server
from stallkit.transports.tmux.identity import Identity
from stallkit.transports.tmux.pane import TmuxTransport
from stallkit.word_tables import SHELLS, WRAPPERS
from stallkit_supervisor.loop_files import held, working_directory
from stallkit_supervisor.prompt_state import Observed, observed
from stallkit_supervisor.session_state import RecoveryCommands, WatchConfig
from stallkit_supervisor.shell_prompt import ShellPrompt
from stallkit_supervisor.sources import socket_of
from stallkit_supervisor.store import Halted, Store

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
        """Start it by the transport's `restart(command, seen)` or `start(command)`, if it has one."""
        offered: Callable[..., None] | None = getattr(transport, how, None)
        if offered is None:
            return Outcome(End.REFUSED, "its transport cannot start a program", after=seen)
        try:
            offered(self.command, *([seen] if seen else []))
        except TransportError as error:
            return Outcome(End.UNKNOWN, str(error), after=seen)
        return Outcome(End.CLEARED, "the program was started again", after=seen)


def keep_exit(file: Path, target: str, transport: TmuxTransport, seen: Snapshot) -> ExitRecord | None:
    """Write the exit record of a pane whose program ended; None if its name is another running session's.

    `file` is the register, `target` the session's name.  Raises StoreError if it cannot be written, StartRefused
    if that would forget how the session was started.
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
                why = "another program runs in its pane, and how it was started is unknown"
                raise StartRefused(name, why, f"start it by hand: stallkit output --postmortem {name}")
            stranger = _stranger(register, name, transport, seen.identity)
            finalize(register, [look(stranger)])
            known = register.get(stranger.session.id)
        write_out(register)
        return known if isinstance(known, ExitRecord) else None


def start_here(file: Path, record: ExitRecord, command: Sequence[str]) -> None:
    """Start a session that `stallkit start` began again, in the pane that it left.

    Raises StartRefused, and other TransportErrors and StoreErrors, if it cannot be started.
    """
    with _register(file) as register:
        start_in_place(register, record, _again(record.session, command))


def start_anew(file: Path, record: ExitRecord, command: Sequence[str]) -> None:
    """Start a session that `stallkit start` began again, where no pane is left of it.  Raises as `start_here` does."""
    with _register(file) as register:
        start(register, _again(record.session, command), record.session.size or SIZE)


def ended_here(file: Path, target: str, options: Options) -> ExitRecord | None:
    """How the session of that name ended, if `stallkit start` began it on that tmux server.

    Raises StartRefused if it has not ended, StoreError if that cannot be read.
    """
    with _register(file) as register:
        finalize_now(register)
        known = register.latest(target.removeprefix("tmux:"))
    if known is None or not known.session.command or not _is_on(known.session, options):
        return None
    if isinstance(known, RunningSession):
        raise StartRefused(known.session.name, "it may still run", "look at it: stallkit list")
    return known


def started_with(file: Path, identity: str) -> tuple[str, ...] | None:
    """The command of the session that `stallkit start` began in a pane; None if it began none there.

    Raises StoreError, and StartRefused if it could not be started again as it was.
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
    """Another start of it, with a supervisor's restart command instead of its own, and everything else as it was.

    Raises StartRefused if that is not known, or if its container runs on.
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
    """Raise StartRefused if a pane was started by hand in a container or sandbox that `command` does not name."""
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


GRACE_S = 10.0  # from SIGTERM to SIGKILL: an agent writes its session down
LEFT_S = 10.0  # from its end until what is left is sure: a shell draws its prompt, tmux notices the end
MORE_TRIES = 3
LINES = 40  # kept of the last screen: usually a crash's trace


@frozen
class _Reopening:
    """An agent that hangs: what is ended, and what is started so that it goes on with its session."""

    agent: str
    process: Process
    session: str  # the id, as the agent itself names it
    command: tuple[str, ...]


@frozen
class Recoverer:
    """Acts on sessions, one at a time each; `clock` and `sleep` are for the gate."""

    engine: Engine
    store: Store | None
    hands: RecoveryCommands = field(factory=RecoveryCommands)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def act(
        self,
        transport: Transport,
        name: str,
        decision: Action,
        config: WatchConfig,
        was: Observed,
        directories: Sequence[Path] = (),
        last: Snapshot | None = None,
    ) -> Outcome:
        """Do it once, if the session still is as seen, and return the outcome.  Raises nothing that can be expected.

        An ``.auto-stop`` in the loop's `directories`, a halt and the limits in the store are looked at again.
        `last` is the look that was decided on, if it is known: both decisions are made of the same scene.
        """
        if isinstance(decision, Resume):
            decision = evolve(decision, keys=self.hands.resume)
        seen: Snapshot | None = None  # for a session that is gone: it can only be started again
        try:
            verdict, seen = observe(transport, self.engine, sleep=self.sleep, clock=self.clock)
        except SessionGone as error:
            again = isinstance(decision, Restart) and not decision.resumes and self.hands.restart
            doubt = None if again else str(error)
        except TransportError as error:
            doubt = str(error)
        else:
            seen = evolve(seen, target=last.target if last else name)  # it may have been reached by its pane's number
            doubt = self._doubt(decision, config.policy, was, verdict, seen)
            if doubt is None and isinstance(decision, Press | Choose) and last and last.identity == seen.identity:
                doubt = came_later(seen, last)
        how: _Reopening | str | None = None
        if doubt is None and isinstance(decision, Restart) and decision.resumes:
            how = self._reopening(transport)
            doubt = how if isinstance(how, str) else None
        stop = held(directories, name, self.store)
        if doubt is not None or stop is not None:
            return Outcome(End.REFUSED, doubt or f"{stop} is there", after=seen)
        try:
            intent = self._intend(name, decision, config, was, seen)
        except StoreError as error:
            return Outcome(End.REFUSED, f"not done, as it cannot be recorded: {error}")
        except Halted as error:
            return Outcome(End.REFUSED, error.why, after=seen)
        directory = directories[0] if directories else None
        if isinstance(how, _Reopening) and seen is not None:
            self._keep_last(name, seen)
            outcome = self._reopen(how, transport, name, directory)
        else:
            outcome = self._do(transport, name, decision, seen, directory)
        return outcome if intent is None else self._concluded(intent, outcome)

    def _doubt(self, decision: Action, policy: Policy, was: Observed, verdict: Verdict, seen: Snapshot) -> str | None:
        """The reason against it, after another look; None if there is none."""
        if isinstance(decision, Restart) and not decision.resumes and seen.alive and self.hands.restart:
            return None  # `ShellPrompt` asks the kernel whether a shell is at its prompt, whatever the screen shows
        if observed(verdict) != was:
            return f"it changed after the look: {verdict.reasons[-1]}"
        again = policy.decide(verdict, Scene.of(seen))
        if isinstance(decision, Press | Choose | Send) and again != decision:
            if not (seen.kernel and seen.kernel.readers):
                return UNREAD
            return getattr(again, "why", "there is nothing to press now")
        if isinstance(decision, Choose | Send | Interrupt) or (isinstance(decision, Restart) and decision.resumes):
            return None
        possible = self.hands.restart if isinstance(decision, Restart) else decision.keys
        return None if possible else "nothing is configured for it"

    def _intend(
        self, name: str, decision: Action, config: WatchConfig, was: Observed, seen: Snapshot | None
    ) -> int | None:
        """Write down the intent; None if there is no store.  Raises StoreError, Halted."""
        if self.store is None:
            return None
        keys = None if isinstance(decision, Choose | Restart | Send) else str(decision.keys)
        what = ("", "", "", None) if seen is None else (seen.identity, seen.screen.fingerprint, str(was), keys)
        limits = config.restarts if isinstance(decision, Restart) else config.limits
        return self.store.intend(name, type(decision).__name__.lower(), *what, limits=limits)

    def _concluded(self, intent: int, outcome: Outcome) -> Outcome:
        assert self.store is not None  # it gave the intent
        try:
            self.store.conclude(intent, outcome.end, outcome.why)
        except StoreError as error:
            return evolve(outcome, why=f"{outcome.why}; {error}")
        return outcome

    def _do(
        self, transport: Transport, name: str, decision: Action, seen: Snapshot | None, directory: Path | None
    ) -> Outcome:
        if seen is None:
            return self._restarter.anew(transport, name, directory)
        if isinstance(decision, Send):
            sending = send(transport, decision.text, self.engine, clock=self.clock, sleep=self.sleep)
            return sending.outcome or Outcome(End.REFUSED, sending.why, after=seen)
        if isinstance(decision, Interrupt):
            return self._interrupt(transport, decision, seen)
        if not isinstance(decision, Restart):
            return press(transport, decision, seen, self.engine, self.clock, self.sleep)
        self._keep_last(name, seen)
        if seen.alive is False:
            return self._restarter.in_place(transport, name, seen)
        return ShellPrompt(transport, self.engine, self.clock, self.sleep).run(self.hands.restart)

    def _interrupt(self, transport: Transport, decision: Interrupt, seen: Snapshot) -> Outcome:
        """Tried a few times: a spinner may be drawn again at the very moment of the press."""
        outcome = press(transport, decision, seen, self.engine, self.clock, self.sleep)
        for _ in range(MORE_TRIES):
            if outcome.pressed or outcome.after is None:
                break
            outcome = press(transport, decision, outcome.after, self.engine, self.clock, self.sleep)
        return outcome

    def _reopening(self, transport: Transport) -> _Reopening | str:
        """How the agent that hangs there can be ended and started again; or why not, in words."""
        if not isinstance(transport, Moving):
            return "its transport does not say who reads while its screen moves"
        try:
            before = transport.capture_moving()
            self.sleep(MOVES_S)
            now = transport.capture_moving()
        except TransportError as error:
            return str(error)
        verdict = judged(self.engine, now, before)
        doubt = doubt_of_work(verdict, now)
        if doubt is not None or verdict.match is None or now.identity != before.identity:
            return doubt or "it is another session now"
        known = verdict.detection.words.resumable(verdict.agents or ())
        process = _process(known[0].name, verdict.match.pack, now.kernel or KernelFacts()) if len(known) == 1 else None
        if process is None or now.elsewhere:
            return "it is not certain which process is the agent"
        agent, session = known[0], session_of(verdict, known[0]) or session_shown(now.screen.text, known[0])
        if session is None:
            return "the id of its session is unknown: neither its own report nor its screen names one"
        try:
            given = started_with(self._register, now.identity) if self._register is not None else None
        except (StoreError, TransportError) as error:
            return str(error)
        command = resume_command(given or _command_line(process.pid, agent.name), agent, session)
        if command is None:
            return "it is not clear how it was started, so how to resume it is unknown"
        return _Reopening(agent.name, process, session, command)

    def _reopen(self, how: _Reopening, transport: Transport, name: str, directory: Path | None) -> Outcome:
        """End that agent, and start it again where its session or pane has ended, or is at a shell's prompt.

        Never refused: something was done.
        """
        who, ended = f"{how.agent} (pid {how.process.pid})", end_process(how.process, GRACE_S, self.clock)
        if ended not in (TerminationResult.ASKED, TerminationResult.KILLED, TerminationResult.ALREADY):
            return Outcome(End.UNKNOWN, f"{who} did not end")
        told = f"{who} was ended" + (" by force" if ended is TerminationResult.KILLED else "")
        outcome = self._go_on(how, transport, name, directory)
        why = f"{told}; {outcome.why}" + (f", with its session {how.session}" if outcome else "")
        return evolve(outcome, end=End.UNCHANGED if outcome.end is End.REFUSED else outcome.end, why=why)

    def _go_on(self, how: _Reopening, transport: Transport, name: str, directory: Path | None) -> Outcome:
        restarter, until = Restarter(how.command, self._register, self.store), self.clock() + LEFT_S
        while True:
            try:
                seen = base.look(transport)
            except SessionGone:
                return restarter.anew(transport, name, directory)
            except TransportError as error:
                return Outcome(End.UNKNOWN, str(error))
            if seen.alive is False:
                return restarter.in_place(transport, name, seen)
            outcome = ShellPrompt(transport, self.engine, self.clock, self.sleep).run(how.command)
            if outcome.end is not End.REFUSED:
                return outcome
            if self.clock() >= until:
                return evolve(outcome, end=End.UNCHANGED, why=f"nothing was started: {outcome.why}")

    @property
    def _register(self) -> Path | None:
        return self.store.path.with_name(sessions_file().name) if self.store else None

    @property
    def _restarter(self) -> Restarter:
        return Restarter(self.hands.restart, self._register, self.store)

    def _keep_last(self, name: str, seen: Snapshot) -> None:
        """What a restart would lose: the last screen, and the exit status or None if that is unknown."""
        if self.store is not None:
            lines = [line for line in seen.screen.text.splitlines() if line.strip()]
            with suppress(StoreError):
                facts = {"exit_status": seen.exit_status, "alive": seen.alive, "screen": lines[-LINES:]}
                self.store.incident(name, "before_restart", facts)


def _process(agent: str, pack: Pack, kernel: KernelFacts) -> Process | None:
    """The agent's own process: the one that reads the terminal, or else the only one of its name there."""
    there = [one for one in kernel.readers or kernel.members if not one.ended]
    own = [one for one in there if agent in _programs(one) and is_of(pack, one, kernel)]
    own = [one for one in own if not one.names & (SHELLS | WRAPPERS)]
    if len(own) != 1 or own[0].started is None:
        return None
    return Process(own[0].pid, own[0].started)


def _programs(member: Member) -> frozenset[str]:
    return member.names | (names_of(member.script, None, None) if member.script else frozenset())


def _command_line(pid: int, agent: str) -> tuple[str, ...]:
    """How a process was started, without an interpreter before the agent; empty if that is not known for sure."""
    try:
        line = Path(PROC, str(pid), "cmdline").read_bytes()
    except OSError:
        return ()
    words = tuple(os.fsdecode(line).split("\0"))
    if words[-1] or not all(words[:-1]):
        return ()  # it was written over, as a program does that gives itself a title: its options are lost
    words = words[:-1]
    return words[1:] if len(words) > 1 and Path(words[1]).name == agent and Path(words[0]).name != agent else words
