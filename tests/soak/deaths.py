"""Containers that end in every way, told by the monitor: every code that is told is the program's, or *unknown*.

What was done decides what is true.  Each scene is judged by its exit record alone, as `stallkit postmortem` reads it.
"""

from __future__ import annotations

import os
import random
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle, islice
from typing import Any, Callable, Iterable, Sequence

import pytest
from attrs import define, evolve, field, frozen
from machine_room import IMAGE, DockerRoom, PodmanRoom, missing
from stallkit_sessions.containers.runtime_call import DOCKER, kept
from stallkit_sessions.lifecycle import finalize_now, start, tidy
from stallkit_sessions.model import Cause, ExitRecord, Session
from stallkit_sessions.monitor_client import ensure
from stallkit_sessions.outbox import FINAL
from started import House
from terminals import wait_for

from soak.deadly import UNKNOWABLE, Bed, Scene, codes, daemon_dies, socket_of, specials, unwatched
from soak.parts import Figure, Part, Run

AT_ONCE = 6  # scenes that play at the same time
PATIENCE_S = 60.0  # for a record; the slowest end that a monitor is told of takes 20 s
TOLD = 20  # failures of one kind that are printed
ROUND = 8  # scenes of one monitor's death
ROOMS: tuple[type[DockerRoom] | type[PodmanRoom], ...] = (DockerRoom, PodmanRoom)


@define
class Stage:
    """One engine with its house, and what was found there."""

    house: House
    room: DockerRoom | PodmanRoom
    told: Callable[[], None]
    engine_environment: tuple[tuple[str, str], ...] = ()
    number: int = 0
    tally: Counter[str] = field(factory=Counter)
    unknown: Counter[str] = field(factory=Counter)  # by why it may be
    told_unknowable: Counter[str] = field(factory=Counter)  # a code, where there need not be one
    records: list[tuple[Scene, ExitRecord]] = field(factory=list)

    def broken(self, what: str, scene: Scene, why: object) -> None:
        self.tally[what] += 1
        if self.tally[what] <= TOLD:
            print(f"{self.room.name}: {what}: {scene.name}: {why}", file=sys.stderr, flush=True)


def soak(run: Run) -> list[Figure]:
    """All of both engines."""
    figures: list[Figure] = []
    done = 0

    def told() -> None:
        nonlocal done
        done += 1
        run.tell(done)

    absent = [kind.name for kind in ROOMS if missing(*kind.needs)]
    figures.append(Figure("engines that cannot run here", ", ".join(absent) or "none", "none", not absent))
    for kind in ROOMS:
        if kind.name not in absent:
            figures += _engine(kind, run, told)
    return figures


