"""A program inside an agent's work that reads a terminal by itself, as ssh does in a tool call."""

from __future__ import annotations

import re

from attrs import frozen

from stallkit.evidence.facts import How
from stallkit.evidence.snapshot import Snapshot
from stallkit.probes.readers import InnerReader, inner_readers
from stallkit.redact.redact import redact
from stallkit.terminal.marks import plain
from stallkit.terminal.screen import Screen
from stallkit.word_tables import Patterns

__all__ = ["AskedInside", "asked_inside", "last_prompt", "prompt_line"]

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
