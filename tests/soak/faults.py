"""Faults at random moments under a supervisor that presses: store, disk, tmux, clock, its own sleep.

Each point has a tmux server of its own, on it a program that keeps asking (`asker`); the fault comes at a random
moment once the supervisor has pressed there.  What the program was given is counted at the program, what was recorded
is read from the file, and a store that failed is not asked.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from statistics import median
from typing import Any, Callable

from attrs import define, field
from terminals import Server, wait_for

from soak.kills import ASKER, Asker
from soak.nursery import Nursery, ended, kill
from soak.parts import Figure, Part, Run, Tally

LANES = 6  # points at a time: they wait more than they compute
PATIENCE_S = 40.0  # for what has to come, on a loaded machine
DEADLINE_S = 2.0  # of a look
REST_S = "0.6"  # between two questions of the program
SEEN_S = 1.5  # that a fault lasts, for the supervisor to meet it
STOPPED_S = 8.0  # that a tmux server stands still: longer than a look, and than what nobody is told of before it
STALL_S = 2.0  # the stall time-out where it is what is tried
DAY_S = 86_400.0
AWAY_S = 3.5  # that a supervisor is stopped: longer than its stall time-out
ERRORS = ("disk I/O error", "database or disk is full", "attempt to write a readonly database", "database is locked")
POLICY = 'format = 1\n[[rule]]\ndo = "press"\nsignature = "shell_*"\nsession = "tmux:*"\n'
POLICY += '[[rule]]\ndo = "restart"\nstate = ["ended", "gone"]\n'
STALLED = "nothing changed for"
UNTRIED, UNTOLD = "points that could not be tried", "faults not told of"
STUCK, MISSED = "supervisors that did not go on", "ends and stalls that were missed"
RESTARTED, FAILED = "restarts of a live agent", "supervisors that failed"
BROKEN = (
    *(UNTRIED, "presses without a record", "prompts pressed twice", "gone, from an error", "limits exceeded"),
    *(RESTARTED, "false stalls", FAILED, UNTOLD, "stores that are not sound", STUCK, MISSED),
)


class Over(Exception):
    """What the rest of a point needs did not come, which is noted."""


@define
class Point:
    """One fault point: what is tried, and what was found broken."""

    number: int
    kind: str
    folder: Path
    nursery: Callable[..., int]
    chance: random.Random
    ends: ExitStack = field(factory=ExitStack)  # of what it started, but for the supervisor
    tally: Tally = field(factory=Tally)
    delays: list[float] = field(factory=list)  # of prompts on the other server, while this one stood still
    usual: list[float] = field(factory=list)  # of prompts there otherwise
    pid: int = 0

    def fails(self, name: str, why: object) -> None:
        self.tally.fails(name, f"point {self.number}, {self.kind}: {why}")

    def server(self, name: str = "server") -> Server:
        folder = self.folder / name
        folder.mkdir()
        made = Server(folder)
        self.ends.callback(made.end)
        return made

    def asker(self, server: Server, name: str = "a") -> Asker:
        home = self.folder / f"home-{name}-{time.monotonic_ns()}"
        home.mkdir()
        asker = Asker(name, "yes", home / "record", home)
        server.start(name, *self.asks(asker), shows="Proceed").close()
        return asker

    def asks(self, asker: Asker) -> tuple[str, ...]:
        return (sys.executable, "-I", str(ASKER), str(asker.record), "yes", str(self.number), REST_S)

    def start(self, server: Server, **spec: Any) -> None:
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

    def begun(self, **spec: Any) -> tuple[Server, Asker]:
        """A server, a program that asks, and some moment after a supervisor pressed there."""
        server = self.server()
        asker = self.asker(server)
        self.start(server, **spec)
        self.first(asker)
        return server, asker

    def first(self, *askers: Asker) -> None:
        if not all(self.goes_on(asker, 1, "it never pressed") for asker in askers):
            raise Over
        time.sleep(self.chance.uniform(0.0, 1.2))

    def events(self, *names: str) -> list[dict[str, Any]]:
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

    def told(self, event: str, name: str, why: str) -> bool:
        return self.wait(lambda: self.events(event), name, why)

    def goes_on(self, asker: Asker, number: int, why: str) -> bool:
        wanted = presses(asker) + number
        return self.wait(lambda: presses(asker) >= wanted, STUCK, why)

    def rows(self) -> list[tuple[Any, ...]]:
        """The presses that are recorded, read from the file by nobody but us, through the supervisor's own mounts."""
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
            found = base.execute("select session, outcome, act from recovery").fetchall()
        return [row for row in found if row[1] != "refused" and row[2] == "press"]

    def recorded(self, *askers: Asker, gone: int = 0) -> None:
        """No press without a record, none twice; `gone`: presses of those that are no more."""
        made, rows = gone + sum(map(presses, askers)), self.rows()
        self.tally["presses"] += made
        if made > len(rows):
            self.fails("presses without a record", f"{made} presses, {rows}")
        for asker in askers:
            for number, given in asker.given.items():
                if given.count(b"y") > 1:
                    self.fails("prompts pressed twice", f"question {number}: {given!r}")

    def live(self, *targets: str) -> None:
        """These live: nobody calls them gone, and nobody starts them again."""
        for event in self.events():
            if event.get("target") in targets:
                if event["event"] == "gone" or event.get("state") == "gone":
                    self.fails("gone, from an error", event)
                if event["event"] == "restart":
                    self.fails(RESTARTED, event)
        if (self.folder / "restarted").exists():
            self.fails(RESTARTED, "its command ran")
        self.no_stall()

    def no_stall(self) -> None:
        for event in self.events("escalation"):
            if STALLED in event["why"]:
                self.fails("false stalls", event)


