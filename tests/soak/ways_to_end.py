"""Sessions, and all the ways in which they end: each says how it was, as it was done.

A scene is a generator: up to its first `yield` it builds, after it it ends what it built and says how.  Between the
two, and after it, the monitor may be killed; what only a witness could have known may then be told as *gone*.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from enum import StrEnum
from functools import partial
from threading import Thread
from typing import Any, Callable, Iterator, Sequence

from attrs import define, field, frozen
from stallkit_sessions.lifecycle import finalize_now, stop
from stallkit_sessions.model import Cause, Order, Session
from stallkit_sessions.register import RunningSession
from started import House, alive
from terminals import wait_for

from stallkit.transports.tmux.identity import Identity

ASLEEP_S = 3.0  # that a server is stopped

SHOW = 'echo "$0"; exec cat'
ASKED = 'echo ready; read answer; echo "$0"; exit {}'
AT_ONCE = 'echo "$0"; exit {}'
LEAVES_A_CHILD = 'echo "$0"; (trap "" HUP; exec sleep 60) & exit 5'
CLOSES = 'echo "$0"; exec sleep 60 <&- >&- 2>&-'
CLOSES_ANDLIVES = 'trap "" HUP; echo "$0"; exec sleep 60 <&- >&- 2>&-'
ENDS_AT_TERM = 'trap "exit 4" TERM; echo "$0"; while :; do sleep 0.1; done'
MINDS_NOTHING = 'trap "" TERM HUP; echo "$0"; while :; do sleep 0.1; done'
SLOW_TO_STOP = 'trap "echo x >stopping; sleep 0.5; exit 4" TERM; echo "$0"; while :; do sleep 0.1; done'

CODES = (0, 1, 2, 3, 42, 64, 77, 100, 125, 126, 127, 128, 129, 130, 137, 143, 254, 255)
_LIVED_THROUGH = {"CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH"}
SIGNALS = (
    *(one for one in signal.Signals if one.name.removeprefix("SIG") not in _LIVED_THROUGH),
    signal.SIGRTMIN + 1,
)
# What only somebody knows who was with the server becomes the third where nobody was.
_WITNESSED = (Cause.SERVER_ENDED, Cause.SERVER_CRASHED)
ORDERED = (Cause.STOPPED, Cause.REPLACED)

Way = tuple[Cause, int | None, int | None]  # cause, exit code, signal
Scene = Callable[["Stage"], Iterator[None]]


class Mode(StrEnum):
    ALONE = "it found it by itself"
    ASKED = "it was asked"
    BEFORE = "killed before"
    AFTER = "killed right after"
    NEXT = "killed before, another started after"


LIVES = (Mode.ALONE, Mode.ASKED)


@frozen
class Truth:
    """How a session ended, by what was done to it."""

    session: Session
    ways: tuple[Way, ...]  # more than one where it depends on who came first
    line: str | None  # what it printed last
    stays: bool = True  # its dead pane is left
    dies: bool = True  # its program is no more
    mates: tuple[str, ...] = ()  # names of those that died of the same thing, itself among them


@define
class Stage:
    """Where one scene is played: a tmux server of its own in a house that others share."""

    house: House
    number: int
    mode: Mode
    chance: random.Random
    truths: list[Truth] = field(factory=list)
    sessions: list[Session] = field(factory=list)
    shown: dict[str, str] = field(factory=dict)  # what was seen on its screen, by the session's id
    too_soon: list[str] = field(factory=list)  # what was said of those that lived
    at: float = 0.0  # just before the end

    def begin(self, *command: str, **more: Any) -> Session:
        """A session; `more` is as `House.start` takes it."""
        name = more.pop("name", f"n{self.number}-{len(self.sessions)}")
        made = self.house.start(name, *command, **more)
        self.sessions.append(made)
        return made

    def says(self, script: str, shows: str | None = None) -> Session:
        """A session with a shell script, once it shows a text, or else the line that is to be on its record."""
        line = self.line
        made = self.begin("sh", "-c", script, line)
        text = self.shown[made.id] = shows or line
        wait_for(lambda: text in self.tmux("capture-pane", "-p", "-t", pane(made)), f"{made.name}'s output")
        return made

    def is_kept(self) -> bool:
        """Whether what was seen is on the disk, for those who come later."""
        sights = {id: self.house.register.sight(id) for id in self.shown}
        return all(seen and any(self.shown[id] in line for line in seen.lines) for id, seen in sights.items())

    @property
    def line(self) -> str:
        """What the next session prints last."""
        return f"n{self.number}-{len(self.sessions)} says good-bye"

    def tmux(self, *words: str) -> str:
        return self.house.tmux(*words)

    def ended(
        self, session: Session, cause: Cause, code: int | None = None, number: int | None = None, **more: Any
    ) -> None:
        ways: tuple[Way, ...] = ((cause, code, number),)
        if cause in _WITNESSED and self.mode not in LIVES:
            gone = (Cause.SERVER_GONE, None, None)
            ways = (*ways, gone) if self.mode is Mode.AFTER else (gone,)
        line = session.command[-1] if session.command[-1].endswith("good-bye") else None
        self.truths.append(Truth(session, more.pop("ways", ways), more.pop("line", line), **more))

    def vanished(self, cause: Cause, *sessions: Session) -> None:
        """Say that these went away at once."""
        names = tuple(one.name for one in sessions)
        for one in sessions:
            self.ended(one, cause, stays=False, mates=names if cause in _WITNESSED and len(names) > 1 else ())

    def living(self, session: Session) -> RunningSession:
        found = self.house.register.get(session.id)
        assert isinstance(found, RunningSession), found
        return found

    def still_lives(self, session: Session) -> None:
        """It does; whoever says something else is noted."""
        finalize_now(self.house.register)
        if not isinstance(self.house.register.get(session.id), RunningSession):
            self.too_soon.append(f"{session.name}: {self.house.register.get(session.id)}")


def pane(session: Session) -> str:
    return Identity.of(session.identity).pane


def program(session: Session) -> int:
    return Identity.of(session.identity).pid


def server(session: Session) -> int:
    return Identity.of(session.identity).server.pid


# --- scenes ---


def _asked_to_end(stage: Stage, code: int) -> Iterator[None]:
    one = stage.says(ASKED.format(code), shows="ready")
    yield
    _answered(stage, one, code)


def _at_once(stage: Stage, script: str, code: int | None, number: int | None = None) -> Iterator[None]:
    yield
    one = stage.begin("sh", "-c", script, stage.line)
    stage.ended(one, Cause.EXITED if number is None else Cause.SIGNALLED, code, number)


def _cannot_run(stage: Stage, what: str, code: int) -> Iterator[None]:
    yield
    stage.ended(stage.begin(what), Cause.EXITED, code)


def _signalled(stage: Stage, number: int) -> Iterator[None]:
    one = stage.says(SHOW)
    yield
    os.kill(program(one), number)
    stage.ended(one, Cause.SIGNALLED, None, number)


def _closed(stage: Stage, script: str, number: int | None) -> Iterator[None]:
    yield
    one = stage.begin("sh", "-c", script, stage.line)
    if number is None:
        stage.ended(one, Cause.UNKNOWN, dies=False)
    else:
        stage.ended(one, Cause.SIGNALLED, None, number)


def _users_session(stage: Stage) -> None:
    stage.tmux("new-session", "-d", "-s", "users", "cat")


def _tmux_kills(stage: Stage, beside: str, command: str) -> Iterator[None]:
    """`beside` it is a session or a pane of the user's, or nothing."""
    one = stage.says(SHOW)
    if beside == "session":
        _users_session(stage)
    elif beside:
        stage.tmux("split-window", "-t", pane(one), "cat")
    yield
    stage.tmux(command, "-t", pane(one))
    stage.vanished(Cause.SESSION_KILLED if beside else Cause.SERVER_ENDED, one)


