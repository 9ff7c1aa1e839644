"""Sessions in containers that end in every way, while daemons, conmons, tmux servers and monitors are killed.

Every code that is told is the program's, or *unknown*.  What was done decides what is true.  Each scene is judged by
its exit record alone, as `stallkit output --postmortem` reads it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count, cycle, islice
from typing import Any, Callable, Iterable, Sequence

import pytest
from attrs import define, evolve, field, frozen
from machine_room import IMAGE, DockerRoom, PodmanRoom, missing, processes
from stallkit_sessions.containers.runtime_call import DOCKER, PODMAN, kept
from stallkit_sessions.lifecycle import finalize_now, start, stop, tidy
from stallkit_sessions.model import FINAL, Cause, ExitRecord, Session
from stallkit_sessions.monitor_client import ensure
from stallkit_sessions.register import RunningSession
from started import House, alive
from terminals import wait_for

from soak.parts import Figure, Part, Run, Tally
from stallkit.transports.tmux.identity import Identity

# Why a code cannot be known there; what each container runtime says was measured (docs/sessions.md).  Any
# other *unknown* is a miss.
UNKNOWABLE = {
    "255, and gone": "255 is also what engines write where they do not know, and there is no inspect to confirm it",
    "0 of podman, and gone": "podman leaves 0 out of its event, as it does a code that it does not know",
    "shim killed": "containerd writes 255 where it lost its shim, and dockerd a 137 of its own",
    "monitor killed": "nobody but conmon learns how podman's program ends",
    "daemon killed": "there is no event, the client says 125, and nobody answers until the daemon is back",
    "nobody listened": "it ended with no monitor there, and nothing of it is left but the client's ambiguous code",
}
ALIVE = "sleep 1000000 & wait"  # a trap is heeded at once, which it is not while a program in the foreground runs
UP = ': >"up-$STALLKIT_SESSION"; '
TRAPS = f"trap 'exit 143' TERM; trap 'exit 0' USR2; trap 'exit 9' USR1; {UP}{ALIVE}"
STUBBORN = f"trap '' TERM; {UP}{ALIVE}"
ON_KEY = UP + "read line; exit {code}"
INSIDE = "sh -c 'kill -9 $$'; exit $?"
REMOVED = "--rm"
AGAIN_S = 4.0  # before keys that did nothing are sent anew
_OF_ENGINE = frozenset({Cause.EXITED, Cause.SIGNALLED})  # podman does not say which signal it was asked for
_REMOVED = _OF_ENGINE | {Cause.CONTAINER_REMOVED}  # as somebody looks between its death and its removal, or after


@frozen
class Bed:
    """Where one scene plays: its session, and all who can do something to it."""

    house: House
    room: DockerRoom | PodmanRoom
    session: Session
    program: int = 0  # its number outside the container; 0 where it is not needed

    @property
    def container(self) -> str:
        assert self.session.container is not None
        return self.session.container

    @property
    def client(self) -> int:
        return Identity.of(self.session.identity).pid

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-u", "-S", str(self.session.tmux_socket_path), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def kill(self, number: int) -> None:
        os.kill(self.program, number)

    def living(self) -> RunningSession:
        found = self.house.register.get(self.session.id)
        assert isinstance(found, RunningSession), "it ended too early"
        return found


def _nothing(bed: Bed) -> None:
    """It ends by itself."""


def _kill_session(bed: Bed) -> None:
    bed.tmux("kill-session", "-t", f"={bed.session.name}")


@frozen
class Scene:
    """One way to end.  `truth` is the program's real code; None where it never ran, or runs on."""

    name: str
    script: str
    truth: int | None
    causes: frozenset[Cause]
    act: Callable[[Bed], Any] = _nothing
    options: tuple[str, ...] = ()
    unknowable: str = ""  # of UNKNOWABLE
    own_server: bool = False
    command: tuple[str, ...] = ()  # in the place of a shell with the script
    slow: bool = False  # its record takes half a minute: not for a short run

    @property
    def words(self) -> tuple[str, ...]:
        return self.command or ("sh", "-c", self.script)

    @property
    def shows(self) -> bool:
        """Whether it says that it is up; then it is waited for before anything is done to it."""
        return UP in self.script and not self.command


def _key(bed: Bed) -> None:
    bed.tmux("send-keys", "-t", f"={bed.session.name}:", "Enter")


