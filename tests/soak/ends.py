"""tmux sessions ended in every way, with the monitor alive (for most) or killed -9 before or after.

Is each told as what it was?
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any, Iterator, Sequence

import pytest
from attrs import define, field
from stallkit_sessions.lifecycle import finalize_now
from stallkit_sessions.model import FINAL, Cause, ExitRecord, Session
from stallkit_sessions.monitor_client import ask, ensure, held
from started import House, alive
from terminals import wait_for

from soak.parts import Figure, Part, Run, Tally
from soak.ways_to_end import LIVES, ORDERED, SCENES, Mode, Scene, Stage, Truth, pane, program

PER_HOUSE = 12  # scenes with one state directory
LIMIT_S = 0.3  # for a diagnosis
JUDGED = 100  # sessions from which on times are judged: a short run only shows that all of it works

_Log = defaultdict[str | None, list[dict[str, Any]]]  # events by the session's id
_TURNS = (Mode.ALONE, Mode.ASKED, Mode.ALONE, Mode.BEFORE, Mode.ASKED, Mode.ALONE, Mode.AFTER, Mode.ALONE, Mode.NEXT)
_KINDS = tuple(SCENES)


def _programme(size: int) -> Iterator[tuple[str, Scene, Mode, int]]:
    """Scenes without end: all of them in each round, mixed, each with the monitor in another mode than before."""
    played = 0
    for turn in range(size):
        chance = random.Random(turn)
        kinds = [(kind, at) for kind, scenes in SCENES.items() for at in range(len(scenes))]
        chance.shuffle(kinds)
        for kind, at in kinds:
            yield kind, SCENES[kind][at], _TURNS[(_KINDS.index(kind) + at + 2 * turn) % len(_TURNS)], played
            played += 1


# --- what came of it ---


@define
class Found:
    sessions: int = 0
    kinds: Counter[str] = field(factory=Counter)
    modes: Counter[Mode] = field(factory=Counter)
    faults: Tally = field(factory=Tally)
    lines: Counter[str] = field(factory=Counter)
    times: defaultdict[str, list[float]] = field(factory=lambda: defaultdict(list))  # seconds, by what was measured
    incidents: int = 0


CAUSE, CODE, NONE = "causes that are not right", "exit codes and signals that are not true", "ends without a record"
SILENT = "exit codes and signals that were to be known, and are not told"
FINALS, INCIDENT = "final events that are not the right one, once, in both logs", "incidents that are not right"
EARLY, LATE = "called ended while they lived, or taken away before their record", "postmortems that say something else"
MONITORS = "monitors that complained"
FAULTS = (NONE, CAUSE, CODE, SILENT, FINALS, INCIDENT, EARLY, LATE, MONITORS)


def judge(truth: Truth, record: object, here: Sequence[dict[str, Any]], there: Sequence[dict[str, Any]]) -> list[str]:
    """What is wrong with what is told of an end, by `FAULTS`: its record, and its events in both logs."""
    if not isinstance(record, ExitRecord):
        return [NONE]
    wrong = []
    status = (record.status.code, record.status.signal) if record.status else (None, None)
    ways = [way for way in truth.ways if way[0] == record.cause]
    if not ways:
        wrong.append(CAUSE)
    if status not in [(code, number) for _, code, number in ways or truth.ways]:
        wrong.append(SILENT if status == (None, None) else CODE)
    finals = [[one for one in log if one["event"] in FINAL] for log in (here, there)]
    want = {_event(*way) for way in ways}
    told = [[one["event"] for one in log] for log in finals]
    said = [(one["cause"], one["exit_code"], one["signal"], one["incident"]) for log in finals for one in log]
    same = (record.cause, *status, record.incident)
    if told[0] != told[1] or len(told[0]) != 1 or (want and set(told[0]) != want) or set(said) != {same}:
        wrong.append(FINALS)
    if bool(truth.mates) != (record.incident is not None):
        wrong.append(INCIDENT)
    return wrong


def _event(cause: Cause, code: int | None, number: int | None) -> str:
    """The final event of such an end: meant, failed, or vanished."""
    if cause in ORDERED or (cause is Cause.EXITED and code == 0):
        return "session_stopped"
    return "session_crashed" if cause in (Cause.EXITED, Cause.SIGNALLED) else "session_drop"


def _play(stage: Stage, scene: Scene, tally: Found) -> None:
    """One scene, until everything that it ended has its record."""
    acts, house = scene(stage), stage.house
    house.socket = house.folder / f"s{stage.number}"
    next(acts)
    if not stage.sessions and stage.mode in (Mode.BEFORE, Mode.NEXT):
        stage.mode = Mode.ALONE  # what only begins now brings a monitor along
    mode = stage.mode
    if mode in LIVES:
        ask()
    else:  # nobody may have anything in mind alone
        wait_for(stage.is_kept, "a sight of each")
    if mode in (Mode.BEFORE, Mode.NEXT):
        _kill_monitor(house)
    stage.at = time.monotonic()
    next(acts, None)
    if mode is Mode.AFTER:
        _kill_monitor(house)
    with suppress(AssertionError):  # whose record does not come is told so by the judge
        _wait_for_records(stage, tally)
    for truth in stage.truths:
        if truth.stays and pane(truth.session) not in stage.tmux("list-panes", "-a", "-F", "#{pane_id}").split():
            stage.too_soon.append(f"{truth.session.name}: its pane is not there any more")
    with suppress(AssertionError):  # nothing of it is left
        stage.tmux("kill-server")


def _kill_monitor(house: House) -> None:
    """With its lock: its other threads hold that for some ms when it is a zombie already."""
    house.kill_monitor()
    wait_for(lambda: not held(house.state), "the monitor's lock")


def _wait_for_records(stage: Stage, tally: Found) -> None:
    register, mode = stage.house.register, stage.mode

    def recorded() -> bool:
        return all(isinstance(register.get(one.session.id), ExitRecord) for one in stage.truths)

    if mode is Mode.NEXT:
        ensure()
    if mode in (Mode.ALONE, Mode.NEXT):
        wait_for(recorded, f"the records of scene {stage.number}")
        if mode is Mode.ALONE and all(one.dies and one.ways[0][0] not in ORDERED for one in stage.truths):
            tally.times["found"].append(time.monotonic() - stage.at)
        return
    mortal = [program(one.session) for one in stage.truths if one.dies]
    wait_for(lambda: not any(map(alive, mortal)), f"the end of the programs of scene {stage.number}")
    if recorded():
        return
    alone, began, used = not held(stage.house.state), time.monotonic(), _used()

    def settled() -> bool:
        nonlocal began, used
        if alone:
            began, used = time.monotonic(), _used()
        finalize_now(register)
        return recorded()

    wait_for(settled, f"the records of scene {stage.number}")
    took, count = time.monotonic() - began, len(stage.truths)
    if alone:
        tally.times["settled"].append(took / count)
        tally.times["settled, CPU"].append((_used() - used) / count)
    else:
        tally.times["asked"].append(took)


def _used() -> float:
    """Seconds of CPU that this process and those that it waited for have used."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)