def presses(asker: Asker) -> int:
    asker.read()
    return asker.presses


# --- the kinds of faults ---


def of_store(fault: Callable[[Point], dict[str, Any]]) -> Callable[[Point], None]:
    """A fault of the store: nothing is pressed that is not recorded; it is told; the supervisor goes on."""

    def tried(point: Point) -> None:
        chosen = fault(point)
        server, asker = point.begun(fault=chosen)
        os.kill(point.pid, signal.SIGUSR1)
        point.told("set off", UNTRIED, "the fault was not set off")
        if chosen["kind"] == "call":
            point.told("call failed", UNTRIED, "no call failed")
        if chosen["kind"] == "call" and chosen["last"] < 10:
            point.goes_on(asker, 2, "after calls that failed")
        else:
            point.wait(lambda: _unrecorded(point), UNTOLD, "it says nothing of what is not recorded")
            time.sleep(SEEN_S)
        if chosen["kind"] == "full":
            os.kill(point.pid, signal.SIGUSR2)
            # What stands there was tried three times, and is a person's: the next prompt is the supervisor's again.
            server.tmux("send-keys", "-t", "=a:", "-H", "70")
            point.goes_on(asker, 2, "after there was room again")
        if ended(point.pid):
            point.fails(FAILED, point.events()[-3:])
        point.recorded(asker)
        point.live("tmux:a")

    return tried


def _unrecorded(point: Point) -> bool:
    refused = any("cannot be recorded" in str(one.get("why")) for one in point.events("dismissal"))
    return refused or bool(point.events("not_recorded"))


def call(point: Point) -> dict[str, Any]:
    number = point.number // 2
    last = point.chance.choice((1, 1, 2, 3, 10**9))
    return {"kind": "call", "nth": number % 30, "last": last, "why": ERRORS[number % len(ERRORS)]}


def full(point: Point) -> dict[str, Any]:
    trial = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/media"]
    if os.geteuid() != 0 or subprocess.run(trial, check=False, capture_output=True).returncode != 0:
        return size(point)
    return {"kind": "full", "tmpfs": "256k", "left": 4096 * point.chance.randrange(0, 6)}


def size(point: Point) -> dict[str, Any]:
    return {"kind": "size", "left": point.chance.randrange(0, 20_000)}


def read_only(point: Point) -> dict[str, Any]:
    return {"kind": "read-only"}


def server_stops(point: Point) -> None:
    """A tmux server that stands still: nobody is gone, other servers' prompts are answered."""
    server, other = point.server(), point.server("other")
    a, b = point.asker(server), point.asker(other, "b")
    point.start(server, servers=[[str(server.socket), ["tmux:a"]], [str(other.socket), ["tmux:b"]]])
    point.first(a, b)
    pid, began = server.pid, time.monotonic()
    point.ends.callback(_signal, pid, signal.SIGCONT)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    os.kill(pid, signal.SIGCONT)
    over = time.monotonic()
    point.goes_on(a, 1, "after its server went on")
    point.goes_on(b, 1, "on the other server")
    if not point.events("could_not_look"):
        point.fails(UNTOLD, "nobody says that a server stood still")
    point.recorded(a, b)
    point.live("tmux:a", "tmux:b")
    answered = _answered(b)
    point.delays += [delay for at, delay in answered if began <= at <= over - DEADLINE_S]
    point.usual += [delay for at, delay in answered if not began - 1 <= at <= over]


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _answered(asker: Asker) -> list[tuple[float, float]]:
    """When each question was asked, and how long it took until the machine's answer."""
    asked: dict[int, float] = {}
    found = []
    for line in asker.record.read_text().splitlines():
        number, given, at = line.split(" ")
        if not given:
            asked[int(number)] = float(at)
        elif int(number) in asked:
            start = asked.pop(int(number))
            found.append((start, float(at) - start))
    return found


