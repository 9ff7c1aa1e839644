"""SIGKILL to the supervisor, at any moment and right after rows and presses, over ten sessions that ask on."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import define, field
from stallkit_supervisor.loop_files import release
from stallkit_supervisor.store import Store
from terminals import Server, wait_for

from soak.nursery import Nursery, ended, kill
from soak.parts import Figure, Part, Run, Tally

ASKER = Path(__file__).with_name("asker.py")
ASKERS = 10
TOTAL = 10  # presses that each session may have before a person lets it go on
FRESH_S = 3.0  # a prompt that was up for so long is answered by a person, where the supervisor will not
LONGEST_S = 5.0  # that a supervisor lives where it is killed at any moment at all: on a busy machine it presses by then
STOP = ".auto-stop"
LOST = "acknowledged rows lost or changed"
# One person's consent, for both forms of the askers and for their sessions.
RULE = """format = 1
[[rule]]
do = "press"
signature = ["shell_tools:press_any_key", "shell_yn:proceed_question", "shell_yn:yes_no"]
session = "tmux:a*"
"""
MACHINE = {"key": b" ", "yes": b"y"}  # the byte that begins each press of a machine
PERSON = {"key": b"p", "yes": b"q"}  # and of a person


@define
class Asker:
    name: str
    form: str
    record: Path
    home: Path
    helped: int = 0  # the question that a person answered last
    released: int = 0  # presses before the latest release
    stopped: bool = False  # its stop file was seen since
    at: int = 0  # bytes of the record that were read
    asked: dict[int, float] = field(factory=dict)
    given: dict[int, bytes] = field(factory=lambda: defaultdict(bytes))

    @property
    def target(self) -> str:
        return f"tmux:{self.name}"

    def read(self) -> None:
        with self.record.open("rb") as file:
            file.seek(self.at)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.at += len(whole)
        for line in whole.decode().splitlines():
            number, given, at = line.split(" ")
            self.asked.setdefault(int(number), float(at))
            self.given[int(number)] += bytes.fromhex(given)

    @property
    def presses(self) -> int:
        """By the machine, so far."""
        return sum(given.count(MACHINE[self.form]) for given in self.given.values())


@define
class Stage:
    """Everything that outlives the supervisors."""

    folder: Path
    server: Server
    askers: list[Asker]
    tally: Tally = field(factory=Tally)
    kept: dict[int, tuple[Any, ...]] = field(factory=dict)  # rows of the store, as they were last seen
    counted: dict[tuple[str, int], int] = field(factory=dict)  # presses of a session in a loop


def soak(run: Run) -> list[Figure]:
    server = Server(run.folder)
    stage = Stage(run.folder, server, [])
    (run.folder / "rule.toml").write_text(RULE)
    try:
        for number in range(ASKERS):
            stage.askers.append(_asker(stage, number))
        with Nursery(run.folder) as nursery:
            for number in range(run.size):
                _round(stage, nursery, random.Random(number))
                run.tell(number + 1)
        _last(stage)
    finally:
        server.end()
    return _figures(stage, run.size)


def _figures(stage: Stage, size: int) -> list[Figure]:
    tally, none = stage.tally, stage.tally.none
    presses = sum(one.presses for one in stage.askers)
    questions = sum(len(one.given) for one in stage.askers)
    return [
        Figure("kills", f"{tally['kills']} of {size}", "all", tally["kills"] == size),
        none("prompts pressed twice", f"{questions:,} prompts, {presses:,} presses"),
        none("presses without a record", f"{presses:,} presses"),
        none(LOST, f"{tally['acks']:,} acknowledged"),
        none("store not sound after a kill", f"{size} looks"),
        none("lines of the event log not whole", f"{tally['lines']:,} lines"),
        none("counts that went down within a loop", f"{tally['counts']:,} counts"),
        none("limits exceeded", f"{tally['releases']} times that one was reached"),
        none("supervisors that failed", f"{size} started"),
        # What shows that the kills met the moments that matter:
        Figure("intents left without an outcome", f"{tally['open']}", "more than 0", tally["open"] > 0 or size < 100),
        Figure("presses made", f"{presses}", "more than 0", presses > 0),
    ]


def _asker(stage: Stage, number: int) -> Asker:
    form = "yes" if number % 2 else "key"
    home = stage.folder / f"home-{number}"
    home.mkdir()
    asker = Asker(f"a{number}", form, home / "record", home)
    command = (sys.executable, "-I", str(ASKER), str(asker.record), form, str(number))
    stage.server.start(asker.name, *command, shows="continue" if form == "key" else "Proceed").close()
    return asker


def _round(stage: Stage, nursery: Nursery, chance: random.Random) -> None:
    folder = stage.folder
    spec = {
        "servers": [[str(stage.server.socket), [one.target for one in stage.askers]]],
        "policy": str(folder / "rule.toml"),
        "store": str(folder / "watch.db"),
        "acks": str(folder / "acks"),
        "events": str(folder / "events"),
        "log": str(folder / "log.jsonl"),
        "limits": {"per_iteration": TOTAL, "total": TOTAL, "in_window": 10**6},
        "homes": {one.target: str(one.home) for one in stage.askers},
        "interval_s": 0.15,
    }
    pid = nursery.start(**spec)
    _moment(stage, pid, chance)
    if ended(pid):
        stage.tally.fails("supervisors that failed", (folder / "events").read_text()[-2000:])
    else:
        kill(pid)
        stage.tally["kills"] += 1
    _settled(stage)
    _checked(stage)
    _persons(stage, chance)


def _moment(stage: Stage, pid: int, chance: random.Random) -> None:
    """Wait for the moment of the kill: any at all, or a short while after something that matters was done."""
    way = chance.choice(("any", "key", "row", "row"))
    if way == "any":
        time.sleep(chance.uniform(0.0, LONGEST_S))
        return
    wal = stage.folder / "watch.db-wal"
    acks = stage.folder / "acks"
    watched = [one.record for one in stage.askers] if way == "key" else [acks]
    deadline = time.monotonic() + LONGEST_S

    def sizes() -> list[int]:
        return [file.stat().st_size if file.exists() else 0 for file in (*watched, *([wal] if way == "row" else []))]

    for _ in range(chance.randint(1, 3)):
        before = sizes()
        while sizes() == before and time.monotonic() < deadline and not ended(pid):
            time.sleep(0.001)
    time.sleep(chance.choice((0.0, chance.uniform(0.0, 0.02), chance.uniform(0.0, 0.3))))


def _settled(stage: Stage) -> None:
    """Until no client of tmux runs that the supervisor left: what it was about to press has come, or never will."""
    socket = str(stage.server.socket)

    clients = ["pgrep", "-f", f"tmux .*{socket} .*if-shell"]
    wait_for(lambda: subprocess.run(clients, capture_output=True, check=False).returncode, "the last client's end")


def _checked(stage: Stage) -> None:
    """What has to be true of the files and the sessions after every kill."""
    tally = stage.tally
    for asker in stage.askers:
        asker.read()
        for number, given in asker.given.items():
            if given.count(MACHINE[asker.form]) > 1:
                stage.tally.fails("prompts pressed twice", f"{asker.name}, question {number}: {given!r}")
                asker.given[number] = MACHINE[asker.form]  # told once
    path = stage.folder / "watch.db"
    if not path.exists():
        return
    with closing(sqlite3.connect(path, timeout=10.0)) as base:
        sound = base.execute("pragma integrity_check").fetchall()
        if sound != [("ok",)]:
            stage.tally.fails("store not sound after a kill", sound)
        has = {name for (name,) in base.execute("select name from sqlite_master where type = 'table'")}
        if not {"recovery", "session", "incident"} <= has:
            if stage.kept:
                stage.tally.fails(LOST, "a table is not there")
            return
        found = base.execute("select id, session, loop, act, identity, shown, keys, asked_at, outcome from recovery")
        rows = {row[0]: row[1:] for row in found}
        loops = dict(base.execute("select name, loop from session").fetchall())
        incidents = base.execute("select count(*) from incident").fetchone()[0]
    _rows_kept(stage, rows, incidents)
    for asker in stage.askers:
        _counted(stage, asker, rows, loops.get(asker.target, 1))
    log = stage.folder / "log.jsonl"
    lines = log.read_bytes().split(b"\n") if log.exists() else [b""]
    tally["lines"] = len(lines) - 1
    bad = [line for line in lines[:-1] if not _is_json(line)] + [line for line in lines[-1:] if line]
    if len(bad) > tally["bad lines"]:
        tally["bad lines"] = len(bad)
        stage.tally.fails("lines of the event log not whole", str(bad[-1]))


def _rows_kept(stage: Stage, rows: dict[int, tuple[Any, ...]], incidents: int) -> None:
    """Every row that was acknowledged, or seen once, is there, and an outcome stays what it was."""
    for number, was in stage.kept.items():
        now = rows.get(number)
        if now is None or now[:-1] != was[:-1] or (was[-1] is not None and now[-1] != was[-1]):
            stage.tally.fails(LOST, f"{number}: {was} became {now}")
    stage.kept = rows
    acks = stage.folder / "acks"
    said = acks.read_text().splitlines() if acks.exists() else []
    stage.tally["acks"] = len(said)
    for line in said:
        what, *rest = line.split(" ")
        number = int(rest[0]) if rest else 0
        if what == "intend" and number not in rows:
            stage.tally.fails(LOST, f"intent {number} is not there")
        if what == "conclude" and (number not in rows or rows[number][-1] != rest[1]):
            stage.tally.fails(LOST, f"outcome {line} is not there: {rows.get(number)}")
    if said.count("incident") > incidents:
        stage.tally.fails(
            "acknowledged rows lost or changed", f"{said.count('incident')} incidents, {incidents} are there"
        )
    stage.tally["open"] = sum(row[-1] is None for row in rows.values())


def _counted(stage: Stage, asker: Asker, rows: dict[int, tuple[Any, ...]], loop: int) -> None:
    """No press without a record, no count that goes down, no limit exceeded."""
    tally, mine = stage.tally, [row for row in rows.values() if row[0] == asker.target]
    if asker.presses > sum(row[-1] != "refused" for row in mine):
        stage.tally.fails("presses without a record", f"{asker.name}: {asker.presses} presses, {len(mine)} rows")
    # Refusals do not count, so what may not go down is what was certainly done.
    done = sum(row[1] == loop and row[-1] not in (None, "refused") for row in mine)
    tally["counts"] += 1
    if done < stage.counted.get((asker.name, loop), 0):
        stage.tally.fails("counts that went down within a loop", f"{asker.name}, loop {loop}: {done}")
    stage.counted[asker.name, loop] = done
    if asker.presses - asker.released > TOTAL:
        stage.tally.fails("limits exceeded", f"{asker.name}: {asker.presses - asker.released} presses")


def _persons(stage: Stage, chance: random.Random) -> None:
    """What a person does: answers what the supervisor leaves to them, and lets go on what it stopped."""
    now = time.monotonic()
    for asker in stage.askers:
        stop = asker.home / STOP
        asker.stopped = asker.stopped or stop.exists()
        if asker.stopped and chance.random() < 0.3:  # it stands a while, so that another press would be seen
            if stop.exists() and chance.random() < 0.5:  # an agent's doing, which lifts nothing
                assert json.loads(stop.read_text())["reason"] == "stall_limit"
                stop.unlink()
                stage.tally["removals"] += 1
            else:
                _released(stage, asker)
        number = max(asker.asked, default=0)
        waits = asker.given.get(number, b"") == b"" and now - asker.asked.get(number, now) > FRESH_S
        if waits and asker.helped != number:
            asker.helped = number
            stage.server.tmux("send-keys", "-t", f"={asker.name}:", "-H", f"{PERSON[asker.form][0]:02x}")


def _released(stage: Stage, asker: Asker) -> None:
    """What `stallkit stuck release` does; a supervisor may have been killed before it wrote the halt down."""
    with closing(Store(stage.folder / "watch.db")) as store:
        if release(store, asker.target) is not None:
            asker.read()
            asker.stopped, asker.released = False, asker.presses
            stage.tally["releases"] += 1


def _last(stage: Stage) -> None:
    """What is still in the terminals comes to its question."""
    counts = {asker.name: max(asker.asked, default=0) for asker in stage.askers}
    for asker in stage.askers:
        if asker.given[counts[asker.name]] == b"":
            stage.server.tmux("send-keys", "-t", f"={asker.name}:", "-H", f"{PERSON[asker.form][0]:02x}")

    def further() -> bool:
        for asker in stage.askers:
            asker.read()
        return all(max(asker.asked) > counts[asker.name] for asker in stage.askers)

    wait_for(further, "the askers' next questions")
    _checked(stage)


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


PART = Part(__doc__, "kills", full=500, short=10, soak=soak)