def _engine(kind: type[DockerRoom] | type[PodmanRoom], run: Run, told: Callable[[], None]) -> list[Figure]:
    folder = run.folder / kind.name[0]  # short: sockets are in it
    for part in ("r", "h"):
        (folder / part).mkdir(parents=True)
    room = kind(folder / "r")
    with pytest.MonkeyPatch.context() as patch:
        house = House(folder / "h", patch)
        stage = Stage(house, room, told, kept({**os.environ, **room.environment}))
        try:
            house.start("keeper")  # so that the tmux server that all share outlives each of them
            _play(stage, run.size // 2)
            _logs(stage)
        finally:
            house.end()
            room.end()
    return _figures(stage)


def _play(stage: Stage, size: int) -> None:
    """So many scenes: some while the daemon or the monitor is killed, the others beside a monitor that lives."""
    engine, short = stage.room.name, size < 100
    daemons = 0 if engine != DOCKER else max(1, size // 60)
    monitors = max(1, size // 70)
    for number in range(daemons):
        _daemon_round(stage, number, short)
    dice = random.Random(engine)
    for number in range(monitors):
        several = [scene for scene in unwatched(engine) if not scene.slow or (number < 2 and not short)]
        _monitor_round(stage, dice, dice.sample(several, 2 if short else ROUND), anew=number % 2 == 0)
    _another(stage)
    left = max(0, size - stage.number)
    every = codes(engine)
    few = [scene for scene in specials(engine) if not (short and scene.slow)]
    exits = every[: min(len(every), left // 3 if size < 300 else left)]
    others = list(islice(cycle(few), left - len(exits)))
    _in_parallel(lambda scene: _one(stage, scene), exits + others)


def _in_parallel(play: Callable[[Any], Any], scenes: Iterable[Any]) -> list[Any]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(play, scenes))


def _begin(stage: Stage, scene: Scene) -> Bed:
    """Its session runs, and its program says so where it can."""
    stage.number += 1
    name = f"{stage.room.name}-{stage.number}"
    more: dict[str, Any] = {}
    if scene.own_server:
        more["tmux_socket_path"] = str(socket_of(stage.house, name))
    session = stage.house.session(
        name,
        *scene.words,
        engine=stage.room.name,
        image=IMAGE,
        engine_options=scene.options,
        engine_environment=stage.engine_environment,
        **more,
    )
    session = evolve(session, container=f"stallkit-{name}-{session.id}")
    bed = Bed(stage.house, stage.room, start(stage.house.register, session, (80, 24)))
    if scene.shows:
        up = stage.house.work / f"up-{session.id}"
        wait_for(up.exists, f"{name} to be up")
        up.unlink()
        bed = evolve(bed, program=stage.room.pid(bed.container))
    return bed


def _tried(stage: Stage, scene: Scene, do: Callable[[], Any]) -> Any:
    """What is done; what goes wrong with the scene itself is told, and spoils no other."""
    try:
        return do()
    except Exception:
        stage.broken("could not be tried", scene, traceback.format_exc(limit=-4))
        return None


def _one(stage: Stage, scene: Scene) -> None:
    """One scene beside a monitor that lives, from its beginning to its record."""

    def do() -> None:
        bed = _begin(stage, scene)
        scene.act(bed)
        record = _recorded(stage, bed.session, lambda: None)
        _judge(stage, scene, bed.session, record, watched=True)
        _clear(stage, scene, bed, record)

    _tried(stage, scene, do)
    stage.told()


def _recorded(stage: Stage, session: Session, look: Callable[[], Any]) -> ExitRecord | None:
    """Its exit record, as soon as there is one."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        look()
        found = stage.house.register.get(session.id)
        if isinstance(found, ExitRecord):
            return found
        time.sleep(0.1)
    return None


def _judge(stage: Stage, scene: Scene, session: Session, record: ExitRecord | None, watched: bool) -> None:
    """What is told, beside what is true."""
    tally = stage.tally
    tally["ends"] += 1
    if record is None:
        stage.broken("no record", scene, f"{session.name} in {PATIENCE_S:g} s")
        return
    stage.records.append((scene, record))
    status = record.status
    code = status.code if status else None
    said = f"{session.name}: {record.cause}, {status}, {record.why}; true is {scene.truth}"
    due = watched and scene.truth is not None and not scene.unknowable  # a code that has to be told
    tally["due"] += due
    if status is not None and (code != scene.truth or status.signal is not None):
        stage.broken("false codes", scene, said)
        if code == 0:
            stage.broken("false zeros", scene, said)
    elif status is not None:
        tally["true"] += 1
        tally["due and true"] += due
        if scene.unknowable:
            stage.told_unknowable[scene.unknowable] += 1
    elif scene.truth is None:
        tally["none to tell"] += 1
    elif scene.unknowable:
        stage.unknown[scene.unknowable] += 1
    else:
        stage.broken("unknown that are not listed", scene, said)
    if record.cause not in scene.causes:
        stage.broken("wrong causes", scene, said)


def _clear(stage: Stage, scene: Scene, bed: Bed, record: ExitRecord | None) -> None:
    """What it leaves is taken away, as the next start of its name would do; also a container that runs on."""
    if record is not None and record.cause is not Cause.STOPPED:
        tidy(record)
    if record is None or scene.truth is None or scene.unknowable:
        stage.room.discard(bed.container)
    if scene.own_server:
        with suppress(AssertionError):
            bed.tmux("kill-server")


@frozen
class _Daemon:
    """How dockerd dies: so long after one of the programs ended, if any; back before anybody settled what it left?"""

    after_s: float | None = None
    back: bool = False


_DAEMONS = (_Daemon(), _Daemon(0.0), _Daemon(None, True), _Daemon(0.02), _Daemon(0.1), _Daemon(0.0, True))


def _daemon_round(stage: Stage, number: int, short: bool) -> None:
    """dockerd is killed under several, which end before it is back, or run on; then it is started again."""
    assert isinstance(stage.room, DockerRoom)
    how, (first, *others) = _DAEMONS[number % len(_DAEMONS)], daemon_dies()
    turn = number % len(others)
    chosen = [first, *([] if short else others[turn + 1 :] + others[:turn]), others[turn]]  # another is the last
    beds = _in_parallel(lambda one: _tried(stage, one[0], lambda: _begin(stage, one[0])), chosen)
    there = [(scene, sent, bed) for (scene, sent), bed in zip(chosen, beds, strict=True) if bed is not None]
    early = how.after_s is not None
    if early and there[-1][1] is not None:
        there[-1][2].kill(there[-1][1])
        time.sleep(how.after_s)
    stage.room.kill()
    for scene, sent, bed in there[: len(there) - early]:
        if sent is not None:
            _tried(stage, scene, lambda bed=bed, sent=sent: bed.kill(sent))
    if how.back:
        stage.room.start()
    told = []
    for scene, _, bed in there:
        record = _recorded(stage, bed.session, lambda: None)
        judged = scene
        if how.back and scene.truth is None:  # the new daemon ends what runs, as docs/container-runtimes.md has it
            judged = evolve(scene, truth=143, unknowable="daemon killed")
        _judge(stage, judged, bed.session, record, watched=True)
        told.append((scene, bed, record))
        stage.told()
    if not how.back:
        stage.room.start()
    finalize_now(stage.house.register)
    for scene, bed, record in told:
        if stage.house.register.get(bed.session.id) != record:
            stage.broken("records that changed", scene, bed.session.name)
        _clear(stage, scene, bed, record)
        stage.room.discard(bed.container)


def _monitor_round(stage: Stage, dice: random.Random, scenes: Sequence[Scene], anew: bool) -> None:
    """The monitor is killed at some moment while all of these end; then another begins, or commands settle the rest."""
    beds = _in_parallel(lambda scene: _tried(stage, scene, lambda: _begin(stage, scene)), scenes)
    there = [(scene, bed) for scene, bed in zip(scenes, beds, strict=True) if bed is not None]
    after_s = dice.choice((0.0, dice.uniform(0.0, 0.3), dice.uniform(0.0, 1.5)))
    with ThreadPoolExecutor(AT_ONCE + 1) as pool:
        death = pool.submit(lambda: (time.sleep(after_s), stage.house.kill_monitor()))
        acts = [pool.submit(_tried, stage, scene, lambda s=scene, b=bed: s.act(b)) for scene, bed in there]
        death.result()
        for act in acts:
            act.result()
    if anew:
        _another(stage)

    def look() -> None:
        if not anew:
            finalize_now(stage.house.register)

    for scene, bed in there:
        record = _recorded(stage, bed.session, look)
        _judge(stage, scene, bed.session, record, watched=False)
        _clear(stage, scene, bed, record)
        stage.told()


def _another(stage: Stage) -> None:
    """A monitor lives; the lock of one that was killed may be held for a moment longer than it is there."""

    def lives() -> bool:
        ensure()
        return bool(stage.house.monitors)

    wait_for(lives, "another monitor")


def _logs(stage: Stage) -> None:
    """Each end has one final event, in both logs, which tells what the record tells."""
    finalize_now(stage.house.register)
    here = [one for one in stage.house.events() if one["event"] in FINAL]
    there = [one for one in stage.house.own_events() if one["event"] in FINAL]
    count = Counter(one["session"] for one in here)
    by_session = {one["session"]: one for one in here}
    in_own = Counter(one["session"] for one in there)
    for scene, record in stage.records:
        id, status = record.session.id, record.status
        told = by_session.get(id, {})
        if (count[id], in_own[id]) != (1, 1):
            stage.broken("not exactly one final event", scene, f"{count[id]} and {in_own[id]}")
        elif (told["exit_code"], told["cause"]) != (status.code if status else None, str(record.cause)):
            stage.broken("not exactly one final event", scene, f"it says {told}, and the record {record.status}")
    if any(more > 1 for more in count.values()):
        stage.tally["not exactly one final event"] += 1


def _figures(stage: Stage) -> list[Figure]:
    tally, engine = stage.tally, stage.room.name
    ends = tally["ends"]

    def none(name: str, of: str = f"{ends} ends") -> Figure:
        return Figure(f"{engine}: {name}", f"{tally[name]} of {of}", "0", tally[name] == 0)

    share = tally["due and true"] / max(1, tally["due"])
    listed = "; ".join(
        f"{why}: {stage.unknown[why]} of {stage.unknown[why] + stage.told_unknowable[why]}"
        for why in UNKNOWABLE
        if stage.unknown[why] + stage.told_unknowable[why]
    )
    return [
        Figure(f"{engine}: ends", f"{ends} of {stage.number}", "all", ends == stage.number),
        none("false codes"),
        none("false zeros"),
        Figure(
            f"{engine}: the true code, beside a monitor that lives",
            f"{tally['due and true']} of {tally['due']}",
            "99 %",
            share >= 0.99,
        ),
        none("unknown that are not listed"),
        Figure(f"{engine}: unknown, as listed", listed or "none", "told", True),
        Figure(f"{engine}: no code to tell: it never ran, or runs on", f"{tally['none to tell']}", "told", True),
        none("wrong causes"),
        none("not exactly one final event"),
        none("no record"),
        none("records that changed"),
        none("could not be tried", f"{stage.number} scenes"),
    ]


PART = Part(
    name="deaths",
    about="Sessions in containers that end in every way, while daemons, conmons, tmux servers and monitors are killed.",
    unit="ends, half of them on each engine",
    full=740,
    short=20,
    soak=soak,
)
