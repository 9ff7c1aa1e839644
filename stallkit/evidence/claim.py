"""What one source says of a session: a claim, as a value; and who knows a screen by its form, the classifier.

A distribution adds a classifier by ``[project.entry-points."stallkit.classifiers"]``, ``NAME = "module:FUNCTION"``.
One counts: if several are installed, the first by the names of their distributions.  Without one, nothing is claimed
by form.
"""

from __future__ import annotations

import logging
from enum import IntEnum, StrEnum
from functools import cache
from typing import Any, Iterator, Protocol

from attrs import evolve, fields, frozen

from stallkit.detect.engine import Detection, Match
from stallkit.detect.signature import Certainty, Kind, State
from stallkit.distributions import EntryPoint, entry_points
from stallkit.evidence.look import Look


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

    @property
    def word(self) -> str:
        """It in words."""
        return self.name.lower().replace("_", " ")


class Sign(StrEnum):
    """What a source has seen, in words that follow "claims that"."""

    PROMPT = "a prompt stands on one line"
    DIALOG = "a whole dialog stands there"
    MENU = "a menu stands there, as a person opens one"
    SHELL_LIKE = "what looks like a shell's prompt stands there, of a program that is none"
    OTHER = "a signature of rest, work, a limit or an end matches"
    DRAWN = "a program draws the whole screen"
    EMPTY = "the screen is empty"
    UNDECIDED = "a signature could not be decided"
    CHANGES = "the screen changes"
    ASKS_NOTHING = "a program is in front that asks nothing"
    PAGER = "a pager is in front"
    RUNS = "a program is in front"
    STOPPED = "the job is stopped"
    SECRET = "something reads with echo off"
    READS = "something reads, and the screen rests"
    READS_ONCE = "something reads, and whether the screen rests is unknown"
    READS_MOVING = "something reads, and the screen changes"
    LINE_EDITOR = "a shell's line editor reads"
    COMPUTES = "something reads, and something else of it computes"
    NOBODY_READS = "nothing reads"
    NOBODY_READS_KEYS = "nothing of it reads single keys"
    NOBODY_MOVES = "nothing of it reads single keys or computes"
    NOBODY_SEEN = "nothing that is seen reads, and what is typed is hidden"
    HIDDEN = "what is typed is hidden"
    BLOCKS = "a read blocks, and nothing else can go on"
    OUTLIVED = "an agent ended, and what started it lives on"
    PICTURE = "the screen of an agent stands there, and none of its programs"
    RUNNING = "the shell runs a command"
    AWAITS = "the shell awaits a command"
    BAR = "a progress bar runs"
    SAYS = "the program says so"
    RESTS = "the program says that it rests, and knows no menus"
    LOOKS = "screens of this form are of another state"
    DOUBTS = "screens of this form are rarely so"


# What signs have in common: a signature matched; something reads, at rest as far as is known; nothing does.
MATCHED = (Sign.PROMPT, Sign.DIALOG, Sign.MENU, Sign.SHELL_LIKE, Sign.OTHER)
READS = (Sign.READS, Sign.READS_ONCE, Sign.LINE_EDITOR, Sign.COMPUTES)
NOBODY = (Sign.NOBODY_READS, Sign.NOBODY_READS_KEYS, Sign.NOBODY_MOVES, Sign.NOBODY_SEEN)


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

    def by(self, source: Source) -> Claim | None:
        """The claim of a source."""
        claim: Claim | None = getattr(self, source)
        return claim

    def __iter__(self) -> Iterator[Claim]:
        return (claim for one in fields(Claims) if (claim := getattr(self, one.name)) is not None)

    def without(self, source: Source) -> Claims:
        """The claims of all other sources."""
        return evolve(self, **{str(source): None})


# --- the classifier ---

ENTRY_POINTS = "stallkit.classifiers"

_log = logging.getLogger(__name__)


@frozen
class Shown:
    """What screen, motion, foreground and kernel come to on a look, without all else."""

    state: State
    certainty: Certainty
    kind: Kind | None
    detection: Detection

    @property
    def match(self) -> Match | None:
        """The signature that matched."""
        return self.detection.match


class Classifier(Protocol):
    """Tells by the form of a screen what no signature of its own program knows."""

    def __call__(self, look: Look, shown: Shown, /) -> Claim | None:
        """Another state than the one so far, a doubt about it, or nothing; in a millisecond or so.

        `shown` is what screen, motion, foreground and kernel come to.  The claim is a guess of `Source.FORM`, with
        `Sign.LOOKS` or `Sign.DOUBTS`; no key follows from it.
        """


def _says_nothing(look: Look, shown: Shown, /) -> Claim | None:
    return None


SILENT: Classifier = _says_nothing


@frozen
class InstalledClassifier:
    """A distribution's classifier.  Where it fails, or claims what no form can tell, that is logged and left out."""

    of: EntryPoint
    classify: Classifier

    def __str__(self) -> str:
        """The distribution and its version."""
        return f"{self.of.distribution} {self.of.version}"

    def __call__(self, look: Look, shown: Shown, /) -> Claim | None:
        """What it claims."""
        try:
            claim = self.classify(look, shown)
            if claim is not None and not _is_of_form(claim):
                raise ValueError(f"no form tells {claim}")
        except Exception as error:  # foreign code: whatever it raises is its own failure
            _log.warning("classifier %s: %s: %s", self.of.name, type(error).__name__, error)
            return None
        return claim


def _is_of_form(claim: Claim) -> bool:
    guess = claim.source is Source.FORM and claim.weight is Weight.GUESS and not claim.keys
    return guess and claim.sign in (Sign.LOOKS, Sign.DOUBTS)


@cache
def installed_classifier() -> InstalledClassifier | None:
    """The first that loads; what does not load, and what comes after it, is logged and left out."""
    found: InstalledClassifier | None = None
    for entry in entry_points(ENTRY_POINTS):
        if found is not None:
            _log.warning("classifier %s of %s is left out: %s is asked", entry.name, entry.distribution, found)
            continue
        try:
            found = InstalledClassifier(entry, _function(entry.load()))
        except Exception as error:
            _log.warning("classifier %s of %s is left out: %s", entry.name, entry.distribution, error)
    return found


def _function(loaded: Any) -> Classifier:
    if not callable(loaded):
        raise TypeError(f"{loaded!r} is no function")
    classify: Classifier = loaded
    return classify
