"""Ways for a container to end: what is done to it, how its program then really ended, and what can be known of that."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable

from attrs import evolve, frozen
from machine_room import DockerRoom, PodmanRoom, processes
from stallkit_sessions.containers.runtime_call import DOCKER, PODMAN
from stallkit_sessions.lifecycle import start, stop
from stallkit_sessions.model import Cause, Session
from stallkit_sessions.register import RunningSession
from started import House, alive
from terminals import wait_for

from stallkit.transports.tmux.identity import Identity

__all__ = ["UNKNOWABLE", "Bed", "Scene", "codes", "daemon_dies", "socket_of", "specials", "unwatched"]

# Why a code cannot be known there; what each container runtime says was measured (docs/container-runtimes.md).  Any
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


def _kill_session(bed: Bed) -> None:
    bed.tmux("kill-session", "-t", f"={bed.session.name}")


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
    found = [scene for scene in specials(engine) if not scene.own_server and scene.name not in _SLOW]
    found += [Scene(f"exit {code}", ON_KEY.format(code=code), code, _only(Cause.EXITED), _key) for code in (0, 3, 255)]
    return [_less_known(scene) for scene in found]


_SLOW = ("stallkit start --replace", "stallkit stop")  # they see to a monitor by themselves


def _less_known(scene: Scene) -> Scene:
    gone = REMOVED in scene.options or "rm -f" in scene.name
    ambiguous = gone or scene.truth == 255
    if scene.truth is None:
        return scene
    more = {Cause.UNKNOWN, Cause.EXITED}  # without its events nobody knows who asked for the signal
    if gone:
        more |= {Cause.CONTAINER_REMOVED, Cause.CLIENT_ENDED}
    if scene.unknowable == "shim killed":
        more |= {Cause.SIGNALLED}
    return evolve(
        scene,
        causes=scene.causes | more,
        unknowable=scene.unknowable or ("nobody listened" if ambiguous else ""),
    )


def socket_of(house: House, name: str) -> Path:
    """Of a scene's own tmux server."""
    return house.folder / f"{name}.sock"
