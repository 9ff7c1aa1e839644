"""Many sessions started at once, and commands that are killed half-way: one holder of a name, one end each."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from stallkit_sessions.lifecycle import finalize_now
from stallkit_sessions.model import FINAL, Cause, ExitRecord
from stallkit_sessions.register import RunningSession
from started import House
from terminals import wait_for

from stallkit.transports.tmux.identity import Identity

pytestmark = pytest.mark.e2e

# Starts the sessions that are named on its command line, and says of each whether it could.
STARTS = """
import sys
from pathlib import Path
from stallkit.errors import StartRefused
from stallkit.probes.procfs import boot_id
from stallkit_sessions.model import Session
from stallkit_sessions.register import Register
from stallkit_sessions.lifecycle import start
state, work, socket, number, *names = sys.argv[1:]
register = Register(Path(state, "sessions.db"))
sys.stdin.readline()
for place, name in enumerate(names):
    id = f"id-{number}-{place}"
    session = Session(name, id, ("cat",), work, 1.7e9, boot_id(), ports=(0,), tmux_socket_path=socket)
    try:
        start(register, session, (80, 24))
        print(id, flush=True)
    except StartRefused as error:
        print(error, flush=True)
"""


def at_once(house: House, groups: list[list[str]]) -> list[str]:
    """What processes say that start these sessions, one process for each group, all of them let go at once."""
    given = [str(house.state), str(house.work), str(house.socket)]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", STARTS, *given, str(number), *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, names in enumerate(groups)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=300)[0].splitlines() for process in started]
    assert [process.returncode for process in started] == [0] * len(started)
    return [line for lines in said for line in lines]


def test_many_names_at_once(house: House) -> None:
    """Each runs with a port of its own, and all die together with their server."""
    processes, each = 8, 5
    names = [f"s{number}" for number in range(processes * each)]
    said = at_once(house, [names[first::processes] for first in range(processes)])
    assert sorted(said) == sorted(f"id-{number}-{place}" for number in range(processes) for place in range(each))
    living = house.register.living()
    assert {one.session.name for one in living if one.bound} == set(names)
    ports = [port for one in living for port in one.session.ports]
    assert len(set(ports)) == len(names)
    assert len(set(house.tmux("list-sessions", "-F", "#{session_name}").split())) == len(names)
    assert len(house.monitors) == 1
    house.kill_tmux()
    for _ in range(10):  # each waits for the monitor's answer, up to ANSWER_S
        finalize_now(house.register)
        if not house.register.living():
            break
    finals = [one for one in house.events() if one["event"] in FINAL]
    assert sorted(one["target"] for one in finals) == sorted(names)
    assert {(one["event"], one["cause"]) for one in finals} == {("session_drop", "tmux server crashed")}
    [incident] = [one for one in house.events() if one["event"] == "incident"]
    assert sorted(incident["sessions"]) == sorted(names)
    assert {one["incident"] for one in finals} == {incident["incident"]}
    assert len([one for one in house.own_events() if one["event"] in FINAL]) == len(names)


def test_many_of_one_name_at_once(house: House) -> None:
    """One of them wins, and the others are told in one line who has it."""
    processes, each = 8, 5
    said = at_once(house, [["a"] * each] * processes)
    assert len(said) == processes * each
    winners = [line for line in said if line.startswith("id-")]
    assert len(winners) == 1
    refused = [line for line in said if line not in winners]
    assert all(line.startswith("could not start a: ") and "a session of this name" in line for line in refused)
    [living] = house.register.living()
    assert living.session.id == winners[0]
    assert house.tmux("list-panes", "-a", "-F", "#{session_name}") == "a\n"
    assert [one["event"] for one in house.events()] == ["session_started"]


def killed_somewhere(house: House, dice: random.Random, longest_s: float, *words: str) -> bool:
    """Whether a command was killed before it came to its end."""
    process = subprocess.Popen(
        [house.command, *words], cwd=house.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(dice.uniform(0.1, longest_s))
    process.kill()
    return process.wait() == -signal.SIGKILL


def test_starts_that_are_killed_at_any_moment(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is there or is not: what runs is known, what does not has given its name up, and no port is lost."""
    monkeypatch.setattr("stallkit_sessions.witnesses.ORPHAN_S", 0.0)
    house.start("keeper")
    dice = random.Random(11)
    names = [f"s{number}" for number in range(6)]
    at = ("-S", str(house.socket), "--cwd", str(house.work), "--port", "0")
    for name in names:
        killed_somewhere(house, dice, 1.5, "start", name, *at, "--", "cat")

    def known() -> bool:
        finalize_now(house.register)
        return all(one.bound for one in house.register.living())

    wait_for(known, "what became of each")
    runs = {one.session.name for one in house.register.living()}
    assert set(house.tmux("list-sessions", "-F", "#{session_name}").split()) == runs
    assert {one["target"] for one in house.events() if one["event"] == "session_started"} == runs
    assert not [one for one in house.events() if one["event"] in FINAL]


def test_stops_that_are_killed_at_any_moment(house: House) -> None:
    house.start("keeper")
    dice = random.Random(13)
    killed = number = 0
    while number < 5 or (not killed and number < 15):
        name = f"s{number}"
        number += 1
        house.start(name)
        killed += killed_somewhere(house, dice, 1.2 / number, "stop", name)  # a machine may be quick, or busy
        finalize_now(house.register)
        latest = house.register.latest(name)
        if isinstance(latest, RunningSession):
            assert house.call("stop", name).returncode == 0
            latest = house.register.latest(name)
        assert isinstance(latest, ExitRecord)
        assert latest.cause is Cause.STOPPED
        assert house.final(name)["event"] == "session_stopped"
    assert killed, "none was killed half-way"


def test_replacements_at_once_end_each_but_one(house: House) -> None:
    house.start("a")
    words = ["start", "a", "-S", str(house.socket), "--cwd", str(house.work), "--replace", "--", "cat"]
    rivals = [
        subprocess.Popen([house.command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    complaints = [process.communicate(timeout=60)[1] for process in rivals]
    assert 0 in [process.returncode for process in rivals]
    assert all(complaint.count("\n") <= 1 and "defect" not in complaint for complaint in complaints), complaints
    [living] = house.register.living()
    assert living.bound
    records = house.register.records("a")
    assert {record.cause for record in records} == {Cause.REPLACED}
    finals = [one["session"] for one in house.events("a") if one["event"] in FINAL]
    assert sorted(finals) == sorted(record.session.id for record in records)
    assert house.tmux("list-panes", "-a", "-F", "#{pane_id}").split() == [Identity.of(living.session.identity).pane]
