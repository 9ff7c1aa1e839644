"""Faults under a supervisor at work: its disk, its store, tmux, the clock, and its own sleep.

Each point has a tmux server of its own, on it a program that keeps asking (`asker`); the fault comes at a random moment
once the supervisor has pressed there.  What the program was given is counted at the program, what was recorded is read
from the file, and a store that failed is not asked.
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
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from typing import Any, Callable

from attrs import define, field, frozen
from terminals import Server, wait_for

from soak.kills import ASKER, Asker
from soak.nursery import Nursery, ended, kill
from soak.parts import Figure, Part, Run

LANES = 6  # points at a time: they wait more than they compute
PATIENCE_S = 40.0  # for what has to come, on a loaded machine
SEEN_S = 1.5  # that a fault lasts, for the supervisor to meet it
STOPPED_S = 5.0  # that a tmux server stands still: longer than the deadline of a look
DEADLINE_S = 2.0  # of a look
REST_S = "0.6"  # between two questions of the program
STALL_S = 2.0  # the stall time-out where it is what is tried
DAY_S = 86_400.0
AWAY_S = 3.5  # that a supervisor is stopped: longer than its stall time-out
POLICY = 'format = 1\n[[rule]]\ndo = "press"\nstate = "waiting"\n[[rule]]\ndo = "restart"\nstate = ["ended", "gone"]\n'
ERRORS = ("disk I/O error", "database or disk is full", "attempt to write a readonly database", "database is locked")
TOLD = ("not_recorded", "could_not_look", "gone")
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


def soak(run: Run) -> list[Figure]:
    """The points, several at a time."""
    kinds = _kinds(run.size)
    points: list[Point] = []
    lock = threading.Lock()
    with Nursery(run.folder) as nursery:

        def start(**spec: Any) -> int:
            with lock:
                return nursery.start(**spec)

        def one(number: int) -> Point:
            folder = run.folder / f"point-{number}"
            folder.mkdir()
            point = Point(number, folder, start, random.Random(number))
            try:
                KINDS[kinds[number]](point)
            except Exception as error:
                point.fails("points that could not be tried", f"{kinds[number]}: {error!r}")
            if point.pid and not ended(point.pid):
                kill(point.pid)
            for event in point.events("crash", "defect"):
                point.fails("supervisors that failed", event)
            point.broken = [f"{kinds[number]}, {said}" for said in point.broken]
            return point

        with ThreadPoolExecutor(LANES) as lanes:
            for done, point in enumerate(lanes.map(one, range(run.size)), 1):
                points.append(point)
                run.tell(done)
    for point in points:
        for said in point.broken:
            print(said[:1500], file=sys.stderr)
    return _figures(points, Counter(kinds))


def _figures(points: list[Point], kinds: Counter[str]) -> list[Figure]:
    tally: Counter[str] = sum((point.tally for point in points), Counter())
    names = (
        *("points that could not be tried", "presses without a record", "prompts pressed twice", "gone, from an error"),
        *(
            "limits exceeded",
            "restarts of a live agent",
            "false stalls",
            "supervisors that failed",
            "faults not told of",
        ),
        *("stores that are not sound", "supervisors that did not go on", "ends and stalls that were missed"),
    )
    figures = [Figure("fault points", f"{len(points)}: {_listed(kinds)}", "all", sum(kinds.values()) == len(points))]
    figures += [Figure(name, f"{tally[name]} of {len(points)} points", "0", tally[name] == 0) for name in names]
    figures.append(Figure("presses in these points", f"{tally['presses']}", "more than 0", tally["presses"] > 0))
    delays = [delay for point in points for delay in point.delays]
    usual = [delay for point in points for delay in point.usual]
    if delays and usual:
        later = max(0.0, max(delays) - max(usual))  # than the slowest otherwise: the machine may be loaded
        said = f"{later:.2f} s at most; {median(delays):.2f} s, else {median(usual):.2f} s, until the key (medians)"
        figures.append(Figure("other servers' prompts answered later", said, f"{DEADLINE_S:g} s", later <= DEADLINE_S))
    return figures


def _listed(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def _asker(point: Point, server: Server, name: str = "a") -> Asker:
    home = point.folder / f"home-{name}-{time.monotonic_ns()}"
    home.mkdir()
    asker = Asker(name, "yes", home / "record", home)
    command = (sys.executable, "-I", str(ASKER), str(asker.record), "yes", str(point.number), REST_S)
    server.start(name, *command, shows="Proceed").close()
    return asker


def _server(point: Point, name: str = "server") -> Server:
    folder = point.folder / name
    folder.mkdir()
    return Server(folder)


def _presses(asker: Asker) -> int:
    asker.read()
    return asker.presses


def _more(point: Point, asker: Asker, number: int, why: str) -> bool:
    """Wait until it was pressed so often more."""
    wanted = _presses(asker) + number
    return point.wait(lambda: _presses(asker) >= wanted, "supervisors that did not go on", why)


def _recorded(point: Point, *askers: Asker) -> None:
    """No press without a record, none twice."""
    made = sum(map(_presses, askers))
    rows = [row for row in point.rows() if row[1] != "refused" and row[2] == "press"]
    point.tally["presses"] += made
    if made > len(rows):
        point.fails("presses without a record", f"{made} presses, {rows}")
    for asker in askers:
        for number, given in asker.given.items():
            if given.count(b"y") > 1:
                point.fails("prompts pressed twice", f"question {number}: {given!r}")


def _live(point: Point, *targets: str) -> None:
    """These live: nobody calls them gone, and nobody starts them again."""
    for event in point.events():
        if event.get("target") in targets:
            if event["event"] == "gone" or event.get("state") == "gone":
                point.fails("gone, from an error", event)
            if event["event"] == "restart":
                point.fails("restarts of a live agent", event)
    if (point.folder / "restarted").exists():
        point.fails("restarts of a live agent", "its command ran")
    _no_stall(point)


def _no_stall(point: Point, since: float = 0.0) -> None:
    for event in point.events("escalation"):
        if STALLED in event["why"] and event["at"] >= since:
            point.fails("false stalls", event)


def _moment(point: Point) -> None:
    time.sleep(point.chance.uniform(0.0, 1.2))


def _of_store(fault: Callable[[Point], dict[str, Any]]) -> Callable[[Point], None]:
    """A fault of the store: nothing is pressed that is not recorded; it is told; the supervisor goes on."""

    def tried(point: Point) -> None:
        server = _server(point)
        try:
            asker = _asker(point, server)
            chosen = fault(point)
            point.start(server, fault=chosen)
            if not _more(point, asker, 1, "it never pressed"):
                return
            _moment(point)
            os.kill(point.pid, signal.SIGUSR1)
            point.wait(lambda: point.events("set off"), "points that could not be tried", "the fault was not set off")
            if chosen["kind"] == "call":
                point.wait(lambda: point.events("call failed"), "points that could not be tried", "no call failed")
            if chosen["kind"] == "call" and chosen["last"] < 10:
                _more(point, asker, 2, "after calls that failed")
            else:
                point.wait(lambda: _unrecorded(point), "faults not told of", "it says nothing of what is not recorded")
                time.sleep(SEEN_S)
            if chosen["kind"] == "full":
                os.kill(point.pid, signal.SIGUSR2)
                # What stands there was tried three times, and is a person's: the next prompt is the supervisor's again.
                server.tmux("send-keys", "-t", "=a:", "-H", "70")
                _more(point, asker, 2, "after there was room again")
            if ended(point.pid):
                point.fails("supervisors that failed", point.events()[-3:])
            _recorded(point, asker)
            _live(point, "tmux:a")
        finally:
            server.end()

    return tried


def _unrecorded(point: Point) -> bool:
    refused = any("cannot be recorded" in str(one.get("why")) for one in point.events("dismissal"))
    return refused or bool(point.events("not_recorded"))


def _call(point: Point) -> dict[str, Any]:
    number = point.number // 2
    last = point.chance.choice((1, 1, 2, 3, 10**9))
    return {"kind": "call", "nth": number % 30, "last": last, "why": ERRORS[number % len(ERRORS)]}


def _full(point: Point) -> dict[str, Any]:
    if not _may_mount():
        return _size(point)
    return {"kind": "full", "tmpfs": "256k", "left": 4096 * point.chance.randrange(0, 6)}


def _size(point: Point) -> dict[str, Any]:
    return {"kind": "size", "left": point.chance.randrange(0, 20_000)}


def _read_only(point: Point) -> dict[str, Any]:
    return {"kind": "read-only"}


def _server_stops(point: Point) -> None:
    """A tmux server that stands still: nobody is gone, other servers' prompts are answered."""
    server, other = _server(point), _server(point, "other")
    pid = 0
    try:
        a, b = _asker(point, server), _asker(point, other, "b")
        point.start(server, servers=[[str(server.socket), ["tmux:a"]], [str(other.socket), ["tmux:b"]]])
        if not (_more(point, a, 1, "it never pressed") and _more(point, b, 1, "it never pressed the other")):
            return
        _moment(point)
        pid = server.pid
        began = time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(pid, signal.SIGCONT)
        over = time.monotonic()
        _more(point, a, 1, "after its server went on")
        _more(point, b, 1, "on the other server")
        if not point.events("could_not_look"):
            point.fails("faults not told of", "nobody says that a server stood still")
        _recorded(point, a, b)
        _live(point, "tmux:a", "tmux:b")
        answered = _answered(b)
        point.delays += [delay for at, delay in answered if began <= at <= over - DEADLINE_S]
        point.usual += [delay for at, delay in answered if not began - 1 <= at <= over]
    finally:
        if pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        server.end()
        other.end()


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


