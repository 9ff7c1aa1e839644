"""A question of which several options may be ticked, and a row that sends them: ``boxes_program.py HOW``."""

from __future__ import annotations

import os
import sys
import time
import tty

OPTIONS = ["Lint", "Types", "Tests"]
SUBMIT = len(OPTIONS)


def draw(ticked: set[int], at: int, footer: str) -> None:
    rows = [f"{place + 1}. [{'x' if place in ticked else ' '}] {name}" for place, name in enumerate(OPTIONS)]
    rows = [f"{'❯' if place == at else ' '} {row}" for place, row in enumerate([*rows, "  Submit"])]
    text = ["─" * 30, "Which checks should run?", *rows, footer]
    os.write(1, ("\x1b[H\x1b[2J\x1b[?25l" + "\r\n".join(text)).encode())


def main() -> None:
    how, ticked, at = sys.argv[1], {1} if sys.argv[1] == "one is ticked" else set[int](), 0
    tty.setraw(0)
    draw(ticked, at, "Enter to select")
    while (key := os.read(0, 8)) != b"\r" or at != SUBMIT:
        if key in (b"1", b"2", b"3") and how != "deaf":
            ticked ^= {(int(key) if how == "another" else int(key) - 1) % len(OPTIONS)}
        elif key == b"\x1b[B" and how != "stays":
            at = min(at + 1, SUBMIT)
        if how == "renamed" and ticked:
            OPTIONS[2] = "Deploy"
        draw(ticked, at, "Enter to select, ctrl+g to edit in vim" if at == SUBMIT else "Enter to select")
    took = ", ".join(OPTIONS[place] for place in sorted(ticked))
    os.write(1, f"\x1b[H\x1b[2Jtook {took}\r\nDelete the old volumes? [Y/n] ".encode())
    os.write(1, f"\r\nsecond {os.read(0, 8)!r}".encode())
    time.sleep(1000)


if __name__ == "__main__":
    main()
