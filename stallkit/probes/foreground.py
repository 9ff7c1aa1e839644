"""What the members of a terminal's foreground add up to."""

from __future__ import annotations

import os

from stallkit.core.facts import How, KernelFacts, Member
from stallkit.probes.procfs import DIRECTORY, GONE, PROC, ProcEntry, Stat
from stallkit.probes.threads import Seen, Threads

__all__ = ["Census"]

THREADS = 256  # looked at in one probe: each costs some ten microseconds
_RANK: tuple[How, ...] = ("read", "select", "poll", "epoll")


class Census:
    """The members of one group, added one by one, and the sum of them."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._members: list[Member] = []
        self._seen: list[Seen] = []
        self._foreground: str | None = None
        self._relay: str | None = None
        self._missed = False  # a process could not be looked at

    def add(self, pid: int, group: int) -> None:
        """Look at one process, which may have ended by now."""
        try:
            at = os.open(f"{PROC}/{pid}", DIRECTORY)  # holds on to the process: a later one of its number is not it
        except OSError as error:
            self._missed = self._missed or not isinstance(error, GONE)
            return
        try:
            process = ProcEntry(at)
            status = Stat.parse(process.read("stat"))
            if status.group != group:
                return
            written = process.written()
            member = Member(pid, status.name, status.state, status.started, status.threads, status.cpu_s, written)
            self._members.append(member)
            name = status.name
            if self._foreground is None:
                name = self._foreground = process.name() or status.name
            if not member.ended and self._relay is None:
                self._relay = process.relay(name, status.name)
            if not member.ended and not member.stopped:
                self._look(process, str(pid) if status.state == "Z" else None)
        except (OSError, ValueError, IndexError) as error:
            self._missed = self._missed or not isinstance(error, GONE)
        finally:
            os.close(at)

    def _look(self, process: ProcEntry, ended: str | None) -> None:
        threads = Threads(process, self._device)
        for thread in process.threads():
            if len(self._seen) >= THREADS:
                self._missed = True
                return
            seen = None if thread == ended else threads.look(thread, outlived=ended is not None)
            if seen is not None:
                self._seen.append(seen)

    def facts(self, pid: int, started: int | None, group: int, *, everybody: bool) -> KernelFacts:
        if not self._members:
            return KernelFacts(pid=pid, started=started, group=group)
        waiting = [one for one in self._seen if one.listening]
        # What was seen beats what was inferred, and who reads beats who watches.
        best = min(waiting, key=lambda one: (one.source, _RANK.index(one.how or "epoll")), default=None)
        # A client of tmux or screen hands its terminal to a server, which reads it from elsewhere.
        whole = everybody and not self._missed and self._relay is None
        nobody = whole and all(one.listening is False for one in self._seen)
        counted = all(one.running is not None for one in self._seen) and not self._missed
        alive = [member for member in self._members if not member.ended]
        return KernelFacts(
            pid=pid,
            started=started,
            group=group,
            foreground=self._foreground,
            members=tuple(self._members),
            listening=True if best else False if nobody else None,
            how=best.how if best else None,
            source=best.source if best else max((one.source for one in self._seen), default=None),
            running=sum(bool(one.running) for one in self._seen) if counted else None,
            stopped=all(member.stopped for member in alive) if alive else None,
            relay=self._relay,
            looked_at=len(self._seen),
            threads=sum(member.threads or 0 for member in self._members),
        )
