"""What one look at a session found, as values: `Snapshot`, and the facts of the kernel in it.

None is unknown, and unknown is never no.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, Mapping

from attrs import evolve, field, frozen

from stallkit.evidence.signal import Signal
from stallkit.short_repr import short_repr
from stallkit.terminal.marks import Marks
from stallkit.terminal.screen import Screen
from stallkit.word_tables import MULTI_CALL

# --- what the kernel knows ---

How = Literal["read", "poll", "select", "epoll"]
Source = Literal["syscall", "wchan"]

KEYS_ALONE_S = 5.0  # within which a program would go on by itself after a key that it took


@frozen
class TtyFacts:
    """How a terminal takes input."""

    echo: bool | None = None  # what is typed is shown
    canonical: bool | None = None  # a program gets whole lines, edited by the kernel; off: single keys
    blocks: bool | None = None  # a read has no limit of time: it takes lines, or VMIN is above 0 and VTIME 0
    unread: int | None = None  # bytes typed that no program has read yet; in canonical mode those of whole lines only


@frozen
class Member:
    """One process of a terminal; (pid, started) is one process, a pid alone is not.

    A program may set `name` and `called` as it likes, but not `image`.
    """

    pid: int
    name: str  # the kernel's, 15 bytes at most
    state: str  # as /proc and ps give it: R, S, D, T, Z, ...
    started: int | None = None  # clock ticks since boot
    threads: int | None = None
    called: str | None = None  # its command's first word, as tmux gives it
    image: str | None = None  # the file name of its executable
    execed: str | None = None  # differs after each exec of the same process
    # Of a shell or an interpreter: it has no script, and takes commands from whoever types; None: it may.
    interactive: bool | None = None
    script: str | None = None  # of an interpreter: the file name of the program that it runs, without its suffix
    # The file of the program that it runs, links followed; of an interpreter or a shell its script's.  A program may
    # call itself what it likes: this alone proves which one it is.  None where it cannot be read.
    path: str | None = field(default=None, eq=False)
    cwd: str | None = field(default=None, eq=False)  # its working directory
    parent: int | None = field(default=None, eq=False)  # its pid
    began: float | None = field(default=None, eq=False)  # seconds of the wall clock, by the clock at this look

    @property
    def names(self) -> frozenset[str]:
        """The names by which the program may be known, without versions."""
        return names_of(self.name, self.called, self.image)

    def is_still(self, before: Member) -> bool:
        """Whether it is the process that was seen before, still with the same program in it."""
        if (self.pid, self.started) != (before.pid, before.started):
            return False
        if self.execed is None or before.execed is None:
            return self.name == before.name
        return self.execed == before.execed

    @property
    def stopped(self) -> bool:
        """Whether job control or a debugger holds it."""
        return self.state in ("T", "t")

    @property
    def ended(self) -> bool:
        """Whether it is a zombie; threads of it may outlive its first one."""
        return self.state in ("Z", "X") and (self.threads or 1) <= 1


@frozen
class Standstill:
    """All of a job stands: a thread of it blocks in a read of its terminal, the others wait for it or for each other.

    None of them can go on before somebody types, as far as the kernel tells: none but a shell catches SIGALRM, and what
    `read -t` of a shell waits for is not seen.
    `switches` are how often each thread was on a CPU; `lasts_s` is for how long none was.
    """

    switches: Mapping[int, int]
    lasts_s: float = 0.0

    def after(self, before: Standstill | None, seconds: float) -> Standstill:
        """It as a look finds it `seconds` after the one before it.

        >>> Standstill({7: 40}).after(Standstill({7: 40}, 1.5), 1.0).lasts_s
        2.5
        >>> Standstill({7: 42}).after(Standstill({7: 40}, 1.5), 1.0).lasts_s
        0.0
        """
        if before is None or before.switches != self.switches:
            return Standstill(self.switches)
        return Standstill(self.switches, before.lasts_s + seconds)


@frozen
class KernelFacts:
    """One look at the processes in a terminal's foreground.

    `listening`: a thread waits for the terminal's input, in read, or in poll, select or epoll on a set with the
    terminal in it.  False only if every thread was seen to do something else at that moment, and no relay is among
    them; a thread that polls in intervals is seen at work now and then.
    """

    pid: int | None = None  # of the session's own first process
    started: int | None = None  # when that process started, in clock ticks since boot
    group: int | None = None  # the foreground process group
    foreground: str | None = None  # the name of the group's leader, as tmux gives it
    members: tuple[Member, ...] = ()  # the leader first
    below: tuple[Member, ...] = ()  # what `STARTERS` among them started outside the group
    complete: bool = False  # none of all these is hidden; what is behind a relay to elsewhere is not among them
    listening: bool | None = None
    how: How | None = None  # read takes precedence over the others
    source: Source | None = None  # wchan: how a thread waits was seen, and on what by what it has open
    readers: tuple[Member, ...] | None = None  # the members that wait for input; None: not all of them are known
    running: int | None = None  # threads on a CPU or ready for one
    stopped: bool | None = None  # every process of the group is
    relay: str | None = None  # a program that shows another terminal's content; None: none is known
    through: str | None = None  # the relay whose inner terminal all of this is about ...
    terminal: str | None = None  # ... and that terminal's path
    output: str | None = None  # what takes the output of what reads, where the terminal does not show it
    writers: tuple[int, ...] | None = None  # the pids of those that can write to the terminal; None: unknown
    reader: str | None = None  # the process that listens, where it is outside the foreground
    # Nothing but a key has what reads go on within `KEYS_ALONE_S`; asked for only where keys are read one by one.
    keys_alone: bool | None = None
    # Other jobs of the terminal, running or stopped; asked for only where a shell reads, or keys are read one by one.
    background: tuple[Member, ...] | None = None
    first_seen: tuple[Member, ...] | None = None  # who was in the foreground at the first look that showed this screen
    standstill: Standstill | None = field(default=None, eq=False)  # asked for only where reads wait without limit
    looked_at: int = 0  # threads looked at; one look has a limit
    threads: int | None = None  # how many there were


@lru_cache(maxsize=4096)
def names_of(name: str, called: str | None, image: str | None) -> frozenset[str]:
    """The names by which a program may be known, each also without its version."""
    image = None if image in MULTI_CALL and called else image
    return frozenset(part for word in (name, called, image) if word for part in (word, plain(word)))


def plain(name: str) -> str:
    """A program's name without its version or variant: python3.11 is python, vim.basic is vim."""
    return name.partition(".")[0].rstrip("0123456789") or name


