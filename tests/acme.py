"""A pack of one signature for each state, and a screen for each: what tests of the verdict judge."""

from __future__ import annotations

from stallkit.detect.agent import Agent, Process, Title
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.terminal.screen import Screen

ENGINE = Engine(
    [
        Pack(
            "acme",
            signatures=[
                Signature("asks", "", "waiting", [Clause("[y/N] ", where="prompt_line")], kind="confirm"),
                Signature("dialog", "", "waiting", ["Choose one", "> first"], kind="select"),
                Signature("busy", "", "working", ["Compiling"]),
                Signature("rests", "", "idle", ["Ask anything"]),
                Signature("shell", "", "ended", [Clause(pattern=r"\$ $", where="prompt_line")]),
            ],
            agents=[Agent("acme", Process(["acme"]), Title(working=["acme is busy"]))],
        )
    ]
)
SCREENS = {
    "nothing": "some text",
    "line": "Proceed? [y/N] ",
    "dialog": "Choose one\n> first\n  second",
    "busy": "Compiling",
    "idle": "Ask anything",
    "shell": "dev@box:~$ ",
}


def screen(shown: str) -> Screen:
    """One of the screens, the cursor behind its last line."""
    lines = SCREENS[shown].split("\n")
    return Screen.from_text(SCREENS[shown], cursor=(len(lines[-1]), len(lines) - 1))