def _server_killed(point: Point) -> None:
    """A tmux server that is killed takes its sessions along; a new one on its socket is watched again."""
    server = _server(point)
    try:
        a = _asker(point, server)
        point.start(server, restart=[])  # or it would start the session itself, as its policy says
        if not _more(point, a, 1, "it never pressed"):
            return
        _moment(point)
        pid = server.pid
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: ended(pid), "the server's end")
        pauses = point.chance.random() < 0.5
        if pauses:
            missed = "ends and stalls that were missed"
            point.wait(lambda: point.events("gone", "could_not_look"), missed, "its server was killed")
        made = _presses(a)
        again = _asker(point, server)
        _more(point, again, 1, "in the server that came after")
        point.tally["presses"] += made
        rows = [row for row in point.rows() if row[1] != "refused" and row[2] == "press"]
        if made + _presses(again) > len(rows):
            point.fails("presses without a record", f"{made} and {again.presses} presses, {rows}")
        _no_stall(point)
    finally:
        server.end()


def _socket_removed(point: Point) -> None:
    """The server lives, its socket is lost: nobody is gone; once it is there again, so are the looks."""
    server = _server(point)
    pid = 0
    try:
        a = _asker(point, server)
        point.start(server)
        if not _more(point, a, 1, "it never pressed"):
            return
        _moment(point)
        pid = server.pid
        server.socket.unlink()
        point.wait(lambda: point.events("could_not_look"), "faults not told of", "its socket is lost")
        time.sleep(point.chance.uniform(0.0, SEEN_S))
        os.kill(pid, signal.SIGUSR1)
        _more(point, a, 1, "after the socket was there again")
        _recorded(point, a)
        _live(point, "tmux:a")
    finally:
        if pid and not server.socket.exists():
            os.kill(pid, signal.SIGKILL)
        server.end()


