"""Scenes in tmux servers, several at a time: staged, tried under a policy, and measured at their programs."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import shlex
import shutil
import signal
import termios
import time
import tty
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen
from terminals import Server

from soak.hostile_scenes.scene import ACTOR, PYTHON, Act, Scene
from soak.nursery import Nursery, kill
from soak.parts import Run
from stallkit.detect.engine import Engine
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.registry import installed_engine
from stallkit.press.check import check_session, observe
from stallkit.press.gate import commit, confirm
from stallkit.press.policy import Policy, Press
from stallkit.press.policy_file import load_policy
from stallkit.press.rules import Scene as Where
from stallkit.transports.tmux.pane import TmuxTransport


def tree(pid: int) -> list[int]:
    """That process and all below it, the parents first."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*"):
            with suppress(OSError):  # it ended
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def read_by(pids: Iterable[int]) -> dict[int, int]:
    """How many bytes each of these has read so far, from anything; those that ended are left out."""
    found = {}
    for pid in pids:
        with suppress(OSError, ProcessLookupError):
            found[pid] = int(Path(f"/proc/{pid}/io").read_text().split("\n")[0].split()[1])
    return found


def held(pids: Iterable[int]) -> list[int]:
    """Handles of the processes that are there now, which name no other process later."""
    found = []
    for pid in pids:
        with suppress(ProcessLookupError):
            found.append(os.pidfd_open(pid))
    return found


def end_all(handles: Iterable[int]) -> None:
    """End these processes, also what outlives the loss of its terminal (script does)."""
    for handle in handles:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


PATIENCE_S = 20.0
CHECKS = 3  # each of two looks, 0.3 s apart
BETWEEN_S = 0.1
POLL_S = 0.03
LATE_S = 0.6  # after a press, for keys that come behind it
WATCH_S = 8.0  # a supervisor looks: two looks make a verdict sure, and it nudges at the next
RULES = """format = 1
name = "rules"
profile = "careful"
trust = ["{folder}"]
[[rule]]
do = "press"
signature = ["shell_tools:press_any_key*", "shell_tools:press_enter*"]
session = "tmux:build-*"
[[rule]]
do = "press"
signature = ["shell_yn:yes_no", "shell_yn:yes_or_default"]
session = "tmux:deploy-1"
never = ["*prod*"]
[[rule]]
do = "press"
option = "Yes, I trust this folder"
agent = "claude"
"""
BUTLER = 'format = 1\nname = "butler"\nprofile = "daemon"\nagents = ["butler"]\n'
FILES = {"rules": RULES, "butler": BUTLER}


def policies(folder: Path, files: Mapping[str, str]) -> dict[str, Policy]:
    """The policies under which each scene is tried: two profiles, and others in files as an operator writes them.

    None waits until the prompt has stood for its patience: that would only take its time.
    """
    found = {name: load_policy(name) for name in ("careful", "daemon")}
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text.replace("{folder}", str(folder)))
        found[name] = load_policy(folder / f"{name}.toml")
    return {name: evolve(policy, patience_s=0.0) for name, policy in found.items()}


def programs(folder: Path) -> Path:
    """A folder for PATH with the stand-ins: ``claude`` where npm puts it, ``butler``, a script of an interpreter."""
    own = folder / "lib" / "node_modules" / "@anthropic-ai" / "claude-code" / "bin"
    own.mkdir(parents=True)
    found = folder / "bin"
    found.mkdir()
    shutil.copy(PYTHON, own / "claude.exe")  # its executable is Claude Code's by its path, its text is ours
    (found / "claude").symlink_to(own / "claude.exe")
    (found / "butler").write_text(f"#!{PYTHON}\n{ACTOR.read_text()}")
    (found / "butler").chmod(0o755)
    return found


@define
class Result:
    family: str
    scene: str
    policy: str
    got: list[bytes] = field(factory=list)  # by the actor, at each of its steps
    chose: list[str] = field(factory=list)  # the row of a menu
    stray: int = 0  # bytes that other programs read, or that wait unread
    said: bool = False  # stallkit says that it pressed
    pwned: bool = False  # what waits went on: a half-typed line was run, a question taken for answered
    asked: bool = True  # of a scene that switches: the press was tried
    wrong: str | None = None
    fault: str = ""  # why it could not be staged
    reasons: list[str] = field(factory=list)

    @property
    def pressed(self) -> bool:
        """Whether a key came, by any sign."""
        return bool(any(self.got) or self.stray or self.said or self.pwned)


@frozen
class Room:
    """A worker's own tmux server, with the stand-ins and the policies in its folder."""

    server: Server
    bin: Path
    policies: Mapping[str, Policy]
    engine: Engine

    def home(self, number: int) -> Path:
        return self.server.socket.parent / f"s{number}"


