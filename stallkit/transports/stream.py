"""A session whose output somebody else reads: bytes are pushed in, keys go out through the caller's own function."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from pathlib import Path
from typing import Callable

from attrs import evolve, frozen

from stallkit.detect.engine import Engine
from stallkit.errors import KeysRefused, SessionGone, TransportError, bad_argument
from stallkit.evidence.snapshot import KernelFacts, Member, ProcessFacts, Snapshot, TtyFacts
from stallkit.jsonio import load
from stallkit.judging.judge import judged
from stallkit.judging.verdict import Verdict
from stallkit.packs.registry import installed_engine
from stallkit.probes.activity import Stillness
from stallkit.probes.foreground_job import at_rest
from stallkit.probes.procfs import PROC, stat_of
from stallkit.probes.threads import standstill
from stallkit.signals.collect import with_signals
from stallkit.terminal.keys import Keys
from stallkit.terminal.marks import MarksReader
from stallkit.transports.base import Closing
from stallkit.transports.emulator import Emulator, GhosttyEmulator, checked_size
from stallkit.transports.pty import refuse_if_changed


@frozen
class TerminalReport:
    """Who is in a terminal's foreground, what they wait for, and how the terminal takes input, at one moment.

    `taken_at` are seconds of a monotonic clock of the machine that reports, only for its distance to another report;
    `wall_at` of its wall clock.
    """

    pid: int  # the process that was asked about
    taken_at: float
    wall_at: float
    kernel: KernelFacts
    tty: TtyFacts

    def by_clock_of(self, now: float) -> TerminalReport:
        """It with the starts of processes by another machine's wall clock, which shows `now` as the report comes.

        What took time on the way makes them later, never earlier: a process is then doubted, not trusted.
        """
        known, late = self.kernel, now - self.wall_at

        def by(members: tuple[Member, ...] | None) -> tuple[Member, ...] | None:
            if members is None:
                return None
            return tuple(one if one.began is None else evolve(one, began=one.began + late) for one in members)

        kernel = evolve(known, members=by(known.members) or (), readers=by(known.readers))
        return evolve(self, kernel=kernel, wall_at=now)

    def after(self, before: TerminalReport | None) -> TerminalReport:
        """It, with what only several reports about one resting screen know: since when it stands, who was there."""
        stands, known = self.kernel.standstill, self.kernel.members
        if before is not None and before.pid == self.pid and before.taken_at <= self.taken_at:
            passed, stood = self.taken_at - before.taken_at, before.kernel.standstill
            stands = stands and stands.after(stood, passed)
            known = before.kernel.first_seen or known
        return evolve(self, kernel=evolve(self.kernel, standstill=stands, first_seen=known))


def report(pid: int) -> TerminalReport:
    """The facts on the terminal of a process.  Raises ValueError if there is no such process, or it has no terminal.

    Takes about a millisecond of CPU, and what it cannot read is unknown: ask as the process's own user, or as root.
    """
    terminal, leader = _terminal_of(pid)
    kernel, settings = at_rest(terminal, leader)
    return TerminalReport(
        pid, time.monotonic(), time.time(), evolve(kernel, standstill=standstill(kernel, settings)), settings
    )


def _terminal_of(pid: int) -> tuple[str, int]:
    """A path by which its controlling terminal can be opened, and the first process of its session.

    In another mount of devpts the path leads through the process.
    """
    if not Path(PROC, "self/stat").exists():
        raise ValueError("the facts on another process's terminal are under /proc: this machine has none (Linux has)")
    found = stat_of(pid)
    if found is None:
        raise ValueError(f"there is no process {pid}: name one on the terminal, such as its shell's pid")
    if found.device == 0:
        raise ValueError(f"process {pid} ({found.name}) has no terminal: name one that was started on it")
    for path in (f"/dev/pts/{os.minor(found.device)}", *(f"{PROC}/{pid}/fd/{descriptor}" for descriptor in range(3))):
        try:
            status = Path(path).stat()
        except OSError:
            continue
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == found.device:
            first = stat_of(found.session)
            return path, found.session if first is not None and first.device == found.device else pid
    raise ValueError(f"the terminal of process {pid} ({found.name}) cannot be opened from here: run it as its user")


GAP_S = 0.3  # as between the two looks of a check: a line that has rested for so long was seen twice
FACTS_S = 5.0  # older facts count no more, even if nothing arrived since

_numbers = count(1)


class StreamTransport(Closing):
    """A terminal whose bytes the caller has: of a websocket, ``docker attach``, a recording, an SSH library.

    Give it the output as it comes with `feed`, cut anywhere.  `write` sends bytes to the program; without it nothing is
    ever pressed.  With `answers` the terminal's replies to the program's queries go there too, which is right only
    where no other terminal replies.  From the screen alone few verdicts are *sure*.  If the program runs on this
    machine, `pid` names it, or any process on its terminal, and each look asks the kernel; `facts` takes what another
    machine knows.  Any thread may call any method.

    >>> stream = StreamTransport()
    >>> stream.feed(b"Overwrite notes.txt? [y/N] ")
    >>> str(stream.verdict().state)
    'waiting'
    """

    def __init__(
        self,
        write: Callable[[bytes], object] | None = None,
        *,
        size: tuple[int, int] = (80, 24),
        name: str = "",
        pid: int | None = None,
        emulator: Emulator | None = None,
        answers: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`size` is the terminal's (columns, rows); `name` is for the target.

        Raises ValueError for an invalid size, and for a `pid` that no process has.
        """
        if write is not None and not callable(write):
            raise bad_argument("write is called with the bytes of each key", write, "give a function")
        self._pid, self._born = pid, None if pid is None else _start_of(pid)
        number = next(_numbers)
        self.target = f"stream:{name or number}"
        self._identity = f"stream/{number}"
        self._write, self._answers, self._clock = write, answers, clock
        self._emulator = emulator or GhosttyEmulator(*checked_size(size))
        self._marks, self._queries = MarksReader(), 0
        self._lock = threading.Lock()  # never held while `write` runs: it may wait for the thread that feeds
        self._moved_at = self._changed_at = clock()  # the latest byte in or out; the latest look at another screen
        self._printed_at: float | None = None
        self._report: TerminalReport | None = None
        self._asked_at = self._reported_at = float("-inf")
        self._before: Snapshot | None = None  # the latest look at another screen
        self._last: Snapshot | None = None
        self._ended = self._closed = False
        self._exit_status: int | None = None

    def feed(self, data: bytes) -> None:
        """Take what the program wrote.  Raises TypeError for text: bytes are needed, for a character may be cut."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise bad_argument(
                "feed takes the bytes as they came", data, "give data.encode()" if isinstance(data, str) else ""
            )
        if not data:
            return
        with self._lock:
            self._check_open()
            self._moved_at, self._printed_at = self._clock(), time.time()
            self._emulator.feed(bytes(data))
            self._marks.feed(bytes(data), self._moved_at)
            reply = self._reply()
        if reply and self._answers and self._write is not None:
            self._out(self._write, reply)

    def resize(self, columns: int, rows: int) -> None:
        """The remote terminal has another size now, in cells.  Raises ValueError for an invalid one."""
        with self._lock:
            self._check_open()
            self._emulator.resize(columns, rows)
            self._moved_at = self._clock()

    def facts(self, told: str | bytes, asked_at: float | None = None) -> None:
        """Take what ``stallkit explain --pid PID --json`` printed on the program's machine.

        Facts count only if no output came since they were asked for, for `FACTS_S` seconds, and until a key is
        pressed.  `asked_at`, of `time.monotonic`, is when the caller asked; by default it is when the report before
        this one came, so that the second of two counts.  An empty text, as of a program that ended while it was asked
        for, makes them unknown.  Raises ValueError for anything else than a report.
        """
        if isinstance(told, str | bytes) and not told.strip():
            with self._lock:
                self._report = None
            return
        try:
            report = load(TerminalReport, json.loads(told)).by_clock_of(time.time())
        except (ValueError, TypeError) as error:
            raise ValueError(f"not what `stallkit explain --pid PID --json` printed: {error}") from None
        with self._lock:
            self._check_open()
            self._take(report, self._reported_at if asked_at is None else asked_at)

    def _take(self, report: TerminalReport, asked: float) -> None:
        earlier = self._report if self._asked_at > self._moved_at else None
        self._report = report.after(earlier if asked > self._moved_at else None)
        self._asked_at, self._reported_at = asked, self._clock()

    def _ask(self, pid: int) -> None:
        """Take what the kernel of this machine knows, unless the number is another process's meanwhile."""
        asked, found = self._clock(), stat_of(pid)
        try:
            known = report(pid) if found is not None and found.started == self._born else None
        except ValueError:  # it has no terminal: not yet, or not any more
            known = None
        with self._lock:
            if known is None:
                self._report = None
            else:
                self._take(known, asked)

    def end(self, exit_status: int | None = None) -> None:
        """The program ended, or its connection did: its last screen stays, and no key is accepted any more."""
        with self._lock:
            self._ended, self._exit_status = True, exit_status
            self._marks.process_exited()

    def verdict(self, engine: Engine | None = None) -> Verdict:
        """What the session is doing, by all that came until now; at once, and nothing is pressed.

        A prompt on one line is sure from 0.3 s of rest on: ask again then.  `engine` is that of the installed packs.
        Raises TransportError if it was closed, PackError if no pack is installed.
        """
        now = self.capture()
        with self._lock:
            before = self._before
        quiet = now.quiet_s or 0.0
        if quiet:  # nothing came since: it was the same at the look before
            before = evolve(now, quiet_s=quiet - GAP_S, taken_at=(now.taken_at or 0.0) - GAP_S)
        return judged(installed_engine() if engine is None else engine, now, before)

    def capture(self) -> Snapshot:
        """The screen after all that was fed; of a program that ended, its last screen.

        With a `pid` it takes some milliseconds.
        """
        if self._pid is not None and not self._ended:
            self._ask(self._pid)
        with self._lock:
            self._check_open()
            at, alive, screen = self._clock(), not self._ended, self._emulator.screen()
            told = self._told(at) if alive else None
            if self._last is None or (screen.fingerprint, screen.size) != _shape(self._last):
                self._before, self._changed_at = self._last, self._moved_at
            rests = at - self._changed_at
            self._last = Snapshot(
                screen=screen,
                taken_at=at,
                alive=alive,
                exit_status=self._exit_status,
                process=ProcessFacts(told.kernel.foreground, self._pid) if told else None,
                kernel=told.kernel if told else None,
                tty=told.tty if told else None,
                marks=self._marks.marks,
                quiet_s=rests if rests >= GAP_S else 0.0,  # before that it may be half of what is being written
                printed_at=self._printed_at,
                elsewhere=self._pid is None,
                accepts_keys=alive and self._write is not None,
                target=self.target,
                identity=self._identity,
            )
            return self._last if self._pid is None else with_signals(self._last, self._pid)

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Give the keys to `write`, if what was fed until now is still the screen that was seen.

        What is on its way is not known here.  Raises KeysRefused, nothing written, if the screen changed or there is
        no `write`; SessionGone if the program ended; TransportError if `write` raises.
        """
        self.send_below(keys, seen, 0)

    def send_below(self, keys: Keys, seen: Snapshot, first: int) -> None:
        """The same, but what stands above a row of the screen may have changed since.  Raises as `send` does."""
        with self._lock:
            self._check_open()
            if self._ended:
                raise SessionGone(self.target, "its program ended", self._exit_status)
            if self._write is None:
                raise KeysRefused(self.target, "it was made without write=, so nothing can be typed into it")
            with self._still(seen) as still:
                refuse_if_changed(self.target, self._identity, self._emulator.screen(), seen, first)
                if seen.kernel is not None and self._told(self._clock()) is None:
                    raise KeysRefused(self.target, "the facts on its processes are out of date")
                if still is not None and (doubt := still.doubt()):
                    raise KeysRefused(self.target, doubt)
            data = keys.to_bytes(self._emulator.application_cursor)
            self._report = None  # the key changes what the program waits for
        try:
            self._out(self._write, data)
        finally:
            with self._lock:
                self._moved_at = self._clock()

    def _still(self, seen: Snapshot) -> AbstractContextManager[Stillness | None]:
        """The watch over a program of this machine while a key goes to it."""
        if self._pid is None or seen.kernel is None:
            return nullcontext()
        try:
            return Stillness(seen, _terminal_of(self._pid)[0])
        except ValueError as error:
            raise KeysRefused(self.target, str(error)) from error

    def close(self) -> None:
        """Take nothing more; the connection stays as it is."""
        with self._lock:
            self._closed = True

    def _told(self, at: float) -> TerminalReport | None:
        """The facts, if they are about the screen as it is."""
        fresh = self._asked_at > self._moved_at and at - self._reported_at <= FACTS_S
        return self._report if fresh else None

    def _reply(self) -> bytes:
        """What a terminal replies to what was fed; first that its status reports (OSC 7501) are understood."""
        marks, reply = self._marks.marks, self._emulator.replies()
        if marks.queries > self._queries:
            self._queries = marks.queries
            return marks.answer + reply
        return reply

    def _out(self, write: Callable[[bytes], object], data: bytes) -> None:
        try:
            write(data)
        except TransportError:
            raise
        except Exception as error:  # the caller's own function, over any library
            why = f"write failed, {type(error).__name__}: {error}"
            raise TransportError(self.target, why, "look again before you press") from error

    def _check_open(self) -> None:
        if self._closed:
            raise TransportError(self.target, "this transport was closed", "make another one")


def _start_of(pid: int) -> int | None:
    """When a process started.  Raises ValueError if no process has that number; None without a /proc."""
    found = stat_of(pid)
    if found is None and Path(PROC, "self/stat").exists():
        raise ValueError(f"there is no process {pid}: give the pid of the program, and only if it runs on this machine")
    return found.started if found else None


def _shape(look: Snapshot) -> tuple[object, object]:
    return look.screen.fingerprint, look.screen.size
