"""A fault point: a tmux server of its own, on it a program that keeps asking, and a supervisor that presses there.

What the program was given is counted at the program, what was recorded is read from the file, and a store that failed
is not asked.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Callable

from attrs import define, field
from terminals import Server

from soak.kills import ASKER, Asker
from soak.nursery import ended

PATIENCE_S = 40.0  # for what has to come, on a loaded machine
DEADLINE_S = 2.0  # of a look
REST_S = "0.6"  # between two questions of the program
POLICY = 'format = 1\n[[rule]]\ndo = "press"\nsignature = "shell_*"\nsession = "tmux:*"\n'
POLICY += '[[rule]]\ndo = "restart"\nstate = ["ended", "gone"]\n'
STALLED = "nothing changed for"


@define
class Point:
    """One fault point: what is tried, and what was found broken."""

    number: int
    folder: Path
    nursery: Callable[..., int]
    chance: random.Random
    tally: Counter[str] = field(factory=Counter)
    broken: list[str] = field(factory=list)
    delays: list[float] = field(factory=list)  # of prompts on the other server, while this one stood still
    usual: list[float] = field(factory=list)  # of prompts there otherwise
    pid: int = 0

    def fails(self, name: str, why: object) -> None:
        self.tally[name] += 1
        self.broken.append(f"point {self.number}: {name}: {why}")

    def start(self, server: Server, **spec: Any) -> None:
        """The supervisor of this point."""
        policy = self.folder / "policy.toml"
        policy.write_text(POLICY)
        (self.folder / "store").mkdir(exist_ok=True)
        given = {
            "servers": [[str(server.socket), ["tmux:a"]]],
            "policy": str(policy),
            "store": str(self.folder / "store" / "watch.db"),
            "acks": str(self.folder / "acks"),
            "events": str(self.folder / "events"),
            "restart": ["sh", "-c", f"echo >> {self.folder}/restarted; exec sleep 1000"],
            "interval_s": 0.15,
            "stall_s": 20.0,
        }
        self.pid = self.nursery(**{**given, **spec})

    def events(self, *names: str) -> list[dict[str, Any]]:
        """What the supervisor told so far."""
        path = self.folder / "events"
        text = path.read_text() if path.exists() else ""
        found = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        return [one for one in found if not names or one["event"] in names]

    def wait(self, condition: Callable[[], object], name: str, why: str) -> bool:
        """Whether it came true in time; where it did not, that is what failed."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline or ended(self.pid):
                self.fails(name, f"{why}; {self.events()[-6:]}")
                return False
            time.sleep(0.03)
        return True

    def rows(self) -> list[tuple[Any, ...]]:
        """What is recorded, read from the file by nobody but us, through the supervisor's own mounts."""
        store, copy = Path(f"/proc/{self.pid}/root{self.folder}/store"), self.folder / "copy"
        copy.mkdir(exist_ok=True)
        os.kill(self.pid, signal.SIGSTOP)
        try:
            for file in store.glob("watch.db*"):
                if not file.name.endswith("-shm"):
                    shutil.copyfile(file, copy / file.name)
        finally:
            os.kill(self.pid, signal.SIGCONT)
        with closing(sqlite3.connect(copy / "watch.db")) as base:
            if base.execute("pragma integrity_check").fetchall() != [("ok",)]:
                self.fails("stores that are not sound", "integrity_check")
            return base.execute("select session, outcome, act from recovery").fetchall()


def asker_on(point: Point, server: Server, name: str = "a") -> Asker:
    home = point.folder / f"home-{name}-{time.monotonic_ns()}"
    home.mkdir()
    asker = Asker(name, "yes", home / "record", home)
    command = (sys.executable, "-I", str(ASKER), str(asker.record), "yes", str(point.number), REST_S)
    server.start(name, *command, shows="Proceed").close()
    return asker


def server_of(point: Point, name: str = "server") -> Server:
    folder = point.folder / name
    folder.mkdir()
    return Server(folder)


def presses(asker: Asker) -> int:
    asker.read()
    return asker.presses


def goes_on(point: Point, asker: Asker, number: int, why: str) -> bool:
    """Wait until it was pressed so often more."""
    wanted = presses(asker) + number
    return point.wait(lambda: presses(asker) >= wanted, "supervisors that did not go on", why)


def recorded(point: Point, *askers: Asker) -> None:
    """No press without a record, none twice."""
    made = sum(map(presses, askers))
    rows = [row for row in point.rows() if row[1] != "refused" and row[2] == "press"]
    point.tally["presses"] += made
    if made > len(rows):
        point.fails("presses without a record", f"{made} presses, {rows}")
    for asker in askers:
        for number, given in asker.given.items():
            if given.count(b"y") > 1:
                point.fails("prompts pressed twice", f"question {number}: {given!r}")


def live(point: Point, *targets: str) -> None:
    """These live: nobody calls them gone, and nobody starts them again."""
    for event in point.events():
        if event.get("target") in targets:
            if event["event"] == "gone" or event.get("state") == "gone":
                point.fails("gone, from an error", event)
            if event["event"] == "restart":
                point.fails("restarts of a live agent", event)
    if (point.folder / "restarted").exists():
        point.fails("restarts of a live agent", "its command ran")
    no_stall(point)


def no_stall(point: Point, since: float = 0.0) -> None:
    for event in point.events("escalation"):
        if STALLED in event["why"] and event["at"] >= since:
            point.fails("false stalls", event)


def moment(point: Point) -> None:
    time.sleep(point.chance.uniform(0.0, 1.2))