def _no_tmux(point: Point) -> None:
    """tmux cannot be found for a while."""
    server = _server(point)
    try:
        a = _asker(point, server)
        point.start(server, fault={"kind": "path"})
        if not _more(point, a, 1, "it never pressed"):
            return
        _moment(point)
        os.kill(point.pid, signal.SIGUSR1)
        point.wait(lambda: point.events("could_not_look"), "faults not told of", "there is no tmux")
        time.sleep(point.chance.uniform(0.0, SEEN_S))
        os.kill(point.pid, signal.SIGUSR2)
        _more(point, a, 1, "after tmux was there again")
        _recorded(point, a)
        _live(point, "tmux:a")
    finally:
        server.end()


def _clock_jumps(point: Point) -> None:
    """The wall clock is set by a day: no stall, no end, and the prompts are answered as before."""
    server = _server(point)
    try:
        a = _asker(point, server)
        fault = {"kind": "clock", "by_s": point.chance.choice((DAY_S, -DAY_S))}
        point.start(server, fault=fault, stall_s=10.0)  # longer than any question of the asker stands there
        if not _more(point, a, 1, "it never pressed"):
            return
        _moment(point)
        os.kill(point.pid, signal.SIGUSR1)
        point.wait(lambda: point.events("set off"), "points that could not be tried", "the clock was not set")
        _more(point, a, 2, "after the clock was set")
        _recorded(point, a)
        _live(point, "tmux:a")
    finally:
        server.end()


def _suspended(point: Point) -> None:
    """Supervisor and program sleep for longer than the stall time-out: no stall.  Then a real one: it is told."""
    server = _server(point)
    hold = point.folder / "hold"
    try:
        ticks = f"while :; do [ -e {hold} ] || date +%N; sleep 0.4; done"
        server.start("a", "bash", "-c", ticks).close()
        point.start(server, stall_s=STALL_S)
        point.wait(lambda: point.events("detection"), "points that could not be tried", "nothing was seen")
        _moment(point)
        hold.touch()
        os.kill(point.pid, signal.SIGSTOP)
        time.sleep(AWAY_S)
        os.kill(point.pid, signal.SIGCONT)
        hold.unlink()
        time.sleep(SEEN_S)
        _live(point, "tmux:a")
        hold.touch()

        def told() -> bool:
            return any(STALLED in one["why"] for one in point.events("escalation"))

        point.wait(told, "ends and stalls that were missed", "a program that stands still")
    finally:
        hold.unlink(missing_ok=True)
        server.end()


