"""The faults: each comes at a random moment once the supervisor has pressed, and what must hold then is looked at."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

from terminals import Server, wait_for

from soak.fault_points import (
    DEADLINE_S,
    REST_S,
    STALLED,
    Point,
    asker_on,
    goes_on,
    live,
    moment,
    no_stall,
    presses,
    recorded,
    server_of,
)
from soak.kills import ASKER, Asker
from soak.nursery import ended

SEEN_S = 1.5  # that a fault lasts, for the supervisor to meet it
STOPPED_S = 8.0  # that a tmux server stands still: longer than a look, and than what nobody is told of before it
STALL_S = 2.0  # the stall time-out where it is what is tried
DAY_S = 86_400.0
AWAY_S = 3.5  # that a supervisor is stopped: longer than its stall time-out
ERRORS = ("disk I/O error", "database or disk is full", "attempt to write a readonly database", "database is locked")


def of_store(fault: Callable[[Point], dict[str, Any]]) -> Callable[[Point], None]:
    """A fault of the store: nothing is pressed that is not recorded; it is told; the supervisor goes on."""

    def tried(point: Point) -> None:
        server = server_of(point)
        try:
            asker = asker_on(point, server)
            chosen = fault(point)
            point.start(server, fault=chosen)
            if not goes_on(point, asker, 1, "it never pressed"):
                return
            moment(point)
            os.kill(point.pid, signal.SIGUSR1)
            point.wait(lambda: point.events("set off"), "points that could not be tried", "the fault was not set off")
            if chosen["kind"] == "call":
                point.wait(lambda: point.events("call failed"), "points that could not be tried", "no call failed")
            if chosen["kind"] == "call" and chosen["last"] < 10:
                goes_on(point, asker, 2, "after calls that failed")
            else:
                point.wait(lambda: _unrecorded(point), "faults not told of", "it says nothing of what is not recorded")
                time.sleep(SEEN_S)
            if chosen["kind"] == "full":
                os.kill(point.pid, signal.SIGUSR2)
                # What stands there was tried three times, and is a person's: the next prompt is the supervisor's again.
                server.tmux("send-keys", "-t", "=a:", "-H", "70")
                goes_on(point, asker, 2, "after there was room again")
            if ended(point.pid):
                point.fails("supervisors that failed", point.events()[-3:])
            recorded(point, asker)
            live(point, "tmux:a")
        finally:
            server.end()

    return tried


def _unrecorded(point: Point) -> bool:
    refused = any("cannot be recorded" in str(one.get("why")) for one in point.events("dismissal"))
    return refused or bool(point.events("not_recorded"))


def call(point: Point) -> dict[str, Any]:
    number = point.number // 2
    last = point.chance.choice((1, 1, 2, 3, 10**9))
    return {"kind": "call", "nth": number % 30, "last": last, "why": ERRORS[number % len(ERRORS)]}


def full(point: Point) -> dict[str, Any]:
    if not _may_mount():
        return size(point)
    return {"kind": "full", "tmpfs": "256k", "left": 4096 * point.chance.randrange(0, 6)}


def size(point: Point) -> dict[str, Any]:
    return {"kind": "size", "left": point.chance.randrange(0, 20_000)}


def read_only(point: Point) -> dict[str, Any]:
    return {"kind": "read-only"}


def server_stops(point: Point) -> None:
    """A tmux server that stands still: nobody is gone, other servers' prompts are answered."""
    server, other = server_of(point), server_of(point, "other")
    pid = 0
    try:
        a, b = asker_on(point, server), asker_on(point, other, "b")
        point.start(server, servers=[[str(server.socket), ["tmux:a"]], [str(other.socket), ["tmux:b"]]])
        if not (goes_on(point, a, 1, "it never pressed") and goes_on(point, b, 1, "it never pressed the other")):
            return
        moment(point)
        pid = server.pid
        began = time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(pid, signal.SIGCONT)
        over = time.monotonic()
        goes_on(point, a, 1, "after its server went on")
        goes_on(point, b, 1, "on the other server")
        if not point.events("could_not_look"):
            point.fails("faults not told of", "nobody says that a server stood still")
        recorded(point, a, b)
        live(point, "tmux:a", "tmux:b")
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


def server_killed(point: Point) -> None:
    """A tmux server that is killed takes its sessions along; a new one on its socket is watched again."""
    server = server_of(point)
    try:
        a = asker_on(point, server)
        point.start(server, restart=[])  # or it would start the session itself, as its policy says
        if not goes_on(point, a, 1, "it never pressed"):
            return
        moment(point)
        pid = server.pid
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: ended(pid), "the server's end")
        pauses = point.chance.random() < 0.5
        if pauses:
            missed = "ends and stalls that were missed"
            point.wait(lambda: point.events("gone", "could_not_look"), missed, "its server was killed")
        made = presses(a)
        again = asker_on(point, server)
        goes_on(point, again, 1, "in the server that came after")
        point.tally["presses"] += made
        rows = [row for row in point.rows() if row[1] != "refused" and row[2] == "press"]
        if made + presses(again) > len(rows):
            point.fails("presses without a record", f"{made} and {again.presses} presses, {rows}")
        no_stall(point)
    finally:
        server.end()