def server_killed(point: Point) -> None:
    """A tmux server that is killed takes its sessions along; a new one on its socket is watched again."""
    server, a = point.begun(restart=[])  # or it would start the session itself, as its policy says
    pid = server.pid
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: ended(pid), "the server's end")
    if point.chance.random() < 0.5:
        point.wait(lambda: point.events("gone", "could_not_look"), MISSED, "its server was killed")
    made = presses(a)
    again = point.asker(server)
    point.goes_on(again, 1, "in the server that came after")
    point.recorded(again, gone=made)
    point.no_stall()


def socket_removed(point: Point) -> None:
    """The server lives, its socket is lost: nobody is gone; once it is there again, so are the looks."""
    server, a = point.begun()
    pid = server.pid
    point.ends.callback(lambda: server.socket.exists() or _signal(pid, signal.SIGKILL))
    server.socket.unlink()
    point.told("could_not_look", UNTOLD, "its socket is lost")
    time.sleep(point.chance.uniform(0.0, SEEN_S))
    os.kill(pid, signal.SIGUSR1)
    point.goes_on(a, 1, "after the socket was there again")
    point.recorded(a)
    point.live("tmux:a")


def no_tmux(point: Point) -> None:
    _, a = point.begun(fault={"kind": "path"})
    os.kill(point.pid, signal.SIGUSR1)
    point.told("could_not_look", UNTOLD, "there is no tmux")
    time.sleep(point.chance.uniform(0.0, SEEN_S))
    os.kill(point.pid, signal.SIGUSR2)
    point.goes_on(a, 1, "after tmux was there again")
    point.recorded(a)
    point.live("tmux:a")


def clock_jumps(point: Point) -> None:
    """The wall clock is set by a day: no stall, no end, and the prompts are answered as before."""
    fault = {"kind": "clock", "by_s": point.chance.choice((DAY_S, -DAY_S))}
    _, a = point.begun(fault=fault, stall_s=10.0)  # longer than any question of the asker stands there
    os.kill(point.pid, signal.SIGUSR1)
    point.told("set off", UNTRIED, "the clock was not set")
    point.goes_on(a, 2, "after the clock was set")
    point.recorded(a)
    point.live("tmux:a")


def suspended(point: Point) -> None:
    """Supervisor and program sleep for longer than the stall time-out: no stall.  Then a real one: it is told."""
    server, hold = point.server(), point.folder / "hold"
    point.ends.callback(hold.unlink, missing_ok=True)
    server.start("a", "bash", "-c", f"while :; do [ -e {hold} ] || date +%N; sleep 0.4; done").close()
    point.start(server, stall_s=STALL_S)
    point.told("detection", UNTRIED, "nothing was seen")
    point.first()
    hold.touch()
    os.kill(point.pid, signal.SIGSTOP)
    time.sleep(AWAY_S)
    os.kill(point.pid, signal.SIGCONT)
    hold.unlink()
    time.sleep(SEEN_S)
    point.live("tmux:a")
    hold.touch()
    stalls = lambda: any(STALLED in one["why"] for one in point.events("escalation"))  # noqa: E731
    point.wait(stalls, MISSED, "a program that stands still")


def agent_ends(point: Point) -> None:
    """What is surely over is started again, once: the proof that the others could have been."""
    server = point.server()
    in_shell = point.chance.random() < 0.5
    asker = _in_shell(point, server) if in_shell else point.asker(server)
    point.start(server)
    point.first(asker)
    first = server.tmux("display-message", "-p", "-t", "=a:", "#{pane_pid}").strip()
    for program in Path(f"/proc/{first}/task/{first}/children").read_text().split() if in_shell else [first]:
        os.kill(int(program), signal.SIGKILL)
    restarted = point.folder / "restarted"
    if point.wait(restarted.exists, MISSED, "an agent that was killed is not started again"):
        time.sleep(SEEN_S)
        if restarted.read_text() != "\n":
            point.fails(RESTARTED, f"{restarted.read_text()!r}")
    point.recorded(asker)


