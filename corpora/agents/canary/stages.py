"""The stages of the other scripts with a watcher beside them: each `save` is a point of truth, and is looked at."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import claude_stage  # the modules of corpora/agents
import others
from attrs import define, field

from canary.points import Point, Said
from canary.watcher import Watcher
from stallkit.detect.engine import Engine
from stallkit.evidence.snapshot import Snapshot
from stallkit.judging.verdict import Verdict
from stallkit.packs.screenfile import front_of, render_screen
from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport

NOWHERE = Path("/dev/null")
COMPOSER = re.compile(r"^─{8}.*\n❯(?:\s.*)?\n(?:(?!─{8}).*\n){0,4}?─{8}", re.MULTILINE)
OFFER = re.compile(r"^ *❯ Yes, set auto mode", re.MULTILINE)
BUSY = re.compile(r"esc to interrupt|^[·✢✳✶✻✽*] \S+…", re.MULTILINE)
UP_S = 2.5  # at its composer: then nothing is offered any more
REST_S = 1.5  # from a change to the look at it: a person, or a watcher's second look, is no sooner


@define
class Diary:
    """The points of one agent as they are found, and their screens as files."""

    agent: str
    version: str
    folder: Path
    engine: Engine
    told: Callable[[Point], None]
    points: list[Point] = field(factory=list)
    _truth: str | None = None  # at the point before
    _lock: threading.Lock = field(factory=threading.Lock)

    def watch(self, name: str, socket: str) -> Watcher:
        """A watcher of a pane, from now on."""
        self._truth = None
        return Watcher(TmuxTransport(name, Options(tmux_socket_name=socket, listen=True)), self.engine)

    def enter(self, watcher: Watcher, name: str, state: str, kind: str | None, since: float, home: str) -> None:
        """Look, and note what is said beside what is true."""
        time.sleep(max(0.0, since + REST_S - time.monotonic()))
        look = watcher.look()
        moved, self._truth = self._truth != state, state
        latency = watcher.latency(state, since) if moved else None
        point = Point(
            agent=self.agent,
            version=self.version,
            name=name,
            state=state,
            kind=kind,
            verdict=_said(look.verdict),
            screen=_said(look.screen),
            signals={signal.source: _told(signal) for signal in look.verdict.signals},
            by_signal=look.verdict.by_signal,
            latency_s=latency,
            never=moved and latency is None,
            sure_s=watcher.sure_latency(state, since) if moved and state == "waiting" else None,
            reasons=look.verdict.reasons,
        )
        self.points.append(point)
        self._keep(point, look.seen, home)
        self.told(point)

    def missed(self, name: str, state: str) -> None:
        """A state that the agent could not be driven into is said, and is no point."""
        print(f"{self.agent}: not reached: {name} ({state})", file=sys.stderr, flush=True)

    def _keep(self, point: Point, seen: Snapshot, home: str) -> None:
        label = {"program": self.agent, "version": self.version, "state": point.state}
        front = {**front_of(seen), **label, **({"kind": point.kind} if point.kind else {})}
        text = render_screen(seen.screen.text, front).replace(home, "/home/dev")
        slug = re.sub(r"[^a-z0-9]+", "-", point.name.lower()).strip("-")
        folder = self.folder / "held-back" if point.held_back else self.folder
        folder.mkdir(parents=True, exist_ok=True)
        for name in (f"{slug}.txt", f"todo-{slug}.txt"):
            (folder / name).unlink(missing_ok=True)
        (folder / f"{'todo-' if point.wants_a_look else ''}{slug}.txt").write_text(text)


def _said(verdict: Verdict) -> Said:
    return Said(str(verdict.state), str(verdict.certainty), str(verdict.kind) if verdict.kind else None)


def _told(signal: Any) -> str:
    state = str(signal.state) if signal.state else "look"
    return f"{state}, stale" if signal.stale else state


class Other(others.Stage):
    """An agent of `others.json`."""

    def __init__(self, diary: Diary, name: str, scene: dict[str, Any], folder: Path, size: str = "80x24") -> None:
        super().__init__(name, scene, size, folder, NOWHERE)
        self._diary = diary
        self._watcher = diary.watch(name, others.SOCKET)

    def save(self, state: str, kind: str, what: str) -> None:
        told = None if kind == "-" else kind
        self._diary.enter(self._watcher, what, state, told, self.changed_at, str(self.home))

    def close(self) -> None:
        self._watcher.close()
        super().close()


class Claude(claude_stage.Stage):
    """Claude Code, started by `launch`, in which CLAUDE stands for its own command line."""

    def __init__(self, diary: Diary, claude: Path, launch: str = "CLAUDE", size: tuple[int, int] = (80, 24)) -> None:
        super().__init__(claude, diary.version, size, NOWHERE, flat=False)
        self._diary, self._launch = diary, launch
        self._watcher: Watcher | None = None
        self.given_to: str | None = None  # another user, who runs it
        self._met = True  # all that was waited for since the last point

    def command(self, args: Sequence[str]) -> str:
        return self._launch.replace("CLAUDE", shlex.join(["claude", *args])).replace("SOCKET", f"{self.socket}-inner")

    def open(self, key: bool, more: Mapping[str, str]) -> None:
        super().open(key, more)
        if self.given_to:
            for path in (self.root, *self.root.rglob("*")):
                shutil.chown(path, self.given_to)
        self._watcher = self._diary.watch("a", self.socket)

    def wait(self, pattern: str, seconds: float = 20) -> bool:
        met = super().wait(pattern, seconds)
        self._met &= met
        return met

    def offered(self, seconds: float = 25) -> bool:
        """Whether it offers another permission mode, as newer releases do a moment after they drew their composer."""
        until, rests_since = time.monotonic() + seconds, None
        while time.monotonic() < until:
            screen = self.screen()
            if OFFER.search(screen):
                self.changed_at = time.monotonic()
                time.sleep(0.5)
                return True
            rests_since = (rests_since or time.monotonic()) if COMPOSER.search(screen) else None
            if rests_since and time.monotonic() - rests_since > UP_S:
                return False
            time.sleep(0.15)
        return False

    def ready(self) -> bool:
        """Until it is at its composer; what it offers before is declined."""
        if self.offered():
            self.keys("Down", pause=0.5)
            self.keys("Enter")
        return self.idle()

    def idle(self, seconds: float = 25) -> bool:
        """Until its composer stands there and nothing runs; a message in the transcript looks like a composer."""
        until, met = time.monotonic() + seconds, False
        while not met and time.monotonic() < until:
            screen = self.screen()
            if COMPOSER.search(screen) and not BUSY.search(screen):
                self.changed_at = time.monotonic()
                time.sleep(0.6)
                met = self.screen() == screen
            else:
                time.sleep(0.15)
        self._met &= met
        return met

    def save(
        self, name: str, state: str, kind: str | None = None, wait: str = "", hard: bool = False, **label: Any
    ) -> bool:
        if wait:
            self.wait(wait)
        met, self._met = self._met, True
        if not met or self._watcher is None:
            self._diary.missed(f"{self.scene} {name}", state)
            return False
        self._diary.enter(self._watcher, f"{self.scene} {name}".strip(), state, kind, self.changed_at, str(self.root))
        return True

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        subprocess.run(["tmux", "-L", f"{self.socket}-inner", "kill-server"], capture_output=True, check=False)
        super().close()