def _agent_ends(point: Point) -> None:
    """What is surely over is started again, once: the proof that the others could have been."""
    server = _server(point)
    try:
        in_shell = point.chance.random() < 0.5
        asker = _in_shell(point, server) if in_shell else _asker(point, server)
        point.start(server)
        if not _more(point, asker, 1, "it never pressed"):
            return
        _moment(point)
        first = server.tmux("display-message", "-p", "-t", "=a:", "#{pane_pid}").strip()
        programs = Path(f"/proc/{first}/task/{first}/children").read_text().split() if in_shell else [first]
        for program in programs:
            os.kill(int(program), signal.SIGKILL)
        restarted = point.folder / "restarted"
        missed = "ends and stalls that were missed"
        if point.wait(restarted.exists, missed, "an agent that was killed is not started again"):
            time.sleep(SEEN_S)
            if restarted.read_text() != "\n":
                point.fails("restarts of a live agent", f"{restarted.read_text()!r}")
        _recorded(point, asker)
    finally:
        server.end()


def _in_shell(point: Point, server: Server) -> Asker:
    """An asker that was started from a shell's prompt."""
    server.start("a", "bash", "-c", "PS1='dev@box:~$ ' exec bash --norc --noprofile -i", shows="$").close()
    asker = Asker("a", "yes", point.folder / "record", point.folder)
    command = (sys.executable, "-I", str(ASKER), str(asker.record), "yes", str(point.number), REST_S)
    server.tmux("send-keys", "-t", "=a:", shlex.join(command), "Enter")
    wait_for(asker.record.exists, "the first question")
    return asker


def _stop_file(point: Point) -> None:
    """A limit is reached, and .auto-stop cannot be written: that nobody wrote it is no leave to go on."""
    server = _server(point)
    try:
        a = _asker(point, server)
        home = point.folder / "nowhere"
        if point.chance.random() < 0.5:
            home.write_text("a file in the place of a folder")
        most = point.chance.randint(1, 2)
        limits = {"per_iteration": 10**6, "total": most, "in_window": 10**6}
        point.start(server, homes={"tmux:a": str(home)}, limits=limits)
        if not point.wait(lambda: point.events("auto_stop"), "faults not told of", "the limit was not reached"):
            return
        if not point.events("auto_stop")[0].get("file_error"):
            point.fails("faults not told of", point.events("auto_stop"))
        time.sleep(2 * SEEN_S)
        if _presses(a) > most:
            point.fails("limits exceeded", f"{a.presses} presses, {most} are allowed; {point.events('released')[:1]}")
        _recorded(point, a)
        _live(point, "tmux:a")
    finally:
        server.end()


def _may_mount() -> bool:
    trial = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/media"]
    return os.geteuid() == 0 and subprocess.run(trial, check=False, capture_output=True).returncode == 0


@frozen
class _Share:
    """How many of each 50 points are of a kind."""

    name: str
    tried: Callable[[Point], None]
    of_50: int


_SHARES = (
    _Share("calls of the store that fail", _of_store(_call), 19),
    _Share("disk full", _of_store(_full), 5),
    _Share("file too large", _of_store(_size), 4),
    _Share("read-only", _of_store(_read_only), 3),
    _Share("server stopped", _server_stops, 4),
    _Share("server killed", _server_killed, 3),
    _Share("socket removed", _socket_removed, 2),
    _Share("tmux missing", _no_tmux, 2),
    _Share("clock set by a day", _clock_jumps, 3),
    _Share("supervisor asleep", _suspended, 3),
    _Share("agent killed", _agent_ends, 1),
    _Share("stop file not written", _stop_file, 1),
)
KINDS = {share.name: share.tried for share in _SHARES}


def _kinds(count: int) -> list[str]:
    """The kind of each point: each once, then by their shares."""
    once = [share.name for share in _SHARES]
    rest = [share.name for share in _SHARES for _ in range(share.of_50 - 1)]
    random.Random(5).shuffle(rest)
    cycle = once + rest
    return [cycle[number % len(cycle)] for number in range(count)]


PART = Part(
    name="faults",
    about="Faults at random moments under a supervisor that presses: store, disk, tmux, clock, its own sleep.",
    unit="fault points",
    full=330,
    short=12,
    soak=soak,
)
