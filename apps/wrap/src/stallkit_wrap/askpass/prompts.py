"""Prompts of git, ssh, sudo and package managers inside other programs' work, reported while they wait.

Each is a file of its own in a directory that only its owner can read.  It is bound to the process that waits, by its
pid and start: what a crash leaves is not listed, and the next report sweeps it.  No answer is ever in it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from attrs import evolve, frozen

from stallkit import private
from stallkit.config import state_dir
from stallkit.jsonio import VERSION, load, unstructure
from stallkit.probes.procfs import Process, ancestors, boot_id
from stallkit.signals.collect import prompt_line

LIMIT = 64_000  # bytes of a report that are read
# The process that waits; a socket is the asking one's.
_NAME = re.compile(r"(\d{1,9})-(\d{1,18})\.(?:json|sock)", re.ASCII)


@frozen
class AskedPrompt:
    """One prompt that waits for its answer."""

    who: str  # the program that asks: git, ssh, sudo, dpkg
    pid: int  # its process
    prompt: str  # its words on one line, disarmed and redacted
    kind: str  # secret, confirm or text
    since: float  # seconds of the wall clock
    directory: str  # where that process works
    waits: int  # the process that waits for the answer, and is gone when it has it ...
    waits_started: int  # ... and its start, in clock ticks since boot
    boot: str  # which start of the machine this is
    place: str | None = None  # terminal or pop-up, once it is asked there; None: not yet, or by the program itself
    session: str = ""  # the id of the session that stallkit started, if it did

    @property
    def alive(self) -> bool:
        """Whether the process that waits still runs."""
        return self.boot == boot_id() and Process(self.waits, self.waits_started).alive()


def askpass_dir() -> Path:
    """The directory of the askpass program and its reports."""
    return state_dir() / "askpass"


def prompts(below: int | None = None, folder: Path | None = None) -> list[AskedPrompt]:
    """The prompts that wait now, the oldest first; those of a process and of all below it where `below` is its pid.

    `folder` is the directory of the reports, by default this user's.  Nothing is raised: a report that cannot be read
    is none.

    >>> prompts(below=1, folder=Path("/nowhere"))
    []
    """
    asked = AskedPrompts(folder)
    return asked.all if below is None else asked.below(below)


class AskedPrompts:
    """The prompts that wait, read once, at the first question: for looks at many sessions at one moment.

    `folder` as for `prompts`.

    >>> AskedPrompts(Path("/nowhere")).below(1)
    []
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @cached_property
    def all(self) -> list[AskedPrompt]:
        """All of them, the oldest first."""
        found: list[AskedPrompt] = []
        with suppress(OSError):
            for file in (self._folder or askpass_dir()).glob("[!.]*.json"):
                asked = _read(file)
                found += [asked] if asked is not None and asked.alive else []
        return sorted(found, key=lambda prompt: prompt.since)

    def below(self, pid: int) -> list[AskedPrompt]:
        """Those of a process and of all below it."""
        return [one for one in self.all if pid in (one.waits, *(above for above, _ in ancestors(one.waits)))]


def publish(folder: Path, prompt: AskedPrompt) -> None:
    """Report a prompt, or report it again; sweeps what ended processes left.  Raises OSError."""
    private.folder(folder)
    for file in folder.iterdir():
        left = _NAME.fullmatch(file.name)
        if left is not None and not Process(int(left[1]), int(left[2])).alive():
            file.unlink(missing_ok=True)
    write_whole(_file(folder, prompt), json.dumps({"version": VERSION, **unstructure(prompt)}).encode())


def write_whole(file: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file whole or not at all: another process may be reading the one that is there.  Raises OSError."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
            os.fchmod(handle, mode)
        Path(temporary).replace(file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def withdraw(folder: Path, prompt: AskedPrompt) -> None:
    """Take a report back: it was answered, or given up.  Never raises for a file that cannot be removed."""
    with suppress(OSError):
        _file(folder, prompt).unlink(missing_ok=True)


def file_of(folder: Path, process: Process, suffix: str) -> Path:
    """A file of a process that waits, json or sock, which is swept once that process is gone."""
    return folder / f"{process.pid}-{process.started}.{suffix}"


def _file(folder: Path, prompt: AskedPrompt) -> Path:
    return file_of(folder, Process(prompt.waits, prompt.waits_started), "json")


def _read(file: Path) -> AskedPrompt | None:
    try:
        handle = private.opened(file, os.O_RDONLY)
        with os.fdopen(handle, "rb") as opened:
            asked = load(AskedPrompt, json.loads(opened.read(LIMIT)))
    except (OSError, ValueError):
        return None
    return evolve(asked, who=prompt_line(asked.who), prompt=prompt_line(asked.prompt))
