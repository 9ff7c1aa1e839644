"""What a program asks inside an agent's work, on a terminal of its own that the agent shows.  Pure."""

from __future__ import annotations

import re

from attrs import evolve

from stallkit.detect.signature import Certainty, State
from stallkit.evidence.retrying import MESSAGE, PERSON
from stallkit.judging.verdict import Verdict
from stallkit.terminal.screen import Screen

__all__ = ["asks_inside", "last_prompt", "may_ask_inside"]

# The end of a question or a label, or what may be answered: [y/N], (yes/no), (Y).
_PROMPT = re.compile(r"\w.*(?:[?:：？]|[\[(](?:[^\s\[\]()]{1,12}/[^\s\[\]()]{1,12}|\w)[\])])$")


def last_prompt(screen: Screen) -> str:
    """The lowest row below the last message that ends as a prompt does; "" for none.

    >>> last_prompt(Screen.from_text("✦ I do.\\n│ Shell ./ask.sh │\\n│ Install? [y/N] │\\n│ 0.0 KB         │\\n> "))
    'Install? [y/N]'
    """
    persons = 0
    for row in reversed(screen.text.split("\n")):
        said = row.strip(" │┃║|")
        persons += PERSON.match(row) is not None  # the lowest is the composer
        if persons > 1 or MESSAGE.match(row):
            break
        if _PROMPT.search(said):
            return said
    return ""


def may_ask_inside(verdict: Verdict) -> bool:
    """Whether an agent is there, and neither surely at rest nor at a dialog of its own."""
    rests = verdict.state in (State.IDLE, State.WAITING, State.QUOTA) and verdict.certainty is Certainty.SURE
    return bool(verdict.agents) and not rests


def asks_inside(verdict: Verdict, asks: str) -> Verdict:
    """The verdict of an agent in whose work a program asks: it works, whatever its screen looks like meanwhile."""
    working = verdict.but(f"inside its work {asks}", state=State.WORKING, certainty=Certainty.SURE, kind=None)
    return evolve(working, inside=asks, ended_turn=None)
