"""One agent in one terminal: the steps of a scene, and each screen that it saves, with what the kernel says beside it.

The steps are those of `others.py`, and besides: ``closed`` and ``opened``, after which the model refuses connections
and takes them again.  ``save STATE KIND NAME`` saves; the state may name how the turn ended too: ``idle:asks``.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import others

from stallkit.probes.foreground_job import probe
from stallkit.probes.readers import tty_facts
from unknown.model import Model

SAMPLES = 5  # over one second
CALLS = {"epoll": "epoll_wait"}  # as corpora name them


class Stage(others.Stage):
    """`play` goes through the scene; `cases` is what it saved."""

    def __init__(self, name: str, scene: dict[str, Any], size: str, programs: Path) -> None:
        self.model = Model(scene.get("replies", {}), scene.get("once", False), scene.get("added", "(?!)"))
        self.cases = list[dict[str, Any]]()
        told = {
            "files": {place: self._filled(text) for place, text in scene.get("files", {}).items()},
            "env": {key: self._filled(text) for key, text in scene.get("env", {}).items()},
        }
        self._programs = (str(programs), "/home/dev/" + "p" * max(len(str(programs)) - 10, 1))  # as long
        super().__init__(name, scene | told, size, programs, Path("/dev/null"))

    def _filled(self, text: str) -> str:
        return text.replace("$MODEL", self.model.url)

    def play(self) -> None:
        for step in self.scene["steps"]:
            if step in ("closed", "opened"):
                self.model.close() if step == "closed" else self.model.open()
            elif not self.step(step):
                break

    def step(self, step: str) -> bool:
        """One of `others.py`; False: the screen it waited for did not come."""
        before, self.scene = self.scene, self.scene | {"steps": [self._filled(step)]}
        self.missed = False
        super().play()
        self.scene = before
        return not self.missed

    def _until(self, pattern: str, there: bool, seconds: float) -> bool:
        self.missed = not super()._until(pattern, there, min(seconds, 40))
        return not self.missed

    def save(self, state: str, kind: str, what: str) -> None:
        self.cases.append(self.case(state, kind, what))

    def case(self, state: str, kind: str, what: str) -> dict[str, Any]:
        state, _, ended = state.partition(":")
        made = super().case(state, kind, what)
        hits, how = 0, None
        tty, pid = others.tmux("display-message", "-p", "-t", self.pane, "#{pane_tty} #{pane_pid}").split()
        for _ in range(SAMPLES):
            kernel = probe(tty, int(pid))
            hits += kernel.listening is True
            how = kernel.how or how
            time.sleep(1 / SAMPLES)
        modes, comm = tty_facts(tty), made["pane_current_command"]
        same = self._hidden(self.screen()) == self._hidden(made["screen"])
        label = made["label"] | ({"ended_turn": ended} if ended else {})
        return made | {
            "id": made["id"].replace("agent_clis/", "unknown/"),
            "pane_title": self._hidden(made["pane_title"]),
            "screen": self._hidden(made["screen"]),
            "tty": {"echo": modes.echo, "icanon": modes.canonical},
            "proc": [{"comm": comm, "tty_wait": {"how": CALLS.get(how, how)} if how and hits else None}],
            "probe_1s": {"screen_same": same, "tty_wait_hits": hits, "tty_wait_samples": SAMPLES},
            "label": label,
        }

    def _hidden(self, text: str) -> str:
        text = text.replace(str(self.home), "/home/dev").replace(self.home.name, "home")
        text = text.replace(socket.gethostname(), "box").replace(*self._programs)
        return text.replace(f"{Path.home()}/", "/home/")

    def close(self) -> None:
        super().close()
        self.model.close()
