"""The screens of all sessions on one tmux server, looked at together a few times a second."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable

from attrs import frozen

LOOK_S = 0.25
MARK = "\x1e"


@frozen
class Shown:
    """What a session shows, and since when it has shown exactly that; seconds since 1970."""

    text: str = ""
    since: float = 0.0


class Screens:
    """Looks from a thread of its own until `close`; `of` is the newest look at a session."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._shown: dict[str, Shown] = {}
        self._looked = threading.Condition()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def of(self, session: str) -> Shown:
        with self._looked:
            return self._shown.get(session, Shown())

    def wait(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Whether a condition came to hold, tried after each look."""
        until = time.monotonic() + seconds
        while not holds():
            left = until - time.monotonic()
            if left <= 0:
                return False
            with self._looked:
                self._looked.wait(min(left, 1.0))
        return True

    def close(self) -> None:
        self._over.set()
        self._thread.join(10)

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            names = self._tmux("list-sessions", "-F", "#{session_name}").split()
            asked = [word for name in names for word in self._about(name)]
            if not asked:
                continue
            before = time.time()
            shown = self._tmux(*asked).split(f"{MARK}\n")  # up to a session that ended since
            with self._looked:
                for name, text in zip(names, shown[1:], strict=False):
                    if self._shown.get(name, Shown()).text != text:
                        self._shown[name] = Shown(text, before)
                self._looked.notify_all()

    def _about(self, name: str) -> list[str]:
        return ["display-message", "-p", MARK, ";", "capture-pane", "-p", "-t", f"={name}:", ";"]

    def _tmux(self, *words: str) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            command = ["tmux", "-u", "-L", self._socket, *words]
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout
        return ""
