"""What one look at a session found, as a value: `Snapshot`."""

from __future__ import annotations

from attrs import evolve, frozen

from stallkit.evidence.facts import KernelFacts, TtyFacts
from stallkit.evidence.signal import Signal
from stallkit.short_repr import short_repr
from stallkit.terminal.marks import Marks
from stallkit.terminal.screen import Screen

__all__ = ["ProcessFacts", "Snapshot"]


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
