"""A menu of its own kind, then a question whose default is yes: ``menu_program.py HOW AT``."""

from __future__ import annotations

import os
import sys
import time
import tty

HOW = sys.argv[1] if len(sys.argv) == 3 else "plain"
ROWS = ["Red", "Green", "Blue"]
STEPS = {b"k": -1, b"j": 1} if HOW == "letters" else {} if HOW == "deaf" else {b"\x1b[A": -1, b"\x1b[B": 1}


def draw(at: int) -> None:
    rows = [f"{number}. {row}" if "number" in HOW else row for number, row in enumerate(ROWS, 1)]
    rows = [f"{'❯' if place == at else ' '} {row}" for place, row in enumerate(rows)]
    rows[at] += " (the colour of today)" if HOW == "hint" else ""
    text = "\x1b[H\x1b[2J\x1b[?25lPick a colour\r\n" + "\r\n".join(rows) + ("\a" if HOW == "ring" else "")
    for part in text if HOW == "redraw" else [text]:
        os.write(1, part.encode())
        time.sleep(0.002 if HOW == "redraw" else 0)


def main(at: int) -> None:
    tty.setraw(0)
    draw(at)
    while (key := os.read(0, 8)) != b"\r":
        step = STEPS.get(key, 0)
        if HOW == "asks" and step:
            break
        if HOW.startswith("number") and key in b"123":
            at = int(key) - 1
            if HOW == "number":
                break
            draw(at)
        at = (at + step * (2 if HOW == "skip" else 1)) % len(ROWS)
        ROWS[0] += "!" if HOW == "changes" and step else ""
        draw(at)
    took = ROWS[at] if HOW != "asks" else "none"
    os.write(1, f"\r\n\x1b[?25htook {took}\r\nDelete the old volumes? [Y/n] ".encode())
    os.write(1, f"\r\nsecond {os.read(0, 8)!r}".encode())
    time.sleep(1000)


if __name__ == "__main__":
    main(int(sys.argv[2]))
