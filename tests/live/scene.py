"""One live scene: a real program, how it is driven where it is, and what is true of it then."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

from attrs import frozen

from stallkit import Kind, State

ROOT = Path(__file__).parent.parent.parent
CACHE = ROOT / ".cache"  # what scripts/test fetched: npm/, debs/ and programs/
_FETCHED = [CACHE / "debs" / part for part in ("usr/bin", "usr/sbin", "sbin")] + [CACHE / "programs" / "bin"]
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin", *map(str, _FETCHED)])

CHOICES = frozenset({Kind.CONFIRM, Kind.SELECT, Kind.MULTISELECT})  # a question with letters to choose from is either
TYPED = frozenset({Kind.TEXT, Kind.QUESTION, Kind.REPL_PROMPT})  # a line that a person makes up


@frozen
class Step:
    """Keys that a person presses, as tmux names them, and what the screen shows once they took effect."""

    keys: tuple[str, ...]
    shows: str


@frozen
class Scene:
    """A program in a state that whoever drives it there knows.

    `script` is what sh runs, in a folder of the scene's own; `shows` what its screen then shows, before the `steps`.
    `misses` and `unknown_misses` say why the verdict with the installed packs, or without any, is known to be wrong.
    """

    name: str
    script: str
    shows: str
    state: State
    kinds: frozenset[Kind] = frozenset()  # right answers to what is asked for; empty: not looked at
    steps: tuple[Step, ...] = ()
    size: tuple[int, int] = (80, 24)
    needs: tuple[str, ...] = ()  # programs, or paths below .cache
    secluded: bool = False  # it needs accounts and servers of its own (secluded.py)
    fake: bool = False  # it shows a prompt that nobody asks, or asks no longer
    why: str = ""  # that is its true state, where it is not plain
    misses: str = ""
    unknown_misses: str = ""
    wavers: str = ""  # why the verdict changes from look to look: it only must not be a sure and wrong one

    @property
    def missing(self) -> str | None:
        """What the scene needs and this machine lacks, or None."""
        for need in self.needs:
            if not (CACHE / need).exists() and not shutil.which(need, path=PATH):
                return f"{need} is not installed: scripts/test installs it"
        return "nobody here may make accounts that nobody else sees: root may" if self.secluded and not _may() else None


@functools.cache
def _may() -> bool:
    """Whether mounts that nobody else sees can be made: not without root, nor in every container."""
    trial = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/media"]
    return bool(shutil.which("unshare")) and subprocess.run(trial, check=False, capture_output=True).returncode == 0