def _in_shell(point: Point, server: Server) -> Asker:
    server.start("a", "bash", "-c", "PS1='dev@box:~$ ' exec bash --norc --noprofile -i", shows="$").close()
    asker = Asker("a", "yes", point.folder / "record", point.folder)
    server.tmux("send-keys", "-t", "=a:", shlex.join(point.asks(asker)), "Enter")
    wait_for(asker.record.exists, "the first question")
    return asker


def stop_file(point: Point) -> None:
    """A limit is reached, and .auto-stop cannot be written: that nobody wrote it is no leave to go on."""
    server, home = point.server(), point.folder / "nowhere"
    a = point.asker(server)
    if point.chance.random() < 0.5:
        home.write_text("a file in the place of a folder")
    most = point.chance.randint(1, 2)
    limits = {"per_iteration": 10**6, "total": most, "in_window": 10**6}
    point.start(server, homes={"tmux:a": str(home)}, limits=limits)
    if not point.told("auto_stop", UNTOLD, "the limit was not reached"):
        return
    if not point.events("auto_stop")[0].get("file_error"):
        point.fails(UNTOLD, point.events("auto_stop"))
    time.sleep(2 * SEEN_S)
    if presses(a) > most:
        point.fails("limits exceeded", f"{a.presses} presses, {most} are allowed; {point.events('released')[:1]}")
    point.recorded(a)
    point.live("tmux:a")


KINDS: dict[str, tuple[Callable[[Point], None], int]] = {  # and how many of each 50 points are of a kind
    "calls of the store that fail": (of_store(call), 19),
    "disk full": (of_store(full), 5),
    "file too large": (of_store(size), 4),
    "read-only": (of_store(read_only), 3),
    "server stopped": (server_stops, 4),
    "server killed": (server_killed, 3),
    "socket removed": (socket_removed, 2),
    "tmux missing": (no_tmux, 2),
    "clock set by a day": (clock_jumps, 3),
    "supervisor asleep": (suspended, 3),
    "agent killed": (agent_ends, 1),
    "stop file not written": (stop_file, 1),
}


def _kinds(count: int) -> list[str]:
    """The kind of each point: each once, then by their shares."""
    rest = [name for name, (_, share) in KINDS.items() for _ in range(share - 1)]
    random.Random(5).shuffle(rest)
    cycle = [*KINDS, *rest]
    return [cycle[number % len(cycle)] for number in range(count)]


def soak(run: Run) -> list[Figure]:
    kinds, points, lock = _kinds(run.size), list[Point](), threading.Lock()
    with Nursery(run.folder) as nursery:

        def start(**spec: Any) -> int:
            with lock:
                return nursery.start(**spec)

        def one(number: int) -> Point:
            folder = run.folder / f"point-{number}"
            folder.mkdir()
            point = Point(number, kinds[number], folder, start, random.Random(number))
            try:
                with point.ends, suppress(Over):
                    KINDS[kinds[number]][0](point)
            except Exception as error:
                point.fails(UNTRIED, repr(error))
            if point.pid and not ended(point.pid):
                kill(point.pid)
            for event in point.events("crash", "defect"):
                point.fails(FAILED, event)
            return point

        with ThreadPoolExecutor(LANES) as lanes:
            for done, point in enumerate(lanes.map(one, range(run.size)), 1):
                points.append(point)
                run.tell(done)
    return _figures(points, Counter(kinds))


def _figures(points: list[Point], kinds: Counter[str]) -> list[Figure]:
    tally = Tally()
    for point in points:
        tally.update(point.tally)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    figures = [Figure("fault points", f"{len(points)}: {listed}", "all", kinds.total() == len(points))]
    figures += [tally.none(name, f"{len(points)} points") for name in BROKEN]
    figures.append(Figure("presses in these points", f"{tally['presses']}", "more than 0", tally["presses"] > 0))
    delays = [delay for point in points for delay in point.delays]
    usual = [delay for point in points for delay in point.usual]
    if delays and usual:
        later = max(0.0, max(delays) - max(usual))  # than the slowest otherwise: the machine may be loaded
        said = f"{later:.2f} s at most; {median(delays):.2f} s, else {median(usual):.2f} s, until the key (medians)"
        figures.append(Figure("other servers' prompts answered later", said, f"{DEADLINE_S:g} s", later <= DEADLINE_S))
    return figures


PART = Part(__doc__, "fault points", full=330, short=12, soak=soak)
