"""A program whose harmless prompt turns into a harmful one for a moment, again and again.

``python flipping.py FILE SEED``.  Standard library only.  To the file goes one line a key: which prompt was on the
terminal when it came, how many bytes it had, and for how many milliseconds the prompt had been there.
"""

from __future__ import annotations

import os
import random
import select
import sys
import termios
import time
import tty

HARMLESS = "Press any key to continue..."
# Of the same length, one of them, so that not even the cursor moves.
HARMFUL = ["Press any key to erase disk.", "Overwrite all 214 files? [y/N] ", "Really drop database prod? (Y/n) "]
LONG_S = (0.4, 1.6)  # of the harmless one: long enough for a look, a second one and a press
SHORT_S = (0.03, 0.2)  # of the harmful one


def main(file: str, seed: str) -> None:
    rand = random.Random(seed)
    record = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    tty.setraw(0, termios.TCSANOW)
    keyboard = select.poll()
    keyboard.register(0, select.POLLIN)
    answered = 0
    while True:
        os.write(1, b"\x1b[H\x1b[2J%d answered\r\n\n" % answered)
        prompt, until, since = "", 0.0, 0.0
        while True:
            left = until - time.monotonic()
            if keyboard.poll(max(left, 0.0) * 1000):
                break
            if left <= 0:
                after = rand.choice(HARMFUL) if prompt == HARMLESS else HARMLESS
                drawn = b"\r\x1b[K" + after.encode()
                lasts = rand.uniform(*(LONG_S if after == HARMLESS else SHORT_S))
                if keyboard.poll(0):  # came while the last one was still there
                    break
                os.write(1, drawn)
                prompt, since = after, time.monotonic()
                until = since + lasts
        keys = os.read(0, 1000)
        age = (time.monotonic() - since) * 1000
        which = "harmless" if prompt == HARMLESS else "harmful" if prompt else "none"
        os.write(record, b"%s %d %.2f\n" % (which.encode(), len(keys), age))
        answered += 1
        os.write(1, b"\r\nthank you\r\n")
        time.sleep(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