def _settle_up(house: House, truths: Sequence[Truth], tally: Found) -> None:
    """Judge all that happened in a house, when nothing more will."""
    register = house.register
    finalize_now(register)
    here: _Log = defaultdict(list)
    there: _Log = defaultdict(list)
    for log, by in ((house.events(), here), (house.own_events(), there)):
        for event in log:
            by[event.get("session")].append(event)
    for truth in truths:
        session, record = truth.session, register.get(truth.session.id)
        for wrong in judge(truth, record, here[session.id], there[session.id]):
            tally.faults.fails(wrong, f"{session.name}, {session.command}: {truth.ways}, and it is told: {record}")
        if isinstance(record, ExitRecord) and truth.line is not None:
            shown = any(truth.line in line for line in record.screen or ())
            what = "dead pane" if truth.stays else "vanished"
            tally.lines[what] += 1
            tally.lines[f"{what}, without"] += not shown
            if not shown:
                print(f"no last line: {session.name}, {session.command}, {record}", file=sys.stderr)
    _incidents(here[None], truths, tally)
    _postmortems(house, truths[-3:], tally)
    tally.sessions += len(truths)


def _incidents(events: Sequence[dict[str, Any]], truths: Sequence[Truth], tally: Found) -> None:
    told = sorted(sorted(one["sessions"]) for one in events if one["event"] == "incident")
    wanted = sorted(map(list, {tuple(sorted(one.mates)) for one in truths if one.mates}))
    tally.incidents += len(wanted)
    if told != wanted:
        tally.faults.fails(INCIDENT, f"{wanted}, and it is told: {told}")