def _server_ends(stage: Stage, how: int | None, most: int = 1) -> Iterator[None]:
    """By kill-server, where no signal is given."""
    there = [stage.says(SHOW) for _ in range(stage.chance.randint(2, most) if most > 1 else 1)]
    yield
    if how is None:
        stage.tmux("kill-server")
    else:
        os.kill(server(there[0]), how)
    ended = how in (None, signal.SIGTERM, signal.SIGINT)
    stage.vanished(Cause.SERVER_ENDED if ended else Cause.SERVER_CRASHED, *there)


def _respawned(stage: Stage) -> Iterator[None]:
    one = stage.says(SHOW)
    yield
    stage.tmux("respawn-pane", "-k", "-t", pane(one), "cat")
    stage.vanished(Cause.SESSION_KILLED, one)


def _stopped(stage: Stage, script: str, code: int | None, number: int | None) -> Iterator[None]:
    one = stage.says(script)
    yield
    stop(stage.house.register, stage.living(one), Order.STOP, 0.5)
    stage.ended(one, Cause.STOPPED, code, number, stays=False)


def _replaced(stage: Stage) -> Iterator[None]:
    one = stage.says(SHOW)
    yield
    two = stage.begin("sh", "-c", SHOW, stage.line, name=one.name, replace=True)
    stage.ended(one, Cause.REPLACED, None, signal.SIGTERM, stays=False)
    wait_for(lambda: "good-bye" in stage.tmux("capture-pane", "-p", "-t", pane(two)), "the second's output")
    stage.at = time.monotonic()
    os.kill(program(two), signal.SIGKILL)
    stage.ended(two, Cause.SIGNALLED, None, signal.SIGKILL)