def socket_removed(point: Point) -> None:
    """The server lives, its socket is lost: nobody is gone; once it is there again, so are the looks."""
    server = server_of(point)
    pid = 0
    try:
        a = asker_on(point, server)
        point.start(server)
        if not goes_on(point, a, 1, "it never pressed"):
            return
        moment(point)
        pid = server.pid
        server.socket.unlink()
        point.wait(lambda: point.events("could_not_look"), "faults not told of", "its socket is lost")
        time.sleep(point.chance.uniform(0.0, SEEN_S))
        os.kill(pid, signal.SIGUSR1)
        goes_on(point, a, 1, "after the socket was there again")
        recorded(point, a)
        live(point, "tmux:a")
    finally:
        if pid and not server.socket.exists():
            os.kill(pid, signal.SIGKILL)
        server.end()


def no_tmux(point: Point) -> None:
    """tmux cannot be found for a while."""
    server = server_of(point)
    try:
        a = asker_on(point, server)
        point.start(server, fault={"kind": "path"})
        if not goes_on(point, a, 1, "it never pressed"):
            return
        moment(point)
        os.kill(point.pid, signal.SIGUSR1)
        point.wait(lambda: point.events("could_not_look"), "faults not told of", "there is no tmux")
        time.sleep(point.chance.uniform(0.0, SEEN_S))
        os.kill(point.pid, signal.SIGUSR2)
        goes_on(point, a, 1, "after tmux was there again")
        recorded(point, a)
        live(point, "tmux:a")
    finally:
        server.end()


def clock_jumps(point: Point) -> None:
    """The wall clock is set by a day: no stall, no end, and the prompts are answered as before."""
    server = server_of(point)
    try:
        a = asker_on(point, server)
        fault = {"kind": "clock", "by_s": point.chance.choice((DAY_S, -DAY_S))}
        point.start(server, fault=fault, stall_s=10.0)  # longer than any question of the asker stands there
        if not goes_on(point, a, 1, "it never pressed"):
            return
        moment(point)
        os.kill(point.pid, signal.SIGUSR1)
        point.wait(lambda: point.events("set off"), "points that could not be tried", "the clock was not set")
        goes_on(point, a, 2, "after the clock was set")
        recorded(point, a)
        live(point, "tmux:a")
    finally:
        server.end()


def suspended(point: Point) -> None:
    """Supervisor and program sleep for longer than the stall time-out: no stall.  Then a real one: it is told."""
    server = server_of(point)
    hold = point.folder / "hold"
    try:
        ticks = f"while :; do [ -e {hold} ] || date +%N; sleep 0.4; done"
        server.start("a", "bash", "-c", ticks).close()
        point.start(server, stall_s=STALL_S)
        point.wait(lambda: point.events("detection"), "points that could not be tried", "nothing was seen")
        moment(point)
        hold.touch()
        os.kill(point.pid, signal.SIGSTOP)
        time.sleep(AWAY_S)
        os.kill(point.pid, signal.SIGCONT)
        hold.unlink()
        time.sleep(SEEN_S)
        live(point, "tmux:a")
        hold.touch()

        def told() -> bool:
            return any(STALLED in one["why"] for one in point.events("escalation"))

        point.wait(told, "ends and stalls that were missed", "a program that stands still")
    finally:
        hold.unlink(missing_ok=True)
        server.end()


def agent_ends(point: Point) -> None:
    """What is surely over is started again, once: the proof that the others could have been."""
    server = server_of(point)
    try:
        in_shell = point.chance.random() < 0.5
        asker = _in_shell(point, server) if in_shell else asker_on(point, server)
        point.start(server)
        if not goes_on(point, asker, 1, "it never pressed"):
            return
        moment(point)
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
        recorded(point, asker)
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


def stop_file(point: Point) -> None:
    """A limit is reached, and .auto-stop cannot be written: that nobody wrote it is no leave to go on."""
    server = server_of(point)
    try:
        a = asker_on(point, server)
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
        if presses(a) > most:
            point.fails("limits exceeded", f"{a.presses} presses, {most} are allowed; {point.events('released')[:1]}")
        recorded(point, a)
        live(point, "tmux:a")
    finally:
        server.end()


def _may_mount() -> bool:
    trial = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/media"]
    return os.geteuid() == 0 and subprocess.run(trial, check=False, capture_output=True).returncode == 0
