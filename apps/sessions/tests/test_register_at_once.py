"""The register where many ask at once, where one is killed, and where the disk is full."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from attrs import evolve
from registered import BY, ends, run, told
from stallkit_sessions.model import Cause
from stallkit_sessions.outbox import FINAL
from stallkit_sessions.register import Register

CROWD = """
import os, sys, time
from pathlib import Path
from stallkit.errors import StartRefused
from stallkit_sessions.model import Session
from stallkit_sessions.register import Register
path, count, name, ports = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
start, go = os.pipe()
children = []
for number in range(count):
    child = os.fork()
    if child == 0:
        os.close(go)
        os.read(start, 1)  # ends when the parent closes its side
        mine = Session(name=name.replace("#", str(number)), id=f"id{number}", command=("x",), directory="/",
                       started_at=time.time(), boot="b", ports=(0,) * ports)
        try:
            got = "won " + " ".join(map(str, Register(path).claim(mine, (os.getpid(), 1)).ports))
        except StartRefused as refused:
            got = f"lost {refused}"
        except BaseException as error:
            got = f"failed {error!r}"
        os.write(1, (got + "\\n").encode())
        os._exit(0)
    children.append(child)
os.close(go)
for child in children:
    os.waitpid(child, 0)
"""


def crowd(path: Path, count: int, name: str, ports: int) -> list[str]:
    command = [sys.executable, "-c", CROWD, str(path), str(count), name, str(ports)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.e2e  # real processes
def test_a_hundred_claim_one_name(tmp_path: Path) -> None:
    said = crowd(tmp_path / "sessions.db", 100, "one", 1)
    assert Counter(line.split()[0] for line in said) == {"won": 1, "lost": 99}, said
    assert all("could not start one: process" in line for line in said if line.startswith("lost"))


@pytest.mark.e2e  # real processes
def test_a_hundred_claim_three_ports_each(tmp_path: Path) -> None:
    said = crowd(tmp_path / "sessions.db", 100, "worker#", 3)
    assert Counter(line.split()[0] for line in said) == {"won": 100}, said
    given = [port for line in said for port in line.split()[1:]]
    assert len(given) == len(set(given)) == 300


# Lives through sessions in a loop, and acknowledges each step once the register said that it is written.
LIVES = """
import itertools, os, sys, time
from pathlib import Path
from stallkit.errors import StoreError
from stallkit_sessions.model import Cause, ExitRecord, Session
from stallkit_sessions.register import Register
register, who = Register(Path(sys.argv[1])), sys.argv[2]

def write(act, *what):  # the other one, which never rests, may hold the file whenever this one tries
    while True:
        try:
            return act(*what)
        except StoreError as error:
            if "locked" not in str(error):
                raise

for number in itertools.count():
    name, id = f"{who}-{number}", f"{who}-id-{number}"
    one = Session(name=name, id=id, command=("x",), directory="/", started_at=time.time(), boot="b", ports=(0, 0))
    mine = write(register.claim, one, (os.getpid(), 1))
    print("claimed", id, *mine.ports, flush=True)
    assert write(register.bound, id, "1 2 %3 4", 5)
    print("bound", id, flush=True)
    if number % 2:
        assert write(register.end, ExitRecord(mine, Cause.EXITED, "", time.time()), "session_crashed", {})
        print("ended", id, flush=True)
"""


@pytest.mark.e2e  # real processes
@pytest.mark.parametrize("seed", range(6))
def test_kill_9_loses_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "sessions.db"
    command = [sys.executable, "-c", LIVES, str(path)]
    both = [subprocess.Popen([*command, who], stdout=subprocess.PIPE, text=True) for who in "ab"]
    said: list[list[str]] = []
    for process in both:
        assert process.stdout is not None
        with process.stdout as pipe:
            said += [pipe.readline().split() for _ in range(chance.randrange(1, 40))]
            process.send_signal(signal.SIGKILL)
            said += [line.split() for line in pipe if line.endswith("\n")]
        process.wait()
    register = Register(path)
    living = {one.session.id: one for one in register.living()}
    ended = {one.session.id for one in register.records(limit=10_000)}
    for what, id, *ports in said:
        assert id in living or id in ended
        if what == "claimed" and id in living:
            assert living[id].session.ports == tuple(map(int, ports))
        elif what == "bound":
            assert id in ended or living[id].bound
        elif what == "ended":
            assert id in ended and id not in living
    handed = [port for one in living.values() for port in one.session.ports]
    assert len(handed) == len(set(handed))
    events = [(event.session, event.name) for event in register.pending()]
    assert len(events) == len(set(events))
    assert {id for id, name in events if name == "session_started"} == {
        one for one in living if living[one].bound
    } | ended
    assert {id for id, name in events if name in FINAL} == ended
    for one in list(living.values()):  # whatever was left can be ended, and its name and ports taken again
        assert ends(register, one.session, Cause.UNKNOWN, "session_drop")
        assert register.claim(evolve(one.session, id=one.session.id + "+"), BY).ports == one.session.ports
    with sqlite3.connect(path) as base:
        assert base.execute("pragma integrity_check").fetchone() == ("ok",)
    base.close()
    register.close()


def test_a_full_disk_keeps_the_session_alive(tmp_path: Path) -> None:
    """An end that could not be written is none: the next one who looks ends it."""
    path = tmp_path / "sessions.db"
    register = Register(path)
    one = run(register)
    code = """
import resource, signal, sys
from pathlib import Path
from stallkit.errors import StoreError
from stallkit_sessions.model import Cause, ExitRecord
from stallkit_sessions.register import Register
register = Register(Path(sys.argv[1]))
(one,) = register.living()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
record = ExitRecord(one.session, Cause.EXITED, "", 1.0)
for _ in range(2):
    try:
        register.end(record, "session_crashed", {})
    except StoreError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.count("register ") == 2, done
    assert [living.session.id for living in register.living()] == [one.id]
    assert told(register) == [("session_started", "one")]
    assert ends(register, one) and told(register)[-1] == ("session_crashed", "one")
    register.close()
