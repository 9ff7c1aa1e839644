"""A program under a watch: what it starts and opens, and what is left of that when it has ended."""

from __future__ import annotations

import os
import re
import secrets
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Sequence

from attrs import frozen

MARK = "LEFT_BEHIND"  # in the environment of each process that descends from what is watched
# In the watched process: threads and processes as they are started, and what is open at the end of the call.
_WATCH = """
import os, sys, threading, time
log = os.open(os.environ["LEFT_BEHIND_LOG"], os.O_WRONLY | os.O_APPEND)
def say(line, write=os.write):
    write(log, (line + "\\n").encode())
def hook(event, args):
    if event == "subprocess.Popen":
        words = [os.fsdecode(word) for word in args[1]]
        say("starts " + (words[words.index("-m") + 1] if "-m" in words[:4] else os.path.basename(words[0])))
    elif event in ("os.fork", "os.forkpty"):
        say("starts a copy of itself")
start = threading.Thread.start
def started(self):
    say("thread")
    start(self)
threading.Thread.start = started
def fds():
    return {fd for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)}
def watch(call):
    sys.addaudithook(hook)
    before = fds()
    kept, until = call(), time.monotonic() + 3
    while (fds() - before or threading.active_count() > 1) and time.monotonic() < until:
        time.sleep(0.05)
    for _ in fds() - before:
        say("keeps a descriptor")
    for _ in threading.enumerate()[1:]:
        say("keeps a thread")
    return kept
"""


@frozen
class Left:
    """What came of one call, in words, each of them once."""

    starts: frozenset[str]  # processes
    threads: int
    keeps: frozenset[str]  # open descriptors and threads, at the end of the call
    leaves: frozenset[str]  # processes, and files that are new or another, when the program has ended
    output: str


class Home:
    """A home directory and a folder for temporary files that nothing is in, for programs that are watched."""

    def __init__(self, folder: Path) -> None:
        self._mark, self._log = secrets.token_hex(8), folder / "log"
        self.roots = {"~": folder / "home", "$TMPDIR": folder / "tmp", "": folder / "tmux"}
        for path in self.roots.values():
            path.mkdir(parents=True)
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "STALLKIT_", "TMUX"))
        }
        paths = dict(zip(("HOME", "TMPDIR", "TMUX_TMPDIR"), map(str, self.roots.values()), strict=True))
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environ = {**clean, **paths, "PATH": path, MARK: self._mark, "LEFT_BEHIND_LOG": str(self._log)}

    def beside(self, *words: str) -> None:
        """A program that is not watched, such as tmux."""
        plain = {name: value for name, value in self.environ.items() if name != MARK}
        subprocess.run(words, check=True, env=plain, cwd=self.roots["~"], capture_output=True)

    def python(self, setup: str, call: str) -> Left:
        """What comes of an expression, after a set-up."""
        return self._watched([sys.executable, "-c", f"{_WATCH}\n{setup}\nkept = watch(lambda: {call})\n"])

    def command(self, words: Sequence[str]) -> Left:
        """What comes of a command of stallkit."""
        code = f"{_WATCH}\nfrom stallkit.cli.main import main\nsys.argv[0] = 'stallkit'\nsys.addaudithook(hook)\nmain()"
        return self._watched([sys.executable, "-c", code, *words])

    def _watched(self, words: Sequence[str]) -> Left:
        self._log.write_text("")
        files, alive = self._files(), set(self.alive())
        done = subprocess.run(
            words, env=self.environ, cwd=self.roots["~"], capture_output=True, text=True, timeout=60, check=False
        )
        assert "Traceback" not in done.stderr and "Usage:" not in done.stderr, done.stderr
        said = self._log.read_text().splitlines()
        starts = {line.removeprefix("starts ") for line in said if line.startswith("starts ")}
        keeps = {line.removeprefix("keeps ") for line in said if line.startswith("keeps ")}
        lives = set(map(_named, set(self.alive()) - alive)) - {""}
        leaves = frozenset({_short(name) for name, _ in self._files() - files} | lives)
        return Left(frozenset(starts), said.count("thread"), frozenset(keeps), leaves, done.stdout + done.stderr)

    def _files(self) -> set[tuple[str, object]]:
        """Each file with what is another when it was written again."""
        found: set[tuple[str, object]] = set()
        for name, root in self.roots.items():
            for path in root.rglob("*"):
                with suppress(FileNotFoundError):
                    status = path.lstat()
                    if not stat.S_ISDIR(status.st_mode):
                        found.add(
                            (f"{name}/{path.relative_to(root)}".lstrip("/"), (status.st_size, status.st_mtime_ns))
                        )
        return found

    def alive(self) -> list[int]:
        """The processes that are left of what was watched."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if f"{MARK}={self._mark}".encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def close(self) -> None:
        """End what is left."""
        for pid in self.alive():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _short(name: str) -> str:
    """A path as the page writes it: S is the state directory, C the cache directory, a database one file."""
    name = name.replace("~/.local/state/stallkit/", "S/").replace("~/.cache/stallkit/", "C/")
    name = re.sub(r"(\.db)(?:-shm|-wal|\.outbox)$", r"\1", name)
    return re.sub(r"[0-9a-f]{32}|(?<=/)r[0-9a-f]{6}(?=/)|(?<=tmux-)\d+", "*", name)


def _named(pid: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        return words[words.index("-m") + 1] if "-m" in words[:4] else Path(words[0]).name
    return ""
