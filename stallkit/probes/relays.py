"""What a `stallkit wrap` in a terminal knows of the program behind it, asked at its own socket.

The relay is found by its process alone: its pid and its start (`stallkit.config.relay_socket`).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import frozen

from stallkit.config import relay_socket
from stallkit.daemon import DaemonError
from stallkit.daemon_socket import ask
from stallkit.probes.procfs import PROC, Process, stat_of
from stallkit.terminal.marks import Marks, Status, StatusKind, StatusState

__all__ = ["NAME", "Relayed", "inner_leader_of", "relay_above", "relayed"]

NAME = "stallkit"  # of a relay's process, as /proc/PID/comm has it
ANSWER_S = 1.0


@frozen
class Relayed:
    """What one relay knows."""

    pid: int  # of the program that it started
    terminal: str  # the path of that program's terminal
    foreground: int  # the number of the foreground group there
    marks: Marks  # what the program reports of itself; its records are dated by the caller's clock
    judged: dict[str, Any] | None  # the relay's own judgement: state, certainty, kind, reasons, age_s; or None


def relayed(relay: Process, now: float) -> Relayed | None:
    """What the relay that is this process knows; None where it is none, or does not answer.

    `now` dates the records, in seconds of the caller's clock.
    """
    path = relay_socket(relay.pid, relay.started)
    if not path.exists():
        return None

    with suppress(DaemonError, OSError, KeyError, TypeError, ValueError):
        told = ask(path, {"do": "status"}, ANSWER_S)
        statuses = tuple(_status(one, now) for one in told["reports"])
        marks = Marks(statuses, shell=told["shell"], exit_status=told["exit_status"])
        return Relayed(told["pid"], told["terminal"], told["foreground"], marks, told["judged"])
    return None


def inner_leader_of(relay: int) -> int | None:
    """The first process on the terminal behind a relay, without a look at all processes; None where it is unknown."""
    try:
        children = Path(PROC, str(relay), "task", str(relay), "children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None  # the program is started before the judge


def relay_above(pid: int) -> Process | None:
    """The process that started the terminal session of this one: its relay, where it is behind one."""
    member = stat_of(pid)
    leader = stat_of(member.session) if member is not None else None
    return Process.of(leader.parent) if leader is not None else None


def _status(told: dict[str, Any], now: float) -> Status:
    given = {name: told[name] for name in ("id", "progress", "app", "title", "msg")}
    kind = None if told["kind"] is None else StatusKind(told["kind"])
    return Status(**given, state=StatusState(told["state"]), at=now - told["age_s"], kind=kind)