def _stopped_while_nothing_can_be_written(stage: Stage) -> Iterator[None]:
    """Its program ends, its record cannot be written for a while: so long its pane has to stay."""
    mark = stage.house.work / "stopping"
    mark.unlink(missing_ok=True)
    one = stage.says(SLOW_TO_STOP)
    yield
    stops = Thread(target=stop, args=(stage.house.register, stage.living(one)))
    stops.start()
    wait_for(mark.exists, "its end to begin")
    lock = sqlite3.connect(stage.house.state / "sessions.db", timeout=10.0, isolation_level=None)
    try:
        lock.execute("begin immediate")
        wait_for(lambda: not alive(program(one)), "the program's end")
        for _ in range(20):
            if pane(one) not in stage.tmux("list-panes", "-a", "-F", "#{pane_id}").split():
                stage.too_soon.append(f"{one.name}: its pane was taken away before its record was there")
            time.sleep(0.02)
        lock.execute("rollback")
    finally:
        lock.close()
        stops.join()
    stage.ended(one, Cause.STOPPED, 4, stays=False)


def _moved(stage: Stage, *, renamed: bool) -> Iterator[None]:
    one = stage.says(ASKED.format(7), shows="ready")
    _users_session(stage)
    yield
    if renamed:
        stage.tmux("rename-session", "-t", f"={one.name}", "elsewhere")
    else:
        stage.tmux("move-pane", "-d", "-s", pane(one), "-t", "=users:")
    stage.still_lives(one)
    _answered(stage, one, 7)


def _killed_as_it_ended(stage: Stage) -> Iterator[None]:
    one = stage.says(ASKED.format(9), shows="ready")
    _users_session(stage)
    yield
    stage.tmux("send-keys", "-t", pane(one), "Enter", ";", "kill-session", "-t", f"={one.name}")
    ways = ((Cause.EXITED, 9, None), (Cause.SESSION_KILLED, None, None))
    stage.ended(one, Cause.EXITED, 9, ways=ways, line=None, stays=False)


def _server_asleep(stage: Stage, how: int | None) -> Iterator[None]:
    """It does not answer for a while, and nothing ended; then something does: its program, or it itself."""
    one = stage.says(ASKED.format(6), shows="ready")
    yield
    until = time.monotonic() + ASLEEP_S
    os.kill(server(one), signal.SIGSTOP)
    while time.monotonic() < until:
        stage.still_lives(one)
    if how is None:
        os.kill(server(one), signal.SIGCONT)
        stage.still_lives(one)
        _answered(stage, one, 6)
    else:
        _crashed(stage, one, how)


