"""Ending an agent that hangs, and starting it again so that it goes on with its session.

All that a new start needs is known before the old one is ended: which process is the agent, how it was started, and the
id of its session.  Nothing but that process is ended, never a shell or what started it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Callable

from attrs import evolve, frozen
from stallkit_sessions.resuming import resume_command, session_of, session_shown
from stallkit_sessions.terminate import Ended, end_process

from stallkit.detect.engine import Engine
from stallkit.detect.families import SHELLS, WRAPPERS
from stallkit.detect.signature import Pack
from stallkit.errors import SessionGone, StoreError, TransportError
from stallkit.evidence.facts import KernelFacts, Member, names_of
from stallkit.judging.judge import judged
from stallkit.press.compose import doubt_of_work
from stallkit.press.gate import MOVES_S, End, Outcome
from stallkit.press.reader_check import is_of
from stallkit.probes.procfs import PROC, Process
from stallkit.transports.base import Moving, Transport, look
from stallkit_supervisor.restart import Restarter, started_with
from stallkit_supervisor.shell_prompt import ShellPrompt
from stallkit_supervisor.store import Store

__all__ = ["Reopening", "reopen", "reopening"]

GRACE_S = 10.0  # from SIGTERM to SIGKILL: an agent writes its session down
LEFT_S = 10.0  # from its end until what is left is sure: a shell draws its prompt, tmux notices the end


@frozen
class Reopening:
    """What is ended, and what is started then."""

    agent: str
    process: Process
    session: str  # the id, as the agent itself names it
    command: tuple[str, ...]


def reopening(
    transport: Transport, engine: Engine, register: Path | None, sleep: Callable[[float], None] = time.sleep
) -> Reopening | str:
    """How the agent that hangs there can be ended and started again; or why not, in words.

    `register` is the file of the sessions that `stallkit start` began.  Raises TransportError where looking failed.
    """
    if not isinstance(transport, Moving):
        return "its transport does not tell who reads while its screen moves"
    before = transport.capture_moving()
    sleep(MOVES_S)
    now = transport.capture_moving()
    verdict = judged(engine, now, before)
    doubt = doubt_of_work(verdict, now)
    if doubt is not None or verdict.match is None or now.identity != before.identity:
        return doubt or "it is another session now"
    known = verdict.detection.words.resumable(verdict.agents or ())
    process = _process(known[0].name, verdict.match.pack, now.kernel or KernelFacts()) if len(known) == 1 else None
    if process is None or now.elsewhere:
        return "which process is the agent is not known for sure"
    agent, session = known[0], session_of(verdict, known[0]) or session_shown(now.screen.text, known[0])
    if session is None:
        return "the id of its session is unknown: neither its own report nor its screen names one"
    try:
        given = started_with(register, now.identity) if register is not None else None
    except (StoreError, TransportError) as error:
        return str(error)
    command = resume_command(given or _command_line(process.pid, agent.name), agent, session)
    if command is None:
        return "how it was started is not wholly understood, so how it goes on is unknown"
    return Reopening(agent.name, process, session, command)


def reopen(
    how: Reopening,
    transport: Transport,
    name: str,
    engine: Engine,
    store: Store | None,
    register: Path | None,
    directory: Path | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """End that agent, and start it again where its session or pane has ended, or is at a shell's prompt.

    Never refused: something was done.  `directory` is where a session ran that was started by hand, if known.
    """
    ended = end_process(how.process, GRACE_S, clock)
    told = f"{how.agent} (pid {how.process.pid}) was ended" + (" by force" if ended is Ended.KILLED else "")
    if ended not in (Ended.ASKED, Ended.KILLED, Ended.ALREADY):
        return Outcome(End.UNKNOWN, f"{how.agent} (pid {how.process.pid}) did not end")
    restarter = Restarter(how.command, register, store)
    outcome = _started(how, restarter, transport, name, engine, directory, clock, sleep)
    why = f"{told}; {outcome.why}" + (f", with its session {how.session}" if outcome else "")
    return evolve(outcome, end=End.UNCHANGED if outcome.end is End.REFUSED else outcome.end, why=why)


def _started(
    how: Reopening,
    restarter: Restarter,
    transport: Transport,
    name: str,
    engine: Engine,
    directory: Path | None,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Outcome:
    until = clock() + LEFT_S
    while True:
        try:
            seen = look(transport)
        except SessionGone:
            return restarter.anew(transport, name, directory)
        except TransportError as error:
            return Outcome(End.UNKNOWN, str(error))
        if seen.alive is False:
            return restarter.in_place(transport, name, seen)
        outcome = ShellPrompt(transport, engine, clock, sleep).run(how.command)
        if outcome.end is not End.REFUSED:
            return outcome
        if clock() >= until:
            return evolve(outcome, end=End.UNCHANGED, why=f"nothing was started: {outcome.why}")


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
    """How a process was started, without an interpreter before the agent; empty where that is not known for sure."""
    try:
        line = Path(PROC, str(pid), "cmdline").read_bytes()
    except OSError:
        return ()
    words = tuple(os.fsdecode(line).split("\0"))
    if words[-1] or not all(words[:-1]):
        return ()  # it was written over, as a program does that gives itself a title: its options are lost
    words = words[:-1]
    return words[1:] if len(words) > 1 and Path(words[1]).name == agent and Path(words[0]).name != agent else words
