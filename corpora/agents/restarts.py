"""Counts how often a supervisor starts a real agent again that ended in a shell, and is seen to run there.

    python corpora/agents/restarts.py --path DIR [--path DIR] [--times 20] [AGENT ...]

Each DIR holds programs: `claude`, `codex`, `gemini`, `opencode`.  An agent is typed into bash, dash, zsh or fish and
ends in turn by SIGTERM, by SIGKILL, by a crash (SIGSEGV), or below a launcher that then exits with status 1 and leaves
the terminal as the agent had it.  The model is a script on loopback.  It counts if the supervisor tells that the agent
is in front, and the agent then reads its terminal, at a screen that rests.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sending_stage import Stage  # the modules beside this file
from stallkit_supervisor.session_state import RecoveryCommands, Schedule, WatchConfig
from stallkit_supervisor.supervisor import Supervisor

from stallkit.evidence.snapshot import Member, Snapshot
from stallkit.press.events import Event
from stallkit.press.policy import Policy
from stallkit.press.rules import Rule
from stallkit.probes.procfs import Process
from stallkit.transports.base import look

ENDS = {"SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL, "a crash": signal.SIGSEGV, "exit 1": signal.SIGKILL}
SHELLS = (("bash", "--norc"), ("dash",), ("zsh", "-f"), ("fish", "--no-config"))
CONFIG = WatchConfig(
    Policy("restarts", rules=[Rule(do="restart", state="ended")]), Schedule(interval_s=0.5, eager_s=0.5)
)
READY_S, RESTS_S, AGAIN_S = 90.0, 2.0, 0.5
TRIES = 5


async def restarted(stage: Stage, end: str) -> str | None:
    """End the agent once the supervisor knows it, and wait for what becomes of that; None if it runs again."""
    commands = RecoveryCommands(restart=tuple(shlex.split(stage.agent.command)))
    options = stage.transport.options
    supervisor = Supervisor(["tmux:a"], CONFIG, options=options, commands=commands, engine=stage.engine)
    told: list[Event] = []

    async def read() -> None:
        ends = True  # once
        async for event in supervisor:
            told.append(event)
            if ends and event.name == "detection" and event.facts["agents"]:
                ends = not _end(stage, end)
            if event.name == "restart" and event.facts["outcome"] != "refused":
                return

    async with supervisor:
        try:
            await asyncio.wait_for(read(), READY_S)
        except TimeoutError:
            return f"nothing came of it: {[(one.name, one.facts.get('why')) for one in told]}"
        finally:
            supervisor.stop()
    last = told[-1]
    return None if last.facts["outcome"] == "cleared" else f"{last.facts['outcome']}: {last.facts['why']}"


def _end(stage: Stage, end: str) -> bool:
    """End the agent itself, whatever started it; False if it was not found."""
    agent = _agent(stage, look(stage.transport))
    process = Process.of(agent.pid) if agent is not None else None
    for _ in range(TRIES if end == "a crash" else 1):  # a program in Rust goes on after a SIGSEGV from outside
        if process is not None and process.alive():
            os.kill(process.pid, ENDS[end])
            time.sleep(AGAIN_S)
    return process is not None


def _agent(stage: Stage, seen: Snapshot) -> Member | None:
    """The agent's process: the last one of its name, below what only starts it."""
    name, members = stage.agent.command.split()[0], seen.kernel.members if seen.kernel else ()
    return next((one for one in reversed(members) if name in one.names or one.script == name), None)


def ready(stage: Stage) -> bool:
    """Wait until it reads its terminal, at a screen that rests."""
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        seen = look(stage.transport)
        reads = seen.kernel is not None and seen.kernel.listening is True
        if _agent(stage, seen) and reads and (seen.quiet_s or 0.0) >= RESTS_S:
            return True
        time.sleep(0.3)
    return False


def once(stage: Stage, number: int) -> bool:
    """Whether it was started again; what went wrong is said."""
    end, shell = list(ENDS)[number % len(ENDS)], SHELLS[number // len(ENDS) % len(SHELLS)]
    launcher = stage.home / "launcher"
    launcher.write_text(f"{stage.agent.command}\nexit 1\n")
    stage.restart(f"sh {launcher}" if end == "exit 1" else stage.agent.command, *shell)
    why = None if ready(stage) else "it was not ready at first"
    why = why or asyncio.run(restarted(stage, end))
    why = why or (None if ready(stage) else "started, and not at its composer")
    print(f"{stage.agent.command.split()[0]}, {end}, {shell[0]}: {why or 'runs again'}", flush=True)
    if why:
        print(stage.screen().rstrip(), flush=True)
    return why is None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path, action="append", required=True)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("agents", nargs="*", default=["claude", "codex", "opencode"])
    given = parser.parse_args()
    failures = 0
    for name in given.agents:
        stage = Stage(name, [path.resolve() for path in given.path], "120x40")
        try:
            began = time.monotonic()
            again = sum(once(stage, number) for number in range(given.times))
        finally:
            stage.close()
        took = (time.monotonic() - began) / given.times
        print(f"{name} {stage.version}: {again} of {given.times} run again, {took:.0f} s each", flush=True)
        failures += given.times - again
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