def _answered(stage: Stage, one: Session, code: int) -> None:
    stage.at = time.monotonic()
    stage.tmux("send-keys", "-t", pane(one), "Enter")
    stage.ended(one, Cause.EXITED, code)


def _crashed(stage: Stage, one: Session, how: int) -> None:
    stage.at = time.monotonic()
    os.kill(server(one), how)
    stage.ended(one, Cause.SERVER_CRASHED, stays=False, line=None)


def _socket_lost(stage: Stage, *, comes_back: bool) -> Iterator[None]:
    one = stage.says(ASKED.format(6), shows="ready")
    yield
    stage.house.socket.unlink()
    for _ in range(4):
        stage.still_lives(one)
    if comes_back:
        os.kill(server(one), signal.SIGUSR1)
        wait_for(stage.house.socket.exists, "the socket")
        _answered(stage, one, 6)
    else:
        _crashed(stage, one, signal.SIGKILL)


_NO_CODE = "echo \"$0\"; sh -c 'kill -SEGV $$'; exit $?"
SCENES: dict[str, Sequence[Scene]] = {
    "exits": [partial(_asked_to_end, code=code) for code in CODES],
    "exits at once": [
        *(partial(_at_once, script=AT_ONCE.format(code), code=code) for code in (0, 1, 3, 130, 255)),
        partial(_at_once, script=_NO_CODE, code=128 + signal.SIGSEGV),
        partial(_at_once, script='echo "$0"; kill -KILL $$', code=None, number=signal.SIGKILL),
        partial(_at_once, script='echo "$0"; kill -SEGV $$', code=None, number=signal.SIGSEGV),
        partial(_cannot_run, what="/nonexistent/program", code=127),
        partial(_cannot_run, what="/", code=126),
    ],
    "signals": [partial(_signalled, number=number) for number in SIGNALS],
    "a child has its terminal": [partial(_at_once, script=LEAVES_A_CHILD, code=5)] * 2,
    "closed its terminal": [
        partial(_closed, script=CLOSES, number=signal.SIGHUP),
        partial(_closed, script=CLOSES_ANDLIVES, number=None),
    ],
    "kill-pane, -window, -session": [
        partial(_tmux_kills, beside="pane", command="kill-pane"),
        partial(_tmux_kills, beside="session", command="kill-pane"),
        partial(_tmux_kills, beside="session", command="kill-window"),
        partial(_tmux_kills, beside="session", command="kill-session"),
    ],
    "the server's last session": [
        partial(_tmux_kills, beside="", command="kill-session"),
        partial(_tmux_kills, beside="", command="kill-pane"),
    ],
    "kill-server, signals to tmux": [
        partial(_server_ends, how=how)
        for how in (None, signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)
    ],
    "many at once": [
        partial(_server_ends, how=None, most=20),
        partial(_server_ends, how=signal.SIGKILL, most=20),
        partial(_server_ends, how=signal.SIGTERM, most=5),
        partial(_server_ends, how=signal.SIGSEGV, most=5),
    ],
    "respawn-pane": [_respawned] * 2,
    "stop": [
        partial(_stopped, script=SHOW, code=None, number=signal.SIGTERM),
        partial(_stopped, script=ENDS_AT_TERM, code=4, number=None),
        partial(_stopped, script=MINDS_NOTHING, code=None, number=signal.SIGKILL),
        _stopped_while_nothing_can_be_written,
    ],
    "start --replace": [_replaced] * 2,
    "renamed, moved": [partial(_moved, renamed=True), partial(_moved, renamed=False)],
    "killed as it ended": [_killed_as_it_ended] * 2,
    "server stopped for 3 s": [partial(_server_asleep, how=None), partial(_server_asleep, how=signal.SIGKILL)],
    "socket removed": [partial(_socket_lost, comes_back=True), partial(_socket_lost, comes_back=False)],
}
