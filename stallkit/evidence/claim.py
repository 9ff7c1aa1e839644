"""What one source says of a session: a claim, as a value."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from attrs import frozen

from stallkit.core.signature import Kind, State

__all__ = ["Claim", "Claims", "Sign", "Source", "Weight"]


class Source(StrEnum):
    """Who claims it."""

    SCREEN = "screen"  # the signature that matched, or what the whole screen looks like
    MOTION = "motion"  # the looks before
    FOREGROUND = "foreground"  # which program is in front, by name
    KERNEL = "kernel"  # whether anything reads the terminal, and how
    READ = "read"  # a read that blocks while everything else stands
    LEFT = "left"  # what is left where an agent ended
    SHELL = "shell"  # the marks of a shell
    PROGRESS = "progress"  # a progress bar that the program reports
    SIGNAL = "signal"  # what the program says of itself
    FORM = "form"  # what screens of this form are, learnt from those of other programs


class Weight(IntEnum):
    """How much a claim weighs."""

    GUESS = 1
    SIGN = 2
    OWN_WORD = 3  # of the program itself
    PROOF = 4


class Sign(StrEnum):
    """What a source has seen; the rules of `judge.table` name them."""

    PROMPT = "a prompt on one line"
    DIALOG = "a whole dialog"
    SHELL_LIKE = "what looks like a shell's prompt, of a program that is none"
    OTHER = "a signature of another state"
    DRAWN = "a screen drawn by a program"
    EMPTY = "an empty screen"
    UNDECIDED = "a signature that could not be decided"
    CHANGES = "the screen changes"
    ASKS_NOTHING = "a program that asks nothing"
    PAGER = "a pager"
    RUNS = "a program"
    STOPPED = "a stopped job"
    SECRET = "a read with echo off"
    READS = "something reads"
    READS_MOVING = "something reads, and the screen changes"
    LINE_EDITOR = "a shell's line editor reads"
    COMPUTES = "something reads, and something computes"
    NOBODY_READS = "nothing reads"
    NOBODY_READS_RAW = "nothing of it reads single keys"
    NOBODY_SEEN = "nothing that is seen reads, and what is typed is hidden"
    HIDDEN = "what is typed is hidden"
    BLOCKS = "a read that blocks"
    OUTLIVED = "what started an agent outlived it"
    PICTURE = "the screen of an agent that is not there"
    RUNNING = "the shell runs a command"
    AWAITS = "the shell awaits a command"
    BAR = "a progress bar"
    SAYS = "the program says so"
    LOOKS = "its form"
    DOUBTS = "its form is rarely this"


@frozen
class Claim:
    """What one source says of a session.

    >>> Claim(Source.KERNEL, Sign.NOBODY_READS, State.WORKING, weight=Weight.SIGN).keys
    False
    """

    source: Source
    sign: Sign
    state: State
    kind: Kind | None = None
    weight: Weight = Weight.GUESS
    keys: bool = False  # a key may follow from it
    why: tuple[str, ...] = ()  # for a person: the words for it, which `judge.reasons` chooses from
    hidden: tuple[str, ...] = ()  # why its kind is a secret


@frozen
class Claims:
    """The claims on one look, one a source at most; None is a source that says nothing."""

    screen: Claim | None = None
    motion: Claim | None = None
    foreground: Claim | None = None
    kernel: Claim | None = None
    read: Claim | None = None
    left: Claim | None = None
    shell: Claim | None = None
    progress: Claim | None = None
    signal: Claim | None = None
    form: Claim | None = None
    rests: bool = False  # nothing moves
    shell_is_back: bool = False  # a shell's line editor reads where an agent was
    signal_opens: bool = False  # the signal is of a program that names no menu which a person opened
    screen_menu: bool = False  # the dialog is one that a person opens