def listens(kernel: KernelFacts, tty: TtyFacts) -> bool | None:
    """Whether the foreground waits for a key: it reads, or it polls while canonical mode is off.

    Unknown where it polls in canonical mode, since some programs keep watching the terminal while they work; and behind
    a relay, which always reads its terminal while that is raw (in canonical mode the relay itself asks).
    """
    if kernel.relay and tty.canonical is not True:
        return None
    if kernel.listening and kernel.how != "read":
        return True if tty.canonical is False else None
    return kernel.listening


# --- one look ---


@frozen
class ProcessFacts:
    """What is known of the process in the terminal's foreground; None is unknown.

    >>> ProcessFacts("vim", 4711).foreground
    'vim'
    """

    foreground: str | None = None
    pid: int | None = None  # of the session's own first process


@frozen
class Snapshot:
    """One look at one session: the screen and what else is known; None is unknown.

    >>> from stallkit import MemoryTransport
    >>> MemoryTransport("Proceed? [y/N] ").capture().screen.text
    'Proceed? [y/N]'
    """

    screen: Screen
    taken_at: float | None = None  # seconds of a monotonic clock
    alive: bool | None = None
    exit_status: int | None = None
    process: ProcessFacts | None = None
    kernel: KernelFacts | None = None
    tty: TtyFacts | None = None
    marks: Marks | None = None
    signals: tuple[Signal, ...] = ()  # what its programs say of themselves outside its output, read with this look
    quiet_s: float | None = None  # since the screen last changed; 0: it is changing
    printed_at: float | None = None  # when something was last printed, at the latest: seconds of the wall clock
    accepts_keys: bool | None = None
    elsewhere: bool = False  # its processes are another machine's: here their numbers mean nothing
    sealed: bool = False  # no key may go in, whoever presses it: only replies to its own notices
    pressed_at: float | None = None  # when stallkit last pressed a key at this same screen, on the clock of `taken_at`
    started_in: str | None = None  # the folder that an operator started the session's program in, and so trusts
    target: str = ""
    identity: str = ""  # differs when the same name means another session

    __repr__ = short_repr("target", "screen", "alive", "exit_status")

    def below(self, row: int) -> Snapshot:
        """It with the rows of its screen from one on."""
        return evolve(self, screen=self.screen.below(row)) if row else self

    @property
    def foreground(self) -> str | None:
        """The name of the foreground process, from the transport or else from the kernel; or None.

        Where the look went through a relay, it is the program on the inner terminal.
        """
        named = self.process.foreground if self.process else None
        known = self.kernel.foreground if self.kernel else None
        return known if self.kernel and self.kernel.through else named or known
