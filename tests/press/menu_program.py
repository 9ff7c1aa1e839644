"""A menu of its own kind, then a question whose default is yes: ``menu_program.py HOW AT``."""

from __future__ import annotations

import os
import sys
import time
import tty

ROWS = ["Red", "Green", "Blue"]


def draw(how: str, at: int) -> None:
    rows = [f"{number}. {row}" if "number" in how else row for number, row in enumerate(ROWS, 1)]
    rows = [f"{'❯' if place == at else ' '} {row}" for place, row in enumerate(rows)]
    rows[at] += " (the colour of today)" if how == "hint" else ""
    text = "\x1b[H\x1b[2J\x1b[?25lPick a colour\r\n" + "\r\n".join(rows) + ("\a" if how == "ring" else "")
    for part in text if how == "redraw" else [text]:
        os.write(1, part.encode())
        time.sleep(0.002 if how == "redraw" else 0)


def main() -> None:
    how, at = sys.argv[1], int(sys.argv[2])
    steps = {b"k": -1, b"j": 1} if how == "letters" else {} if how == "deaf" else {b"\x1b[A": -1, b"\x1b[B": 1}
    tty.setraw(0)
    draw(how, at)
    while (key := os.read(0, 8)) != b"\r":
        step = steps.get(key, 0)
        if how == "asks" and step:
            break
        if how.startswith("number") and key in b"123":
            at = int(key) - 1
            if how == "number":
                break
        at = (at + step * (2 if how == "skip" else 1)) % len(ROWS)
        ROWS[0] += "!" if how == "changes" and step else ""
        draw(how, at)
    took = ROWS[at] if how != "asks" else "none"
    os.write(1, f"\r\n\x1b[?25htook {took}\r\nDelete the old volumes? [Y/n] ".encode())
    os.write(1, f"\r\nsecond {os.read(0, 8)!r}".encode())
    time.sleep(1000)


if __name__ == "__main__":
    main()