def _detach(bed: Bed) -> None:
    """As a person does: podman's client knows the keys only one by one.  They may come before anybody reads them."""
    pane, sent = f"={bed.session.name}:", -AGAIN_S

    def detached() -> bool:
        nonlocal sent
        if bed.tmux("display-message", "-p", "-t", pane, "#{pane_dead}").strip() == "1":
            return True
        if time.monotonic() - sent > AGAIN_S:
            bed.tmux("send-keys", "-t", pane, "C-p")
            time.sleep(0.2)
            bed.tmux("send-keys", "-t", pane, "C-q")
            sent = time.monotonic()
        return False

    wait_for(detached, "the client to detach")


def _server_dies(bed: Bed) -> None:
    pid = int(bed.tmux("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid), "the end of tmux")


def _replaced(bed: Bed) -> None:
    """Another takes its name, and is stopped in turn."""
    was = bed.session
    again = evolve(was, id=f"{was.id}b", container=f"{was.container}b", identity="")
    bed_again = evolve(bed, session=start(bed.house.register, again, (80, 24), replace=True))
    wait_for((bed.house.work / f"up-{again.id}").exists, "the other to be up")
    stop(bed.house.register, bed_again.living())


def _shim_dies(bed: Bed) -> None:
    assert isinstance(bed.room, DockerRoom)
    bed.room.kill_shim(bed.container)


def _ends_untold(bed: Bed) -> None:
    """It ends while its shim is stopped, which is killed before it told anybody."""
    [shim] = processes(f"-id\0{bed.room.says(bed.container, '{{.Id}}')}")
    os.kill(shim, signal.SIGSTOP)
    bed.kill(signal.SIGUSR1)
    wait_for(lambda: not alive(bed.program), "its end")
    os.kill(shim, signal.SIGKILL)


def _monitor_dies(bed: Bed, number: int | None = None, first: bool = False) -> None:
    assert isinstance(bed.room, PodmanRoom)
    monitor = int(bed.room.says(bed.container, "{{.State.ConmonPid}}"))
    if first and number is not None:
        bed.kill(number)
    os.kill(monitor, signal.SIGKILL)
    if number is not None and not first:
        bed.kill(number)


def _only(*causes: Cause) -> frozenset[Cause]:
    return frozenset(causes)


def codes(engine: str) -> list[Scene]:
    """Each exit code once: half of them at once, the others when a key is pressed."""
    found = []
    for code in range(256):
        script = ON_KEY.format(code=code) if code % 2 else f"exit {code}"
        found.append(Scene(f"exit {code}", script, code, _only(Cause.EXITED), _key if code % 2 else _nothing))
    random.Random(engine).shuffle(found)
    return found


def _removing(engine: str, code: int, on_key: bool = False) -> Scene:
    """It removes itself, so that only who listened knows."""
    why = "255, and gone" if code == 255 else "0 of podman, and gone" if code == 0 and engine == PODMAN else ""
    script = ON_KEY.format(code=code) if on_key else f"exit {code}"
    # Somebody may have looked between its end and its removal.
    causes = _only(Cause.EXITED, Cause.UNKNOWN) if why else _only(Cause.EXITED)
    return Scene(f"--rm, exit {code}", script, code, causes, _key if on_key else _nothing, (REMOVED,), why)


def specials(engine: str) -> list[Scene]:
    """Every other way that touches no one else; in an order whose beginning is a fair choice."""
    asked = _OF_ENGINE

    def call(*words: str) -> Callable[[Bed], Any]:
        return lambda bed: bed.room.run(*words, bed.container)

    def kill(number: int) -> Callable[[Bed], Any]:
        return lambda bed: bed.kill(number)

    killed = Scene("kill -9 from outside", TRAPS, 137, asked, kill(9))
    return [
        _removing(engine, 0),
        killed,
        Scene("detached (Ctrl-P Ctrl-Q)", TRAPS, None, _only(Cause.CLIENT_ENDED), _detach),
        Scene("rm -f", TRAPS, 137 if engine == DOCKER else 143, _REMOVED, call("rm", "-f")),
        Scene("client killed -9", TRAPS, None, _only(Cause.CLIENT_ENDED), lambda bed: os.kill(bed.client, 9)),
        Scene("kill-session", TRAPS, None, _only(Cause.SESSION_KILLED), _kill_session),
        *(_of_docker() if engine == DOCKER else _of_podman()),
        Scene("exit 0 at a key", ON_KEY.format(code=0), 0, _only(Cause.EXITED), _key),
        Scene("no such program", "", None, _only(Cause.NOT_STARTED), command=("no-such-program",)),
        _removing(engine, 255),
        evolve(killed, name="--rm, kill -9 from outside", options=(REMOVED,)),
        Scene("TERM from outside", TRAPS, 143, asked, kill(15)),
        Scene("exit 0 at a signal", TRAPS, 0, _only(Cause.EXITED), kill(signal.SIGUSR2)),
        Scene("KILL inside", INSIDE, 137, asked),
        Scene("TERM inside", f"trap 'exit 143' TERM; kill $$; {ALIVE}", 143, asked),
        Scene("engine's kill", TRAPS, 137, asked, call("kill")),
        Scene("engine's kill -s TERM", TRAPS, 143, asked, call("kill", "-s", "TERM")),
        Scene("engine's stop", TRAPS, 143, asked, call("stop")),
        Scene("engine's stop of a stubborn one", STUBBORN, 137, asked, call("stop", "-t", "1")),
        Scene("--rm, rm -f", TRAPS, 137 if engine == DOCKER else 143, _REMOVED, call("rm", "-f"), (REMOVED,)),
        Scene("--rm, engine's stop", TRAPS, 143, _REMOVED, call("stop"), (REMOVED,)),
        Scene("stallkit stop", TRAPS, 143, _only(Cause.STOPPED), lambda bed: stop(bed.house.register, bed.living())),
        Scene("stallkit start --replace", TRAPS, 143, _only(Cause.REPLACED), _replaced),
        Scene("client given TERM", TRAPS, 143, asked, lambda bed: os.kill(bed.client, 15)),
        Scene("kill-server", TRAPS, None, _only(Cause.SERVER_ENDED), lambda bed: bed.tmux("kill-server"), (), "", True),
        Scene("tmux killed -9", TRAPS, None, _only(Cause.SERVER_CRASHED), _server_dies, (), "", True),
        Scene("--rm, detached", TRAPS, None, _only(Cause.CLIENT_ENDED), _detach, (REMOVED,)),
        Scene("exit 255 at a key", ON_KEY.format(code=255), 255, _only(Cause.EXITED), _key),
        *(_removing(engine, code, on_key=True) for code in (0, 1, 7, 125, 127, 137, 143)),
    ]


def _of_docker() -> list[Scene]:
    lost = _only(Cause.UNKNOWN)
    return [
        Scene("shim killed -9", TRAPS, 137, lost, _shim_dies, (), "shim killed"),
        Scene("exit 9 that its killed shim never told", TRAPS, 9, lost, _ends_untold, (), "shim killed"),
    ]


def _of_podman() -> list[Scene]:
    """conmon, in the place of a daemon: killed while its program runs, ends, or has just ended."""
    lost = _only(Cause.ENGINE_DIED)
    raced = lost | {Cause.EXITED, Cause.SIGNALLED, Cause.UNKNOWN}
    why = "monitor killed"

    def then(number: int | None, first: bool = False) -> Callable[[Bed], Any]:
        return lambda bed: _monitor_dies(bed, number, first)

    # podman's client gives up 20 s after its conmon is gone: only then there is an end to tell of.
    found = [
        Scene("conmon killed -9", TRAPS, None, lost, then(None)),
        Scene("conmon killed -9, then exit 9", TRAPS, 9, lost, then(signal.SIGUSR1), (), why),
        Scene("conmon killed -9, then exit 0", TRAPS, 0, lost, then(signal.SIGUSR2), (), why),
        Scene("conmon and program killed -9", TRAPS, 137, lost, then(9), (), why),
        Scene("exit 9, conmon killed -9 meanwhile", TRAPS, 9, raced, then(signal.SIGUSR1, True), (), why),
        Scene("exit 0, conmon killed -9 meanwhile", TRAPS, 0, raced, then(signal.SIGUSR2, True), (), why),
        Scene("--rm, conmon and program killed -9", TRAPS, 137, lost, then(9), (REMOVED,), why),
    ]
    return [evolve(scene, slow=True) for scene in found]


def daemon_dies() -> list[tuple[Scene, int | None]]:
    """dockerd is killed under all of these; each with the signal that its program gets meanwhile."""
    why = "daemon killed"
    # The others where it could still tell of the end, or was back in time: a new daemon ends what runs by TERM.
    lost = _OF_ENGINE | {Cause.ENGINE_DIED, Cause.UNKNOWN}
    found: list[tuple[Scene, int | None]] = [(Scene("daemon killed -9", TRAPS, None, lost), None)]
    for code, number in ((0, signal.SIGUSR2), (9, signal.SIGUSR1), (143, signal.SIGTERM), (137, signal.SIGKILL)):
        found.append((Scene(f"daemon killed -9, then {code}", TRAPS, code, lost, unknowable=why), number))
    return found


def unwatched(engine: str) -> list[Scene]:
    """What may happen while monitors are killed; what needs a listener may then stay unknown."""
    by_monitor = ("stallkit start --replace", "stallkit stop")  # they see to a monitor by themselves
    found = [scene for scene in specials(engine) if not scene.own_server and scene.name not in by_monitor]
    found += [Scene(f"exit {code}", ON_KEY.format(code=code), code, _only(Cause.EXITED), _key) for code in (0, 3, 255)]
    return [_less_known(scene) for scene in found]


def _less_known(scene: Scene) -> Scene:
    gone = REMOVED in scene.options or "rm -f" in scene.name
    if scene.truth is None:
        return scene
    more = {Cause.UNKNOWN, Cause.EXITED}  # without its events nobody knows who asked for the signal
    if gone:
        more |= {Cause.CONTAINER_REMOVED, Cause.CLIENT_ENDED}
    if scene.unknowable == "shim killed":
        more |= {Cause.SIGNALLED}
    why = scene.unknowable or ("nobody listened" if gone or scene.truth == 255 else "")
    return evolve(scene, causes=scene.causes | more, unknowable=why)


AT_ONCE = 6  # scenes that play at the same time
PATIENCE_S = 60.0  # for a record; the slowest end that a monitor is told of takes 20 s
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
    tally: Tally = field(factory=Tally)
    unknown: Counter[str] = field(factory=Counter)  # by why it may be
    told_unknowable: Counter[str] = field(factory=Counter)  # a code, where there need not be one
    records: list[tuple[Scene, ExitRecord]] = field(factory=list)

    def broken(self, what: str, scene: Scene, why: object) -> None:
        self.tally.fails(what, f"{self.room.name}: {scene.name}: {why}")


def soak(run: Run) -> list[Figure]:
    done = count(1)
    absent = [kind.name for kind in ROOMS if missing(*kind.needs)]
    figures = [Figure("engines that cannot run here", ", ".join(absent) or "none", "none", not absent)]
    for kind in ROOMS:
        if kind.name not in absent:
            figures += _engine(kind, run, lambda: run.tell(next(done)))
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
        more["tmux_socket_path"] = str(stage.house.folder / f"{name}.sock")
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
        record = _recorded(stage, bed.session)
        _judge(stage, scene, bed.session, record, watched=True)
        _clear(stage, scene, bed, record)

    _tried(stage, scene, do)
    stage.told()


def _recorded(stage: Stage, session: Session, look: Callable[[], Any] = lambda: None) -> ExitRecord | None:
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
        record = _recorded(stage, bed.session)
        judged = scene
        if how.back and scene.truth is None:  # the new daemon ends what runs, as docs/sessions.md has it
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

    look = (lambda: None) if anew else (lambda: finalize_now(stage.house.register))
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
    by_session = {one["session"]: one for one in here}
    in_both, in_own = (Counter(one["session"] for one in log) for log in (here, there))
    for scene, record in stage.records:
        id, status = record.session.id, record.status
        told = by_session.get(id, {})
        if (in_both[id], in_own[id]) != (1, 1):
            stage.broken("not exactly one final event", scene, f"{in_both[id]} and {in_own[id]}")
        elif (told["exit_code"], told["cause"]) != (status.code if status else None, str(record.cause)):
            stage.broken("not exactly one final event", scene, f"it says {told}, and the record {record.status}")
    if any(more > 1 for more in in_both.values()):
        stage.tally["not exactly one final event"] += 1


def _figures(stage: Stage) -> list[Figure]:
    tally, engine = stage.tally, stage.room.name
    ends = tally["ends"]

    def none(name: str, of: str = f"{ends} ends") -> Figure:
        return Figure.none(f"{engine}: {name}", tally[name], of)

    true, due = tally["due and true"], tally["due"]
    both = stage.unknown + stage.told_unknowable
    listed = "; ".join(f"{why}: {stage.unknown[why]} of {both[why]}" for why in UNKNOWABLE if both[why])
    return [
        Figure(f"{engine}: ends", f"{ends} of {stage.number}", "all", ends == stage.number),
        none("false codes"),
        none("false zeros"),
        Figure(f"{engine}: the true code, beside a monitor that lives", f"{true} of {due}", "99 %", true >= 0.99 * due),
        none("unknown that are not listed"),
        Figure.told(f"{engine}: unknown, as listed", listed or "none"),
        Figure.told(f"{engine}: no code to tell: it never ran, or runs on", f"{tally['none to tell']}"),
        none("wrong causes"),
        none("not exactly one final event"),
        none("no record"),
        none("records that changed"),
        none("could not be tried", f"{stage.number} scenes"),
    ]


PART = Part(__doc__, "ends, half of them on each engine", full=740, short=20, soak=soak)
