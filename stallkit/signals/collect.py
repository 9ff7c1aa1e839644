"""What the programs of a session say of themselves: the installed sources, asked for one look, and told at a start.

A process whose terminal has another group in the foreground is a job that was left behind: what it says is stale.  What
a start adds to a command, so that its program says more of itself, is the options of the program's source; the files
that they need are in one folder of the state directory, which goes with the session.

A program inside an agent's work may read a terminal by itself, as ssh does in a tool call.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from functools import cache
from pathlib import Path, PurePath
from typing import Sequence

from attrs import evolve, frozen

from stallkit import private
from stallkit.config import state_dir
from stallkit.distributions import entry_points
from stallkit.evidence.signal import Signal
from stallkit.evidence.snapshot import How, Snapshot
from stallkit.probes.readers import InnerReader, inner_readers
from stallkit.redact.redact import redact
from stallkit.signals.process_tree import processes_below
from stallkit.signals.source import SignalSource, Starter
from stallkit.terminal.marks import plain
from stallkit.terminal.screen import Screen
from stallkit.word_tables import Patterns

__all__ = [
    "AskedInside",
    "ENTRY_POINTS",
    "asked_inside",
    "command_with_signals",
    "installed_sources",
    "last_prompt",
    "prompt_line",
    "remove_files",
    "signals_below",
    "with_signals",
]

# --- the sources ---

ENTRY_POINTS = "stallkit.signals"


@cache
def installed_sources() -> Sequence[SignalSource]:
    """The sources of the installed distributions, by name; one that cannot be loaded is logged and left out."""
    found = []
    for entry in sorted(entry_points(ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            source = entry.load()
            if not isinstance(source, SignalSource):
                raise TypeError(f"{source!r} is no source of signals")
            found.append(source)
        except Exception as error:  # foreign code: whatever it raises is its own failure
            logging.getLogger(__name__).warning("signals: %s of %s is left out: %s", entry.name, entry.value, error)
    return tuple(found)


def with_signals(now: Snapshot, leader: int) -> Snapshot:
    """The look with the signals of its session, whose first process has the pid `leader`."""
    return evolve(now, signals=signals_below(leader)) if now.alive is not False else now


def signals_below(leader: int, sources: Sequence[SignalSource] | None = None) -> tuple[Signal, ...]:
    """The signals of a process and all that descend from it, each bound to the process that says it.

    Never raises: a source that fails is logged and left out.
    """
    sources = installed_sources() if sources is None else sources
    found: list[Signal] = []
    for publisher, held_up in processes_below(leader):
        asked = [source for source in sources if not source.programs.isdisjoint(publisher.names)]
        for source in asked:
            try:
                said = list(source.read(publisher, time.time()))
            except Exception as error:  # foreign code, and files of other programs
                logging.getLogger(__name__).warning("signals: %s of process %d: %s", source.name, publisher.pid, error)
                continue
            found += [_current(signal, held_up) for signal in said]
    return tuple(found)


def _current(signal: Signal, held_up: str | None) -> Signal:
    return evolve(signal, stale=held_up) if held_up and signal.stale is None else signal


# --- what a start adds ---


def command_with_signals(command: Sequence[str], id: str) -> list[str]:
    """The command for the start with this id; as it was if no installed source has options for it.

    Raises OSError if the files that the options need cannot be written.
    """
    program, folder = PurePath(command[0]).name if command else "", _folder(id)
    for source in installed_sources():
        if isinstance(source, Starter) and program in source.programs:
            private.folder(folder)
            try:
                words = source.start_with(command, folder)
            except OSError:
                raise
            except Exception as error:  # foreign code: whatever else it raises is its own failure
                logging.getLogger(__name__).warning("signals: %s starts nothing: %s", source.name, error)
                words = None
            if words is not None:
                return list(words)
            remove_files(id)
    return list(command)


def remove_files(id: str) -> None:
    """Remove the files of a start that has ended."""
    shutil.rmtree(_folder(id), ignore_errors=True)


def _folder(id: str) -> Path:
    return state_dir().absolute() / "hooks" / id


# --- inside a tool call ---

LENGTH = 1_000  # characters of a prompt that are kept
_of = Patterns("prompts")
# The end of a question or a label, or what may be answered: [y/N], (yes/no), (Y).
_PROMPT = re.compile(r"\w.*(?:[?:：？]|[\[(](?:[^\s\[\]()]{1,12}/[^\s\[\]()]{1,12}|\w)[\])])$")


@frozen
class AskedInside:
    """One program that waits for input inside the work of another one."""

    who: str
    pid: int
    inside: str  # the program in whose work it asks
    terminal: str  # the path of the one that it reads
    own: bool  # a terminal of its own, which `inside` holds; else the session's, which `inside` reads as well
    how: How
    prompt: str | None  # what stands at the cursor of the session's terminal, or last in what shows one of its own

    @property
    def asks_surely(self) -> bool:
        """Whether it is no launcher of the agent's own that keeps an eye on the same terminal."""
        return self.own or self.how == "read"

    @property
    def asks(self) -> str:
        """What it asks, in words for a person."""
        return f"{self.who} (pid {self.pid}) asks: {self.prompt}" if self.prompt else str(self)

    def __str__(self) -> str:
        place = f"{self.terminal}, which {self.inside} holds" if self.own else f"the terminal beside {self.inside}"
        words = f", at {self.prompt!r}" if self.prompt else ""
        return f"{self.who} (pid {self.pid}) waits in {self.how} on {place}{words}"


def asked_inside(snapshot: Snapshot) -> tuple[AskedInside, ...]:
    """Who reads a terminal inside the work of this session's program, beside it or below it; () where none is known.

    Keys for one that reads beside the program reach either of the two; one on a terminal of its own is answered by the
    program that holds it, or not at all.  It looks at every process of the machine: some ten milliseconds.
    """
    kernel = snapshot.kernel
    if kernel is None or kernel.pid is None or not snapshot.alive or snapshot.elsewhere:
        return ()

    screen = snapshot.screen

    def words(one: InnerReader) -> str | None:
        return prompt_line(last_prompt(screen) if one.below else screen.prompt_line.text) or None

    return tuple(
        AskedInside(one.name, one.pid, one.inside, one.terminal, one.below, one.how, words(one))
        for one in inner_readers(kernel.pid)
    )


def prompt_line(words: str) -> str:
    """A prompt as it is told: one line, without what is invisible, without secrets.

    >>> prompt_line("Password for 'https://me:hunter2secret@host.example': ")
    "Password for 'https://me:[redacted]@host.example':"
    """
    return redact(plain(" ".join(words.split())))[:LENGTH]


def last_prompt(screen: Screen) -> str:
    """The lowest row below the last message that ends as a prompt does; "" for none.

    >>> last_prompt(Screen.from_text("✦ I do.\\n│ Shell ./ask.sh │\\n│ Install? [y/N] │\\n│ 0.0 KB         │\\n> "))
    'Install? [y/N]'
    """
    persons = 0
    for row in reversed(screen.text.split("\n")):
        said = row.strip(" │┃║|")
        persons += _of.person.match(row) is not None  # the lowest is the composer
        if persons > 1 or _of.message.match(row):
            break
        if _PROMPT.search(said):
            return said
    return ""
