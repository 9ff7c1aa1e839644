"""Whether all of a job stands in a read of its terminal: real programs, and builds with a thread at the keyboard."""

from __future__ import annotations

import os
import sys
from typing import Callable

import pytest
from programs import NODE, Run, Running, python
from terminals import Server, wait_for

from stallkit.detect.engine import Engine
from stallkit.evidence.snapshot import KernelFacts, Snapshot, Standstill
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.probes.foreground_job import at_rest
from stallkit.probes.readers import tty_facts
from stallkit.probes.threads import standstill
from stallkit.transports.base import Transport

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")

KEYBOARD = "import os, select, socket, sys, threading, time\n"
TIMED = "import termios, tty; tty.setcbreak(0); now = termios.tcgetattr(0); now[6][termios.VMIN] = 0; "
TIMED += "now[6][termios.VTIME] = 2; termios.tcsetattr(0, termios.TCSANOW, now)\n"
READER = KEYBOARD + "reader = threading.Thread(target=sys.stdin.readline, daemon=True); reader.start()\n"
STANDS = {
    "a shell's script": ["sh", "-c", "read x"],
    "a script with a question": ["bash", "-c", "read -p 'Name: ' x"],
    "a program": python("input('Name: ')"),
    "a program that copies its terminal": ["cat"],
    "a thread that the program waits for": python(READER + "reader.join()"),
    "a program below a script": ["bash", "-c", f"{sys.executable} -c 'input()'; true"],
    "single keys": ["bash", "-c", "read -n1 x"],
    "the head of a pipeline": ["bash", "-c", "(read x; echo $x) | cat"],
    "a program below a launcher": ["timeout", "--foreground", "1000", "sh", "-c", "read x"],
}
GOES_ON = {
    "a build that sleeps": python(READER + "time.sleep(1000)"),
    "a build that asks the network": python(READER + "socket.create_server(('127.0.0.1', 0)).accept()"),
    "a build that polls": python(READER + "select.select([socket.create_server(('127.0.0.1', 0))], [], [])"),
    "a build that waits up to a limit": python(READER + "threading.Event().wait(1000)"),
    "a build of another program": python(READER + "import subprocess; subprocess.run(['sleep', '1000'])"),
    "a script beside its job": ["bash", "-c", "sleep 1000 & read x"],
    "a pipeline that works": ["bash", "-c", "read x </dev/tty | sleep 1000"],
    "a read that a clock ends": python(f"import signal; signal.signal(signal.SIGALRM, print); {KEYBOARD}os.read(0, 1)"),
    "single keys with a limit of time": python(KEYBOARD + TIMED + "while not os.read(0, 1): pass"),
}


def reading(running: Running) -> KernelFacts:
    return running.until(lambda facts: facts.listening and facts.how == "read", "a read of the terminal")


def looks(running: Running, count: int, apart: bool = False) -> list[Standstill | None]:
    return [standstill(running.look(), tty_facts(running.path), apart=apart) for _ in range(count)]


def stands(running: Running, apart: bool = False) -> bool:
    """At all of some looks, and all the same."""
    found = looks(running, 4, apart)
    return None not in found and found[0] == found[-1]


def test_what_only_waits_for_a_line_stands_and_what_can_go_on_by_itself_does_not(run: Run) -> None:
    started = {name: run(command) for name, command in {**STANDS, **GOES_ON}.items()}
    for name, running in started.items():
        reading(running)
        if name in STANDS:
            wait_for(lambda running=running: stands(running), f"{name} to stand")
        else:
            running.until(lambda facts: not facts.running, f"{name} to rest")
            wait_for(lambda running=running: not any(looks(running, 5)), f"{name} to do what it does")


POLL = KEYBOARD + "poll = select.poll(); poll.register(0, select.POLLIN)\n"
APART = {
    "a script beside its job": ["bash", "-c", "sleep 1000 & read x"],
    "a program beside another": ["bash", "-c", f"sleep 1000 & {sys.executable} -c 'input()'; true"],
    "a poll": python(POLL + "poll.poll()"),
    "a select": python(KEYBOARD + "select.select([0], [], [])"),
    "a poll of a pipe as well": python(POLL + "poll.register(os.pipe()[0]); poll.poll()"),
}
NOT_APART = {
    "a poll up to a limit": python(POLL + "poll.poll(1_000_000)"),
    "a select up to a limit": python(KEYBOARD + "select.select([0], [], [], 1000)"),
    "a poll of the network as well": python(POLL + "poll.register(s := socket.create_server(('', 0))); poll.poll()"),
    "a poll beside its child": python(POLL + "import subprocess; subprocess.Popen(['sleep', '1000']); poll.poll()"),
    "a read beside a thread that sleeps": GOES_ON["a build that sleeps"],
    "a read beside its thread's child": GOES_ON["a build of another program"],
}


