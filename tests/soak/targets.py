"""Confusable names; sessions, panes and servers killed, renamed, respawned, restarted between look and press.

Who gets the key?
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Callable

from attrs import define, field
from terminals import wait_for

from soak.parts import Figure, Part, Run, Tally
from soak.tmuxes import RECORD_OWN, SoakServer
from stallkit.detect.engine import Engine
from stallkit.errors import TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.press.gate import Forced, press
from stallkit.terminal.keys import Keys
from stallkit.testing import FakeClock
from stallkit.transports.base import look
from stallkit.transports.tmux.identity import Identity
from stallkit.transports.tmux.pane import TmuxTransport

AT_ONCE = 3  # servers
KEY, SENTINEL = "y", "Z"  # what is pressed; what comes last, so that a key on its way is not missed
_STEMS = [
    "w", "w1", "w10", "w100", "worker", "worker1", "1", "0", "10", "=a", "a", "=", "==a", "a=", "a:b", "a.b",
    "v1.", "v1..", "v1", ":", ".", "é", "e\u0301", "語", "한국", "👩‍👩‍👧", "\u202ea", "a b", " a", "a ", "a;",
    ";", "a;b", "$1", "$0", "@1", "%1", "%0", "{last}", "{", "!", "+", "-", "-t", "~", "^", "*", "w*", "?",
    "w?", "[a-z]", "#S", "#{session_name}", "#", "'", '"', "\\", "~root", "$HOME", "W1", "main", "mai", "a,b",
    "(x)", "0.0", "1:0", "=1:", "x" * 200,
]  # fmt: skip
_ANY = Forced(Keys.parse(KEY))


@define
class _Set:
    number: int
    server: SoakServer
    folder: Path
    rand: random.Random
    asked: list[str] = field(factory=list)  # names as they were given to tmux

    def try_tmux(self, *command: str) -> str | None:
        with suppress(AssertionError):  # no such session, or no server just now
            return self.server.tmux(*command)
        return None

    def new_session(self, name: str) -> None:
        command = ["sh", "-c", RECORD_OWN, str(self.folder)]
        given = name[:-1] + r"\;" if name.endswith(";") else name
        self.try_tmux("new-session", "-d", "-s", given, "-n", self.rand.choice(["w", "w1", "1", "é"]), *command)

    def build(self) -> None:
        family = self.rand.choice(_STEMS)
        near = [family + "1", family + "0", family[:-1], family.swapcase(), "=" + family, family + ":", family + "."]
        self.asked = list(dict.fromkeys([family, *self.rand.sample(near, 2), *self.rand.sample(_STEMS, 2)]))
        self.rand.shuffle(self.asked)
        for name in self.asked:
            if name:
                self.new_session(name)
        for pane in self.rand.sample(self.panes(), 1):
            self.try_tmux("split-window", "-t", pane, "sh", "-c", RECORD_OWN, str(self.folder))
        wait_for(lambda: len(list(self.folder.iterdir())) >= len(self.panes()), "the panes to be ready")

    def panes(self) -> list[str]:
        return (self.try_tmux("list-panes", "-a", "-F", "#{pane_id}") or "").split()

    def target(self) -> str:
        """What somebody asks for: a session that is there, or one that is not, in one of the ways to write it."""
        names = [
            *self.asked,
            *self.asked,
            *(self.try_tmux("list-sessions", "-F", "#{session_name}") or "").splitlines(),
        ]
        name = self.rand.choice([name for name in names if name] or ["none"])
        if self.rand.random() < 0.3:
            name += self.rand.choice([":0", ":0.0", ":w", ":0.1", ":", "1", "*", ":=w1"])
        return name if self.rand.random() < 0.9 else self.rand.choice(self.panes())

    def restart(self, by: Callable[[], object]) -> None:
        """The same sessions in the same order: panes have the same ids again, and other processes."""
        names = (self.try_tmux("list-sessions", "-F", "#{session_name}") or "").splitlines()
        by()
        wait_for(lambda: self.try_tmux("list-sessions") is None, "the server to end")
        self.server.socket.unlink(missing_ok=True)
        for name in names:
            self.new_session(name)


def _look_again(given: _Set, seen: Snapshot, engine: Engine) -> dict[str, Callable[[], object]]:
    """What may happen to the pane that was looked at, by name."""
    identity = Identity.of(seen.identity)
    server_pid, pane, pid = str(identity.server.pid), identity.pane, str(identity.pid)
    session = (given.try_tmux("display-message", "-p", "-t", pane, "#{session_id} #{session_name}") or " ").strip("\n")
    ident, _, name = session.partition(" ")
    others = [other for other in given.panes() if other != pane]
    other = given.rand.choice(others) if others else pane
    tmux, new = given.try_tmux, given.new_session

    def kill(which: str, how: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(int(which), how)

    return {
        "nothing": lambda: None,
        "killed": lambda: tmux("kill-session", "-t", ident),
        "killed, and its name taken": lambda: (tmux("kill-session", "-t", ident), new(name)),
        "renamed": lambda: tmux("rename-session", "-t", ident, "elsewhere"),
        "renamed, and its name taken": lambda: (tmux("rename-session", "-t", ident, "elsewhere"), new(name)),
        "its pane killed": lambda: tmux("kill-pane", "-t", pane),
        "respawned": lambda: tmux("respawn-pane", "-k", "-t", pane),
        "ended and respawned": lambda: (kill(pid, signal.SIGKILL), tmux("respawn-pane", "-t", pane)),
        "ended": lambda: kill(pid, signal.SIGKILL),
        "swapped": lambda: tmux("swap-pane", "-d", "-s", pane, "-t", other),
        "moved out": lambda: tmux("break-pane", "-d", "-s", pane),
        "joined to another": lambda: tmux("join-pane", "-d", "-s", pane, "-t", other),
        "panes share their keys": lambda: tmux("set-option", "-w", "-t", pane, "synchronize-panes", "on"),
        "copy mode": lambda: tmux("copy-mode", "-t", pane),
        "server restarted": lambda: given.restart(lambda: tmux("kill-server")),
        "server killed": lambda: given.restart(lambda: kill(server_pid, signal.SIGKILL)),
    }


STRAY, MISNAMED = "keys in a pane or program that was not looked at", "looks at a pane of another name"
SILENT, LOST = "refusals without a reason", "told as pressed, and lost"  # though the pane and its program lived on


def _one(number: int, folder: Path, engine: Engine) -> Tally:
    tally = Tally()
    folder.mkdir()
    (folder / "bytes").mkdir()
    given = _Set(number, SoakServer(folder), folder / "bytes", random.Random(number))
    try:
        given.build()
        target = given.target()
        try:
            transport = given.server.transport(target)
            seen = look(transport)
        except (ValueError, TransportError) as error:
            _refused(tally, number, "not found", str(error))
            seen = None
        event = ""
        if seen is not None:
            if not _is_named(given, seen, target):
                tally.fails(MISNAMED, f"seed {number}: asked for {target!r}, looked at {seen.identity}")
            events = _look_again(given, seen, engine)
            event = given.rand.choice(list(events))
            why = _press(given, transport, seen, engine, events[event])
            if why is None:
                tally["pressed"] += 1
            else:
                _refused(tally, number, event, why)
        _count(given, seen, tally, f"seed {number}, {event or 'nothing'}", pressed=seen is not None and why is None)
    finally:
        given.server.end()
        shutil.rmtree(folder, ignore_errors=True)
    return tally


def _press(
    given: _Set, transport: TmuxTransport, seen: Snapshot, engine: Engine, event: Callable[[], object]
) -> str | None:
    """Let it happen before the press or during it; why nothing was pressed, None where something was."""
    happens = Thread(target=event)
    happens.start()
    if given.rand.random() < 0.5:
        happens.join()
    else:
        happens.join(given.rand.uniform(0, 0.02))
    try:
        if given.rand.random() < 0.5:
            transport.send(_ANY.keys, seen)
            return None
        clock = FakeClock()  # what comes of it is read elsewhere, and not waited for
        outcome = press(transport, _ANY, seen, engine, clock, clock.sleep)
        return None if outcome.keys is not None else outcome.why
    except TransportError as error:
        return str(error)
    finally:
        happens.join()


def _refused(tally: Tally, number: int, what: str, why: str) -> None:
    tally[f"refused: {what}"] += 1
    if not why.strip():
        tally.fails(SILENT, f"seed {number}: {what}")


def _is_named(given: _Set, seen: Snapshot, target: str) -> bool:
    pane = Identity.of(seen.identity).pane
    if target.startswith("%"):
        return pane == target
    lines = given.server.tmux("list-panes", "-a", "-F", "#{pane_id} #{session_name}").split("\n")
    return f"{pane} {target.partition(':')[0]}" in lines


def _count(given: _Set, seen: Snapshot | None, tally: Tally, where: str, *, pressed: bool) -> None:
    """Have every pane that lives say what it got, and count."""
    for pane in given.panes():
        given.try_tmux("set-option", "-w", "-t", pane, "synchronize-panes", "off")
        given.try_tmux("send-keys", "-X", "-t", pane, "cancel")
    listed = given.try_tmux("list-panes", "-a", "-F", "#{pane_dead} #{pane_id} #{pane_pid}") or ""
    alive = [line.split()[1:] for line in listed.splitlines() if line.startswith("0")]
    for pane, pid in alive:
        file = given.folder / pid
        wait_for(file.exists, f"pane {pane} to be ready")
        given.try_tmux("send-keys", "-t", pane, "-H", f"{ord(SENTINEL):x}")
        wait_for(lambda file=file: SENTINEL.encode() in file.read_bytes(), f"the last key of {pane}")
    right = str(Identity.of(seen.identity).pid) if seen is not None else ""
    for file in given.folder.iterdir():
        got = file.read_bytes().replace(SENTINEL.encode(), b"")
        if got and (file.name != right or got != KEY.encode()):
            tally.fails(STRAY, f"{where}: {got!r} came to process {file.name}, {right or 'none'} was looked at")
        tally["arrived"] += file.name == right and got == KEY.encode()
        if file.name == right and pressed and not got and [pid for _, pid in alive if pid == right]:
            tally.fails(LOST, where)


def soak(run: Run) -> list[Figure]:
    tally, engine = Tally(), installed_engine()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        jobs = [threads.submit(_one, number, run.folder / f"set{number}", engine) for number in range(run.size)]
        for done, job in enumerate(jobs, 1):
            tally.update(job.result())
            run.tell(done)
    refused = [(what[9:], times) for what, times in tally.most_common() if what.startswith("refused: ")]
    return [
        tally.none(STRAY),
        tally.none(MISNAMED),
        tally.none(SILENT, sum(times for _, times in refused)),
        tally.none(LOST, tally["pressed"]),
        Figure("keys that arrived", str(tally["arrived"]), "some", tally["arrived"] > 0),
        Figure.told("refused or not found, by what had happened", ", ".join(f"{n} {what}" for what, n in refused)),
    ]


PART = Part(__doc__, "sets of names", full=1_000, short=16, soak=soak)
