"""Sessions as `stallkit start` begins them, for tests: a state directory, monitor and tmux server of their own."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from stallkit_sessions.lifecycle import finalize_now, start
from stallkit_sessions.model import FINAL, ExitRecord, Session
from stallkit_sessions.monitor_client import held
from stallkit_sessions.register import Register
from terminals import wait_for

from stallkit.probes.procfs import boot_id, stat_of

MONITOR = b"stallkit_sessions.monitor"
BACKGROUND = b"stallkit_sessions.runs.background"


def alive(pid: int) -> bool:
    """Whether a process lives, and is not merely uncollected."""
    stat = stat_of(pid)
    return stat is not None and stat.state not in "ZX"


def of_folder(mark: bytes, folder: Path) -> list[int]:
    """Living processes with a word in their command line, and a path that begins with this folder's."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes()
                if mark in words and os.fsencode(folder) in words and alive(int(entry.name)):
                    found.append(int(entry.name))
    return found


class House:
    """Where sessions live; nothing of it outlives its end."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, state: Path | None = None) -> None:
        self.folder, self.state, self.work = folder, state or folder / "state", folder / "work"
        self.work.mkdir()
        self.socket = folder / "t.sock"
        for name in ("TMUX", "TMUX_TMPDIR", "STALLKIT_SESSION", "NO_COLOR", "COLUMNS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("STALLKIT_STATE_DIR", str(self.state))
        monkeypatch.setenv("HOME", str(folder))  # no configuration of the user's
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
        monkeypatch.setenv("LC_ALL", "C.UTF-8")
        self.environment = {"STALLKIT_STATE_DIR": str(self.state), "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        self._register: Register | None = None

    # --- through the library ---

    @property
    def register(self) -> Register:
        if self._register is None:
            self._register = Register(self.state / "sessions.db")
        return self._register

    def session(self, name: str, *command: str, **more: Any) -> Session:
        given = {"directory": str(self.work), "tmux_socket_path": str(self.socket), **more}
        made = {"id": secrets.token_hex(6), "started_at": time.time(), "boot": boot_id()}
        return Session(name=name, command=command or ("cat",), **made, **given)

    def start(self, name: str, *command: str, replace: bool = False, **more: Any) -> Session:
        return start(self.register, self.session(name, *command, **more), (80, 24), replace)

    def end_of(self, name: str) -> ExitRecord:
        """How it ended, as soon as that is known."""
        found: list[ExitRecord] = []

        def ended() -> bool:
            finalize_now(self.register)
            latest = self.register.latest(name)
            found.extend([latest] if isinstance(latest, ExitRecord) else [])
            return bool(found)

        wait_for(ended, f"the end of {name}")
        return found[-1]

    # --- through the command ---

    def call(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.command, *words],
            env={**os.environ, **self.environment, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def child(self, code: str, **words: str) -> int:
        """The exit code of another Python that runs this, with our folders in place of its fields."""
        folders = {"state": str(self.state), "work": str(self.work), "socket": str(self.socket)}
        done = subprocess.run(
            [sys.executable, "-c", code.format(**folders, **words)], capture_output=True, timeout=60, check=False
        )
        assert done.returncode != 1, done.stderr.decode()
        return done.returncode

    @property
    def command(self) -> str:
        return str(Path(sys.executable).parent / "stallkit")

    def begin(self, name: str, *words: str, given: tuple[str, ...] = ()) -> None:
        """`stallkit start`, which has to succeed; `given` are its options."""
        done = self.call("start", name, "-S", str(self.socket), "--cwd", str(self.work), *given, "--", *words)
        assert done.returncode == 0, done.stderr

    # --- what came of it ---

    def events(self, *names: str) -> list[dict[str, Any]]:
        """What the log in the state directory says, of these targets or of all."""
        return _lines(self.state / "events.jsonl", names)

    def own_events(self, *names: str) -> list[dict[str, Any]]:
        """The same, of the log in the sessions' own directory."""
        return _lines(self.work / ".stallkit" / "runtime.log", names)

    def final(self, name: str) -> dict[str, Any]:
        """The one event that ended the one session of that name, which both logs have."""
        [here] = [one for one in self.events(name) if one["event"] in FINAL]
        [there] = [one for one in self.own_events(name) if one["event"] in FINAL]
        assert here == there
        return here

    # --- who runs ---

    @property
    def monitors(self) -> list[int]:
        found = of_folder(MONITOR, self.state)
        parents = {pid: stat.parent for pid in found if (stat := stat_of(pid)) is not None}
        # A child that it is just starting has its command line until it has its own.
        return [pid for pid, parent in parents.items() if parent not in found]

    def kill_monitor(self) -> None:
        for pid in self.monitors:
            _kill(pid)
        wait_for(lambda: not self.monitors and not held(self.state), "the monitor's end")

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", str(self.socket), *words], capture_output=True, text=True, timeout=20, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def tmux_pid(self) -> int:
        return int(self.tmux("display-message", "-p", "#{pid}"))

    def kill_tmux(self) -> None:
        pid = self.tmux_pid
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid), "the end of tmux")

    def end(self) -> None:
        """Everything ends, by pid."""
        self.kill_monitor()
        for pid in of_folder(b"tmux", self.folder):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)
        with contextlib.suppress(AssertionError):
            for pid in map(int, self.tmux("list-panes", "-a", "-F", "#{pane_pid}").split()):
                if pid > 0:
                    _kill(pid)
            self.tmux("kill-server")
        for pid in of_folder(b"tmux", self.folder):
            _kill(pid)
        if self._register is not None:
            self._register.close()


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _lines(path: Path, names: tuple[str, ...]) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [one for one in found if not names or one["target"] in names]
