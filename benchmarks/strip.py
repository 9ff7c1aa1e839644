"""Taking control sequences out, against other ways: `python benchmarks/strip.py`.

The unit is one `re.sub` with the usual pattern for CSI and OSC, which knows no DCS, no 8-bit introducer, no carriage
return and no erased line: ours does more.  wcwidth is measured if it is installed.
"""

from __future__ import annotations

import random
import re
from typing import Callable

from rich.text import Text
from timing import interleaved, table

from stallkit.terminal.text import fold, strip

USUAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
SIZE = 10_000


def texts() -> dict[str, str]:
    """10 KB each: without any sequence, with a few, with one a word, and redrawn by carriage returns."""
    dice = random.Random(1)
    words = ["Allow", "Building", "the", "target", "❯", "Yes,", "proceed", "12%", "│"]
    styles = ["\x1b[0m", "\x1b[1m", "\x1b[38;5;114m", "\x1b[48;2;12;34;56m", "\x1b]8;;https://example.org\x07"]

    def made(decorate: Callable[[str], str]) -> str:
        text = ""
        while len(text) < SIZE:
            text += decorate(dice.choice(words)) + dice.choice("      \n")
        return text

    return {
        "plain": made(str),
        "sparse": made(lambda word: dice.choice(styles) + word if dice.random() < 0.05 else word),
        "dense": made(lambda word: dice.choice(styles) + word + "\x1b[0m"),
        "redrawn": made(lambda word: f"\r{dice.choice(styles)}{word}" if dice.random() < 0.2 else word),
    }


def main() -> None:
    ways: dict[str, Callable[[str], object]] = {
        "`re.sub`": lambda text: USUAL.sub("", text),
        "strip": strip,
        "strip and fold": lambda text: fold(strip(text)),
        "rich.text.Text.from_ansi": lambda text: Text.from_ansi(text).plain,
    }
    try:
        from wcwidth import strip_sequences
    except ImportError:
        print("wcwidth, or its strip_sequences, is not installed\n")
    else:
        ways["wcwidth.strip_sequences"] = strip_sequences
    columns = []
    for text in texts().values():
        taken = interleaved({name: lambda way=way, text=text: way(text) for name, way in ways.items()})
        columns.append({name: seconds / taken["`re.sub`"] for name, seconds in taken.items()})
    rows = [[name, *(f"{column[name]:.2f}" for column in columns)] for name in ways]
    table(["way, in multiples of `re.sub`", *texts()], rows)


if __name__ == "__main__":
    main()
