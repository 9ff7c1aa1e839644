"""What the kernel says of a program that did something in the moment before a press."""

from __future__ import annotations

import os
import signal
import sys
import termios

import pytest
from attrs import evolve
from programs import Run, Running, python
from terminals import wait_for

from stallkit.evidence.snapshot import KernelFacts, Member, Snapshot
from stallkit.probes.activity import Stillness
from stallkit.probes.readers import tty_facts
from stallkit.terminal.screen import Screen

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells this much")

# A program that waits, and does one thing at a signal; then it waits on.
ACTS = {
    "it writes to its terminal": ("os.write(1, b'-')", "wrote"),
    "it writes what is there": ("os.write(1, b'\\r? ')", "wrote"),
    "it writes to a file": ("os.write(os.open('/dev/null', 1), b'-')", "wrote"),
    "it starts another program": ("os.fork() or time.sleep(1000)", "other processes"),
    "it becomes another program": ("os.execv(sys.executable, [sys.executable, '-c', WAITS])", "another program"),
    "it stops to show what is typed": ("tty.setcbreak(0)", "echo or canonical mode"),
}
WAITS = "import time\nwhile 1: time.sleep(1000)"
PROGRAM = """
import os, signal, sys, time, tty
WAITS = {waits!r}
def act(*_):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    {act}
signal.signal(signal.SIGUSR1, act)
os.write(1, b"? ")
while 1: time.sleep(1000)
"""


def seen_of(running: Running) -> Snapshot:
    return Snapshot(Screen.from_text("? "), kernel=running.look(), tty=tty_facts(running.master))


def test_what_a_program_does_is_told(run: Run) -> None:
    started = {name: run(python(PROGRAM.format(act=act, waits=WAITS))) for name, (act, _) in ACTS.items()}
    for name, running in started.items():
        running.shows("?")
        with Stillness(seen_of(running), running.master) as still:
            assert still.doubt() is None, name
            os.kill(running.pid, signal.SIGUSR1)
            wait_for(still.doubt, f"{name} to be noticed")
            assert ACTS[name][1] in str(still.doubt()), name


def test_what_rests_rests(run: Run) -> None:
    running = run(["bash", "--norc", "-c", "read -p '? ' x | cat"])
    running.shows("?")
    running.until(lambda facts: any(one.name == "cat" for one in facts.members), "cat to be there")
    with Stillness(seen_of(running), running.path) as still:
        assert [still.doubt() for _ in range(3)] == [None] * 3


def test_a_program_that_ends_is_told(run: Run) -> None:
    running = run(["bash", "--norc", "-c", "(exec cat); read x"])
    seen = Snapshot(Screen.from_text(""), kernel=running.until(lambda facts: len(facts.members) == 2, "both"))
    assert seen.kernel is not None
    with Stillness(seen, running.path) as still:
        os.kill(seen.kernel.members[1].pid, signal.SIGKILL)
        wait_for(still.doubt, "its end")
        assert "other processes" in str(still.doubt())


def test_a_terminal_that_cannot_be_asked_any_more_is_told(run: Run) -> None:
    running = run(["cat"])
    running.until(lambda facts: facts.listening, "it to read")
    with Stillness(seen_of(running), "/nowhere") as still:
        assert "echo" in str(still.doubt())


def test_what_is_not_known_is_no_doubt() -> None:
    from_ps = KernelFacts(pid=os.getpid(), group=os.getpgid(0), members=(Member(os.getpid(), "python", "S"),))
    for kernel in (None, KernelFacts(pid=1), from_ps):
        with Stillness(Snapshot(Screen.from_text("?"), kernel=kernel), "/nowhere") as still:
            assert still.doubt() is None, kernel


def test_a_number_that_is_another_process_by_now_is_told(run: Run) -> None:
    running = run(["cat"])
    seen = seen_of(running)
    assert seen.kernel is not None
    member = seen.kernel.members[0]
    assert member.started is not None
    earlier = evolve(seen.kernel, members=(evolve(member, started=member.started - 1),))
    with Stillness(evolve(seen, kernel=earlier), running.path) as still:
        assert "other processes" in str(still.doubt())


def test_echo_switched_off_on_the_terminal_is_told(run: Run) -> None:
    running = run(["cat"])
    with Stillness(seen_of(running), running.path) as still:
        settings = termios.tcgetattr(running.master)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(running.master, termios.TCSANOW, settings)
        assert "echo" in str(still.doubt())