def tried(room: Room, scene: Scene, policy: str, number: int) -> Result:
    """Stage the scene in a folder of its own, let a policy try it, measure, and end it."""
    result = Result(scene.family, scene.name, policy)
    stage = Stage(room.server, scene, room.home(number))
    try:
        stage.begin(room.bin)
        stage.tries(room.policies[policy], room.engine, result)
        stage.measure(result)
        result.wrong = _verdict(scene, result)
    except AssertionError as error:
        result.fault = str(error)
    finally:
        stage.end()
    return result


def _verdict(scene: Scene, result: Result) -> str | None:
    """What is wrong with what came, by what the grounds allow."""
    wrong = scene.wrong(result.policy, result.got, result.chose)
    if wrong is not None:
        return wrong
    if result.pwned:
        return "what waits for an answer went on"
    allowed = result.policy in scene.may or result.policy in scene.picks
    if result.stray and not (allowed and scene.reads):
        return f"{result.stray} bytes came that its program did not read"
    return "it says that it pressed" if result.said and not allowed else None


@define
class Stage:
    server: Server
    scene: Scene
    home: Path
    pid: int = 0
    pane: str = ""
    terminal: Path = Path()
    read: Mapping[int, int] = field(factory=dict)  # what each process had read when it began
    unread: int = 0  # what was typed for the scene, and waits in the terminal for the end of its line

    @property
    def screen(self) -> str:
        return self.server.tmux("capture-pane", "-p", "-J", "-S", "-200", "-t", self.pane)

    def begin(self, bin: Path) -> None:
        """Start it, and wait until it shows what it is to show, and rests."""
        self.home.mkdir()
        for file, text in self.scene.files.items():
            (self.home / file).parent.mkdir(parents=True, exist_ok=True)
            (self.home / file).write_text(text)
        width, height = map(str, self.scene.size)
        given = {"HOME": str(self.home), "LESS": "", "HISTFILE": ""}
        given |= {"GIT_CONFIG_NOSYSTEM": "1", "PY": str(PYTHON), "BIN": str(bin)}
        settings = [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
        facts = "#{pane_pid} #{pane_id} #{pane_tty}"
        made = ("new-session", "-d", "-P", "-F", facts, "-s", self.scene.session, "-x", width, "-y", height)
        run = ("bash", "--norc", "--noprofile", "-c", f'PATH="$BIN:$PATH"; {self.scene.run}')
        pid, self.pane, terminal = self.server.tmux(*made, *settings, "-c", str(self.home), *run).split()
        self.pid, self.terminal = int(pid), Path(terminal)
        if self.scene.ready:
            self._until(lambda: self.scene.ready in self.screen, self.scene.ready)
        if self.scene.typed:
            self.server.tmux("send-keys", "-t", self.pane, "-l", self.scene.typed)
            self._until(lambda: self.scene.typed[-12:] in self.screen, self.scene.typed)
        if self.scene.enters:
            self.server.tmux("send-keys", "-t", self.pane, "Enter")
        if self.scene.act is not Act.SWITCH:
            (self.home / "go").touch()
        self._until(lambda: self.scene.shows in self.screen, self.scene.shows)
        before = None
        while before != self._state():  # what programs ask of their terminal at their start is over
            before = self._state()
            time.sleep(0.1)
        for line in filter(None, self.scene.before.split("\n")):
            self.server.tmux(*shlex.split(line.replace("{pane}", self.pane)))
        if "send-keys" in self.scene.before:
            self._until(self._waiting, "what was typed ahead")
        self.read = read_by(tree(self.pid))
        typed = "" if self.scene.enters else self.scene.typed
        self.unread = len(typed) if self._canonical() else self._waiting()

    def tries(self, policy: Policy, engine: Engine, result: Result) -> None:
        """Look and press, as often as the scene asks for."""
        if self.scene.act is Act.WATCH:
            self._watch(result)
            return
        transport = TmuxTransport(self.scene.session, self.server.options)
        if self.scene.act is Act.SWITCH:
            self._switch(transport, policy, engine, result)
            return
        for _ in range(CHECKS):
            found = check_session(transport, engine, policy)
            result.reasons += [*found.verdict.reasons, str(found.decision)[:200]]
            if found.outcome is not None:
                result.reasons.append(f"{found.outcome.end}: {found.outcome.why}")
                result.said |= found.outcome.pressed
            if result.said:
                time.sleep(LATE_S)
                return
            time.sleep(BETWEEN_S)

    def _switch(self, transport: TmuxTransport, policy: Policy, engine: Engine, result: Result) -> None:
        """Decide, let the program change, press: after the second look, so that only the last check is left."""
        result.asked = False
        for _ in range(CHECKS):
            verdict, seen = observe(transport, engine)
            decision = policy.decide(verdict, Where.of(seen))
            result.reasons += [*verdict.reasons, str(decision)[:200]]
            if not isinstance(decision, Press):
                continue
            now = confirm(transport, decision, seen, engine)
            if not isinstance(now, Snapshot):
                result.reasons.append(now.why)
                continue
            result.asked = True
            (self.home / "go").touch()
            self._until((self.home / "switched").exists, "it to switch")
            self._until(lambda: self.scene.after in self.screen, self.scene.after)
            outcome = commit(transport, decision, now, engine)
            result.reasons.append(f"{outcome.end}: {outcome.why}")
            result.said = outcome.pressed
            time.sleep(LATE_S * result.said)
            return

    def _watch(self, result: Result) -> None:
        """A supervisor of its own watches the session for a while, by the policy's name or file."""
        folder = self.home.parent
        named = str(folder / f"{result.policy}.toml") if result.policy in FILES else result.policy
        events = self.home / "events.jsonl"
        spec: dict[str, object] = {"servers": [[str(self.server.socket), [f"tmux:{self.scene.session}"]]]}
        spec |= {"policy": named, "interval_s": 0.3, "stall_s": 1.0}
        spec |= {"store": str(self.home / "store.db"), "events": str(events)}
        with Nursery(self.home) as nursery:
            pid = nursery.start(**spec)
            time.sleep(WATCH_S)
            kill(pid, signal.SIGTERM)
        result.reasons += events.read_text().splitlines()[-6:] if events.exists() else []

    def measure(self, result: Result) -> None:
        result.pwned = (self.home / "pwned").exists()
        for line in (self.home / "got").read_text().splitlines() if (self.home / "got").exists() else []:
            what, _, said = line.partition(" ")
            if what == "chose":
                result.chose.append(said)
                continue
            result.got += [b""] * (int(what) + 1 - len(result.got))
            result.got[int(what)] += bytes.fromhex(said)
        waits = self._waiting(whole=True)  # wakes whoever reads a line: it is read or it waits, and counted once below
        if self.scene.reads:
            time.sleep(POLL_S)
            now, waits = read_by(self.read), self._waiting(whole=True)
            result.stray += sum(now.get(pid, read + 1) - read for pid, read in self.read.items())  # one that ended: 1
        result.stray = max(0, result.stray + waits - self.unread)

    def end(self) -> None:
        left = held(tree(self.pid)) if self.pid else []
        for session in self.server.tmux("list-sessions", "-F", "#{session_name}").split("\n"):
            if session and session != "keeper":
                with suppress(AssertionError):
                    self.server.tmux("kill-session", "-t", f"={session}")
        end_all(left)

    def _waiting(self, *, whole: bool = False) -> int:
        """Bytes that wait in the terminal; `whole`: also those of a line that nobody has ended."""
        try:
            handle = os.open(self.terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:  # it ended
            return 0
        try:
            if whole:
                tty.setraw(handle, termios.TCSANOW)
            return int.from_bytes(fcntl.ioctl(handle, termios.FIONREAD, bytes(4)), "little")
        except (OSError, termios.error):
            return 0
        finally:
            os.close(handle)

    def _canonical(self) -> bool:
        handle = os.open(self.terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            return bool(termios.tcgetattr(handle)[3] & termios.ICANON)
        finally:
            os.close(handle)

    def _state(self) -> tuple[str, dict[int, int]]:
        return self.screen, read_by(tree(self.pid)) if self.scene.reads else {}

    def _until(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            screen = self.screen
            over = "Pane is dead" in screen or time.monotonic() > deadline
            assert not over, f"{self.scene.name}: gave up waiting for {what!r}, it shows {screen}"
            time.sleep(POLL_S)


# Most of a scene's time is waiting between looks.  Processes: a pattern's budget is the CPU time of its whole process.
WORKERS = 12

Job = tuple[int, str, Any]  # its number, what it is tried under or in, and the scene


def worked(
    run: Run, jobs: Sequence[Job], files: Mapping[str, str], tried: Callable[[Room, Job], Result]
) -> list[Result]:
    """What came of each job; each worker has a room of its own, with the policies of these files."""
    installed_engine()  # made once, for all of them
    context = multiprocessing.get_context("fork")
    servers, free = list[Server](), context.SimpleQueue()
    for number in range(min(WORKERS, len(jobs))):
        folder = run.folder / f"w{number}"
        folder.mkdir()
        servers.append(Server(folder))
        free.put(servers[-1])
    done: list[Result] = []
    try:
        with ProcessPoolExecutor(len(servers), context, _begin, (free, files)) as pool:
            for result in pool.map(partial(_work, tried), jobs):
                done.append(result)
                run.tell(len(done) * run.size // len(jobs))
    finally:
        for server in servers:
            server.end()
    return done


_OWN: list[Room] = []  # of a worker


def _begin(free: Any, files: Mapping[str, str]) -> None:
    server = free.get()
    server.tmux("new-session", "-d", "-s", "keeper", "sleep", "100000")  # so that the server outlives every scene
    folder = server.socket.parent
    _OWN.append(Room(server, programs(folder), policies(folder, files), installed_engine()))


def _work(tried: Callable[[Room, Job], Result], job: Job) -> Result:
    try:
        return tried(_OWN[0], job)
    except Exception as error:  # whatever it is, the others go on
        with suppress(AssertionError):
            _OWN[0].server.tmux("kill-session", "-a", "-t", "=keeper")
        return Result(getattr(job[2], "family", job[1]), job[2].name, job[1], fault=repr(error))