def test_what_reads_stands_apart_from_what_works_beside_it(run: Run) -> None:
    started = {name: run(command) for name, command in {**APART, **NOT_APART}.items()}
    for name, running in started.items():
        running.until(lambda facts: facts.listening and not facts.running, "who waits for the terminal")
        if name in APART:
            wait_for(lambda running=running: stands(running, apart=True), f"{name} to stand")
        else:
            wait_for(lambda running=running: not any(looks(running, 4, apart=True)), f"{name} to do what it does")


RAW = KEYBOARD + "import subprocess, tty; tty.setraw(0); e = select.epoll(); e.register(0, select.EPOLLIN)\n"
KEYS = {
    "without a limit of time": (python(RAW + "e.poll()"), True),
    "a timer that is due later": (python(RAW + "e.poll(60)"), True),
    "a timer that is due soon": (python(RAW + "\nwhile True: e.poll(3)"), False),
    "a select with a limit": (python(RAW + "select.select([0], [], [], 60)"), False),
    "a thread that sleeps": (python(RAW + "threading.Thread(target=time.sleep, args=(60,)).start(); e.poll()"), False),
    "a connection": (python(RAW + "s = socket.socketpair(); e.register(s[0], select.EPOLLIN); e.poll()"), False),
    "a child at work": (python(RAW + "s = subprocess.Popen(['sleep', '60']); e.poll()"), False),
    "one key of a script": (["bash", "-c", "read -rn1 x"], True),
    "node, which has a timer of its own": (["node", "-e", NODE], True),
}


def test_whether_nothing_but_a_key_has_it_go_on(run: Run) -> None:
    started = {name: run(command) for name, (command, _) in KEYS.items()}
    for name, running in started.items():

        def told(running: Running = running, alone: bool = KEYS[name][1]) -> bool:
            kernel, settings = at_rest(running.path, running.pid)
            return settings.canonical is False and kernel.keys_alone is alone

        wait_for(told, f"{name}: what its reader waits for")


def test_what_ran_between_two_looks_stands_anew(run: Run) -> None:
    running = run(["bash", "-c", "while read x; do :; done"])
    looks: list[Standstill] = []

    def stands() -> bool:
        found = standstill(reading(running), tty_facts(running.path))
        again = found is not None and (not looks or found != looks[-1])
        looks.extend([found] if found is not None and again else [])
        return again

    wait_for(stands, "it to stand")
    os.write(running.master, b"\n")
    wait_for(stands, "it to stand anew")
    assert looks[-1].after(looks[-1], 2.5).lasts_s == 2.5
    assert looks[-1].after(looks[-2], 2.5).lasts_s == 0.0


def verdict_on(transport: Transport, engine: Engine, until: Callable[[Verdict], bool]) -> Verdict:
    looks: list[Snapshot] = [transport.capture()]
    found: list[Verdict] = []

    def holds() -> bool:
        looks.append(transport.capture())
        found.append(judged(engine, looks[-1], looks[-2]))
        return until(found[-1])

    wait_for(holds, "the verdict")
    return found[-1]


def test_in_a_pane_of_tmux_it_waits_for_sure_after_two_seconds(server: Server, engine: Engine) -> None:
    pane = server.start("asks", "sh", "-c", "echo Whither now; read x", shows="Whither")
    seen = verdict_on(pane, engine, lambda verdict: verdict.by_read)
    assert (seen.state, seen.certainty, seen.kind) == ("waiting", "sure", "text")
    assert not seen.sure_by_screen


def test_a_build_with_a_thread_at_its_keyboard_stays_doubtful(server: Server, engine: Engine) -> None:
    pane = server.start(
        "build", *python("print('Building', flush=True)\n" + READER + "time.sleep(1000)"), shows="Build"
    )
    seen = verdict_on(pane, engine, lambda verdict: "for 3" in " ".join(verdict.reasons))
    assert (seen.certainty, seen.by_read, seen.proof_in_s) == ("maybe", False, None)