def _postmortems(house: House, truths: Sequence[Truth], tally: Found) -> None:
    for truth in truths:
        began = time.monotonic()
        done = house.call("output", "--postmortem", truth.session.name, "--json")
        tally.times["postmortem"].append(time.monotonic() - began)
        began = time.monotonic()
        house.call("--version")
        tally.times["version"].append(time.monotonic() - began)
        latest = house.register.latest(truth.session.name)
        said = json.loads(done.stdout)["ended"] if done.returncode == 0 else {}
        if not isinstance(latest, ExitRecord) or said.get("cause") != latest.cause:
            tally.faults.fails(LATE, f"{truth.session.name}: {done.stdout}{done.stderr}")


def _house(folder: Path, patch: pytest.MonkeyPatch) -> House:
    """A house whose sessions work in a repository with something to tell of, and that keeps whole screens."""
    folder.mkdir()
    made = House(folder, patch)
    (folder / "stallkit").mkdir()
    (folder / "stallkit" / "stallkit.toml").write_text("[record]\nscreens = true\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(made.work)]
    (made.work / "notes").write_text("one\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    (made.work / "notes").write_text("two\n")
    return made


def _complaints(house: House, tally: Found, when: str) -> None:
    """What the monitor wrote; the next one begins its log anew."""
    log = house.state / "monitor.log"
    if log.exists() and log.read_text().strip():
        tally.faults.fails(MONITORS, f"{when}: {log.read_text()[-2000:]}")
        log.write_text("")


def _leave(house: House, sessions: Sequence[Session]) -> None:
    """Nothing of it is left, also not what outlives its terminal."""
    house.end()
    marks = {f"STALLKIT_SESSION={one.id}".encode() for one in sessions}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if marks & set((entry / "environ").read_bytes().split(b"\0")):
                os.kill(int(entry.name), signal.SIGKILL)


def soak(run: Run) -> list[Figure]:
    tally, programme = Found(), _programme(run.size)
    ended = 0
    while ended < run.size:
        with pytest.MonkeyPatch.context() as patch:
            house = _house(run.folder / f"h{ended}", patch)
            truths: list[Truth] = []
            sessions: list[Session] = []
            try:
                for _ in range(PER_HOUSE):
                    kind, scene, mode, number = next(programme)
                    stage = Stage(house, number, mode, random.Random(number))
                    ensure()
                    try:
                        _play(stage, scene, tally)
                    finally:
                        sessions += stage.sessions
                    truths += stage.truths
                    tally.kinds[kind] += len(stage.truths)
                    tally.modes[stage.mode] += len(stage.truths)
                    _complaints(house, tally, f"{kind}, {stage.mode.name}")
                    for why in stage.too_soon:
                        tally.faults.fails(EARLY, f"{kind}, {stage.mode.name}: {why}")
                    run.tell(ended := ended + len(stage.truths))
                    if ended >= run.size:
                        break
                _settle_up(house, truths, tally)
            finally:
                _leave(house, sessions)
    return _figures(tally)


def _figures(tally: Found) -> list[Figure]:
    lost = {what: f"{tally.lines[f'{what}, without']} of {tally.lines[what]}" for what in ("dead pane", "vanished")}
    return [
        Figure.told("sessions", _list(tally.kinds)),
        Figure.told("the monitor", _list(tally.modes)),
        *(tally.faults.none(name, tally.sessions) for name in FAULTS),
        Figure.told("report", "--incidents", str(tally.incidents)),
        Figure.told("dead panes whose record is without their last line", lost["dead pane"]),
        Figure(
            "vanished ones without the line that was seen", lost["vanished"], "0", not tally.lines["vanished, without"]
        ),
        _time(tally, "settled", "one end diagnosed, without a monitor", LIMIT_S),
        _time(tally, "settled, CPU", "... of which CPU, with git, tmux and all", LIMIT_S),
        _time(tally, "asked", "a command that asks the monitor, until the record", None),
        _time(tally, "found", "the monitor by itself, from what ended it to the record", None),
        _time(tally, "postmortem", "`stallkit output --postmortem NAME`, with its start", None),
        _time(tally, "version", "... `stallkit --version`, for comparison", None),
    ]


def _list(counts: Counter[Any]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.most_common())


def _time(tally: Found, what: str, name: str, limit_s: float | None) -> Figure:
    found = sorted(tally.times[what]) or [0.0]
    high = found[ceil(0.95 * len(found)) - 1]
    value = f"median {median(found):.2f} s, p95 {high:.2f} s, most {found[-1]:.2f} s, of {len(tally.times[what])}"
    holds = limit_s is None or high <= limit_s or tally.sessions < JUDGED
    return Figure(name, value, "told" if limit_s is None else f"p95 {limit_s} s", holds)


PART = Part(__doc__, "sessions or more", full=220, short=8, soak=soak)
