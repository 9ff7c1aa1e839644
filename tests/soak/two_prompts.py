"""A program that asks twice, in one of several forms: the second question is a grave one whose default is yes.

    python -I two_prompts.py FILE FORM

What each question got goes to FILE, a line each: ``first y``.
"""

from __future__ import annotations

import os
import sys
import termios
import time
import tty
from pathlib import Path
from typing import Callable

FIRST, SECOND = "Proceed? [y/N] ", "Delete the old volumes? [Y/n] "


def key(prompt: str, many: int = 1, echo: bool = True, mask: str = "") -> str:
    """So many single keys, as ``read -n1`` takes them; the terminal is as before afterwards."""
    say(prompt)
    before, got = termios.tcgetattr(0), ""
    tty.setcbreak(0)
    while len(got) < many:
        char = os.read(0, 1).decode()
        got += char
        if echo:
            say(mask or char)
    termios.tcsetattr(0, termios.TCSANOW, before)
    return got


def raw(prompt: str) -> str:
    """A line editor of its own, which ends a line at Enter."""
    say(prompt)
    before, got = termios.tcgetattr(0), ""
    tty.setcbreak(0)
    while (char := os.read(0, 1).decode()) not in "\r\n":
        got += char
        say(char)
    termios.tcsetattr(0, termios.TCSANOW, before)
    return got


def say(text: str) -> None:
    os.write(1, text.encode())


def waits(seconds: float) -> None:
    time.sleep(seconds)


FORMS: dict[str, Callable[[], str]] = {
    "one key": lambda: key(FIRST),
    "one key, not shown": lambda: key(FIRST, echo=False),
    "one key, masked": lambda: key(FIRST, mask="*"),
    "one key, then a new line": lambda: (key(FIRST), say("\n"))[0],
    "one key, then a pause": lambda: (key(FIRST), waits(0.15))[0],
    "one key, not shown, then a long pause": lambda: (key(FIRST, echo=False), waits(0.6))[0],
    "one key, then a clear screen": lambda: (key(FIRST), say("\x1b[H\x1b[2J"))[0],
    "one key, in place": lambda: (key(FIRST), say("\r\x1b[K"))[0],
    "three keys": lambda: key("Type yes to go on [yes/no] ", 3),
    "two keys": lambda: key("Continue? (y/n) ", 2),
    "a line": lambda: input(FIRST),
    "a line editor": lambda: raw(FIRST),
}


def main() -> None:
    file, form = Path(sys.argv[1]), sys.argv[2]
    for name, ask in (("first", FORMS[form]), ("second", lambda: key(SECOND))):
        got = ask()
        with file.open("a") as told:
            told.write(f"{name} {got!r}\n")
    say("\ndone\n")
    time.sleep(1000)


if __name__ == "__main__":
    main()
