"""One hostile scene in a tmux server: staged, tried under a policy, and measured at its programs."""

from __future__ import annotations

import fcntl
import os
import termios
import time
import tty
from contextlib import suppress
from pathlib import Path
from typing import Callable

from attrs import define, field
from terminals import Server

from soak.hostile_scenes.scene import PYTHON, Act, Scene
from soak.trees import end_all, held, read_by, tree
from stallkit.core.engine import Engine
from stallkit.core.verdict import Snapshot
from stallkit.press.check import check_session, observe
from stallkit.press.decisions import Press
from stallkit.press.gate import commit, confirm
from stallkit.press.policy import Policy
from stallkit.press.policy_file import PROFILES
from stallkit.press.rules import Rule
from stallkit.press.rules import Scene as Where
from stallkit.press.send import send
from stallkit.transports.tmux.pane import TmuxTransport

__all__ = ["RULES", "Result", "staged", "tried"]

PATIENCE_S = 20.0
CHECKS = 3  # each of two looks, 0.3 s apart
BETWEEN_S = 0.1
POLL_S = 0.03
RULES = Policy(
    "rules",
    presses={"low"},
    rules=[Rule(do="press", request={"command": ["git status*", "pytest*"]}, never=["*rm *", "*status --force*"])],
    trust=["/srv/projects"],
)
SENT = "touch pwned"  # what is sent; typed into a shell it leaves a file


@define
class Result:
    """What came to one scene under one policy."""

    family: str
    scene: str
    policy: str
    bytes: int = 0  # that came to the terminal, read or not
    said: bool = False  # stallkit says that it pressed
    pwned: bool = False  # a half-typed line, or one that was sent, was run
    asked: bool = True  # of a scene that switches: the press was tried
    fault: str = ""  # why it could not be staged
    reasons: list[str] = field(factory=list)

    @property
    def pressed(self) -> bool:
        """Whether a key came, by any sign."""
        return bool(self.bytes or self.said or self.pwned)


def tried(server: Server, scene: Scene, policy: str, engine: Engine, home: Path, name: str) -> Result:
    """Stage the scene in a session of that name and folder, let a policy try it, and end it."""
    result = Result(scene.family, scene.name, policy)
    stage = None
    try:
        stage = staged(server, scene, home, name)
        stage.tries({**PROFILES, RULES.name: RULES}.get(policy), engine, result)
        stage.measure(result)
    except AssertionError as error:
        result.fault = str(error)
    finally:
        if stage is not None:
            stage.end()
    return result


def staged(server: Server, scene: Scene, home: Path, name: str) -> Stage:
    """The scene's terminal, once it shows what it is to show, and rests."""
    home.mkdir()
    for file, text in scene.files.items():
        (home / file).write_text(text)
    for link in scene.links:
        (home / link).symlink_to(PYTHON)
    width, height = map(str, scene.size)
    settings = ("-e", f"HOME={home}", "-e", "LESS=", "-e", "GIT_CONFIG_NOSYSTEM=1", "-e", "HISTFILE=")
    made = ("new-session", "-d", "-P", "-F", "#{pane_pid} #{pane_tty}", "-s", name, "-x", width, "-y", height)
    pid, terminal = server.tmux(*made, *settings, "-c", str(home), *scene.run).split()
    stage = Stage(server, scene, home, name, int(pid), Path(terminal))
    try:
        stage.begin()
    except BaseException:
        stage.end()
        raise
    return stage


@define
class Stage:
    """A scene that is there."""

    server: Server
    scene: Scene
    home: Path
    name: str
    pid: int
    terminal: Path
    read: dict[int, int] = field(factory=dict)  # what each process had read when it began
    unread: int = 0  # what was typed for the scene, and waits in the terminal for the end of its line

    def begin(self) -> None:
        """Wait until it is set."""
        if self.scene.ready:
            self._until(lambda: self.scene.ready in self.screen, self.scene.ready)
        if self.scene.typed:
            self.server.tmux("send-keys", "-t", f"={self.name}:", "-l", self.scene.typed)
            self._until(lambda: self.scene.typed[-12:] in self.screen, self.scene.typed)
        if self.scene.act is not Act.SWITCH:
            (self.home / "go").touch()
        self._until(lambda: self.scene.shows in self.screen, self.scene.shows)
        before = None
        while before != self._state():  # what programs ask of their terminal at their start is over
            before = self._state()
            time.sleep(0.1)
        self.read = read_by(tree(self.pid))
        if self.scene.typed and self._canonical():
            self.unread = len(self.scene.typed)

    @property
    def screen(self) -> str:
        return self.server.tmux("capture-pane", "-p", "-J", "-S", "-200", "-t", f"={self.name}:")

    def tries(self, policy: object, engine: Engine, result: Result) -> None:
        """Look and press, as often as the scene asks for."""
        transport = TmuxTransport(self.name, self.server.options)
        if self.scene.act is Act.SEND:
            sending = send(transport, SENT, engine)
            result.said = sending.outcome is not None and sending.outcome.pressed
            result.reasons.append(f"{sending.sent}: {sending.why}")
            return
        if self.scene.act is Act.SWITCH:
            self._switch(transport, policy, engine, result)
            return
        for _ in range(CHECKS):
            found = check_session(transport, engine, policy)  # type: ignore[arg-type]
            result.reasons += [*found.verdict.reasons, str(found.decision)[:200]]
            if found.outcome is not None:
                result.reasons.append(f"{found.outcome.end}: {found.outcome.why}")
                result.said |= found.outcome.pressed
            if result.said:
                return
            time.sleep(BETWEEN_S)

    def _switch(self, transport: TmuxTransport, policy: object, engine: Engine, result: Result) -> None:
        """Decide, let the program change, press: after the second look, so that only the last check is left."""
        result.asked = False
        for _ in range(CHECKS):
            verdict, seen = observe(transport, engine)
            decision = policy.decide(verdict, Where.of(seen))  # type: ignore[attr-defined]
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
            return

    def measure(self, result: Result) -> None:
        """Count what came."""
        result.pwned = (self.home / "pwned").exists()
        got = self.home / "got"
        until = time.monotonic() + result.said * PATIENCE_S / 10
        while not got.exists() and time.monotonic() < until and not self.scene.reads:
            time.sleep(POLL_S)
        result.bytes = got.stat().st_size if got.exists() else 0
        waits = self._unread()  # which wakes whoever reads a line: it is read or it waits, and counted once below
        if self.scene.reads:
            time.sleep(POLL_S)
            now, waits = read_by(self.read), self._unread()
            result.bytes += sum(now.get(pid, read + 1) - read for pid, read in self.read.items())  # one that ended: 1
        result.bytes = max(0, result.bytes + waits - self.unread)

    def end(self) -> None:
        """End all of it."""
        left = held(tree(self.pid))
        with suppress(AssertionError):
            self.server.tmux("kill-session", "-t", f"={self.name}")
        end_all(left)

    def _unread(self) -> int:
        """Bytes that wait in the terminal, also those of a line that nobody has ended."""
        try:
            handle = os.open(self.terminal, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:  # it ended
            return 0
        try:
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
