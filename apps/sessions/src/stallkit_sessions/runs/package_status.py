"""What dpkg and apt ask, by their status descriptor: which configuration file, changed by whom.

They write a line there when they ask, and another one when they go on.  The report ends with that.
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Callable, Sequence

from attrs import frozen
from stallkit_wrap.askpass.prompts import AskedPrompt, askpass_dir, publish, withdraw

from stallkit.probes.procfs import Process, boot_id
from stallkit.signals.collect import prompt_line

# dpkg: "status: /etc/x.conf : conffile-prompt : '/etc/x.conf' '/etc/x.conf.dpkg-new' 1 1"; apt hands the last part on,
# behind "pmconffile:/etc/x.conf:50.0000:".
_DPKG = re.compile(r"status: (?P<file>.*?) : conffile-prompt : (?P<rest>.*)")
_APT = re.compile(r"pmconffile:(?P<file>.*?):[\d.]+:(?P<rest>.*)")
_REST = re.compile(r"'(?P<old>.*)' '(?P<new>.*)' (?P<here>[01]) (?P<there>[01])\s*")


@frozen
class ConffilePrompt:
    """A configuration file that dpkg wants a decision on: the one that is there, or the package's."""

    file: str
    old: str
    new: str
    changed_here: bool
    changed_there: bool  # by the package, since the last version

    @classmethod
    def of(cls, line: str) -> ConffilePrompt | None:
        """The prompt that a line of the status descriptor tells of; None for all others.

        >>> ConffilePrompt.of("status: /etc/a : conffile-prompt : '/etc/a' '/etc/a.dpkg-new' 1 1").new
        '/etc/a.dpkg-new'
        """
        line = line.rstrip()
        found = _DPKG.fullmatch(line) or _APT.fullmatch(line)
        rest = _REST.fullmatch(found["rest"]) if found else None
        if found is None or rest is None:
            return None
        return cls(found["file"], rest["old"], rest["new"], rest["here"] == "1", rest["there"] == "1")

    def __str__(self) -> str:
        here = "changed here" if self.changed_here else "not changed here"
        there = "changed by its package" if self.changed_there else "not changed by its package"
        return f"configuration file {self.file!r} ({here}, {there}): {self.old!r}, or {self.new!r}?"


def with_status(command: Sequence[str], descriptor: int) -> list[str] | None:
    """The command of dpkg or apt that writes its status to this descriptor; None for every other one.

    >>> with_status(["apt-get", "install", "x"], 9)
    ['apt-get', '-o', 'APT::Status-Fd=9', 'install', 'x']
    """
    match Path(command[0]).name:
        case "apt" | "apt-get":
            option = ["-o", f"APT::Status-Fd={descriptor}"]
        case "dpkg":
            option = [f"--status-fd={descriptor}"]
        case _:
            return None
    return [command[0], *option, *command[1:]]


class PackageStatus:
    """Reports what dpkg or apt ask, from their start to their end; does nothing for another command.

    Start `command` with `descriptors` open in it, then call `begin`; if it does not start, `close`.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._folder = askpass_dir()
        self._open = [*os.pipe()]
        changed = with_status(command, self._open[1])
        self.command = list(command) if changed is None else changed
        self.descriptors = () if changed is None else (self._open[1],)
        if changed is None:
            self.close()

    def close(self) -> None:
        """The command did not start, or needs none of this."""
        while self._open:
            os.close(self._open.pop())

    def begin(self, pid: int, directory: str) -> None:
        """It runs, with this pid: read its lines in a thread until it ends."""
        if not self._open:
            return
        os.close(self._open.pop())
        reading = self._open.pop()
        process = Process.of(pid) or Process(pid, 0)

        def prompt_of(found: ConffilePrompt) -> AskedPrompt:
            return AskedPrompt(
                who=Path(self.command[0]).name,
                pid=pid,
                prompt=prompt_line(str(found)),
                kind="confirm",
                since=time.time(),
                directory=directory,
                waits=process.pid,
                waits_started=process.started,
                boot=boot_id(),
            )

        threading.Thread(target=self._read, args=(reading, prompt_of), name="package status", daemon=True).start()

    def _read(self, reading: int, prompt_of: Callable[[ConffilePrompt], AskedPrompt]) -> None:
        told: AskedPrompt | None = None
        with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if told is not None:  # it goes on
                    withdraw(self._folder, told)
                    told = None
                found = ConffilePrompt.of(line)
                if found is not None:
                    told = prompt_of(found)
                    with suppress(OSError):  # what cannot be reported is on the screen nevertheless
                        publish(self._folder, told)
        if told is not None:
            withdraw(self._folder, told)
