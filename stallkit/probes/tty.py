"""One terminal: how it takes input, what was typed that nobody has read, and what a `stallkit wrap` in it knows.

A relay of our own is found by its process alone, its pid and its start (`stallkit.config.relay_socket`), and asked at
its socket.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import frozen

from stallkit.config import relay_socket
from stallkit.daemon_client import DaemonError, ask
from stallkit.evidence.facts import TtyFacts
from stallkit.probes.procfs import PROC, Process, stat_of
from stallkit.terminal.marks import Marks, Status, StatusKind, StatusState

__all__ = ["RELAY", "Relayed", "inner_leader_of", "relay_above", "relayed", "tty_facts"]

_PEER = 0x5441  # TIOCGPTPEER of Linux 4.13: the other side of a master, whatever its path is
_OPEN = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC


def tty_facts(terminal: str | int) -> TtyFacts:
    """Echo, canonical mode and unread keys of a terminal, given as its path or as a pseudo-terminal's master.

    It never becomes the caller's controlling terminal, nothing is read from it, and unknown facts are None.  Never
    raises for failures of the outside world.
    """
    try:
        if isinstance(terminal, int):
            return _of_master(terminal)
        if not stat.S_ISCHR(Path(terminal).stat().st_mode):  # a pipe's writer would notice that it is opened
            return TtyFacts()
        opened = os.open(terminal, _OPEN)
    except (OSError, ValueError):  # gone, not permitted, not a valid path
        return TtyFacts()
    try:
        return _settings(opened, opened)
    finally:
        os.close(opened)


def _of_master(master: int) -> TtyFacts:
    """By the other side, where the system opens it: what waits at a master is the program's output."""
    opened = None
    with suppress(OSError, ValueError, OverflowError):
        opened = fcntl.ioctl(master, _PEER, _OPEN)
    try:
        return _settings(master, opened)
    finally:
        if opened is not None:
            os.close(opened)


def _settings(descriptor: int, typed_into: int | None) -> TtyFacts:
    try:
        local, characters = termios.tcgetattr(descriptor)[3::3]
    except (OSError, ValueError, OverflowError, termios.error):
        return TtyFacts()
    lines = bool(local & termios.ICANON)
    unread = None
    if typed_into is not None:
        with suppress(OSError):
            unread = int.from_bytes(fcntl.ioctl(typed_into, termios.FIONREAD, bytes(4)), sys.byteorder)
    # Where lines are read, the same places hold the characters that end a line.
    blocks = lines or (characters[termios.VMIN] > 0 and characters[termios.VTIME] == 0)
    return TtyFacts(echo=bool(local & termios.ECHO), canonical=lines, blocks=blocks, unread=unread)


# --- a relay of our own ---


RELAY = "stallkit"  # of a relay's process, as /proc/PID/comm has it
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
