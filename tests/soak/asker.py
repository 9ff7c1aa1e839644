"""A program that asks again and again, and writes down every byte that it gets, beside the number of its question.

    python -I asker.py RECORD FORM SEED [REST_S]

FORM is ``key`` (a single key) or ``yes`` (a question with its number in it).  Each question is the only thing on the
screen; the first byte answers it, and what comes before the next question counts as sent to it as well.  Most answers
take effect soon, some late; with REST_S none is late, and that is the time between two questions.  Standard library
only: many of these run at a time.
"""

import os
import random
import select
import signal
import sys
import time
import tty

ASKS = {"key": "Press any key to continue...", "yes": "Proceed with step {}? [y/N] "}
LATE = 0.06  # of the questions: they stay on the screen for longer than a press is watched


def main() -> None:
    record, form, seed, *rest = sys.argv[1:]
    chance = random.Random(int(seed))
    handle = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    signal.signal(signal.SIGHUP, lambda *_: os._exit(0))
    tty.setcbreak(0)
    number = 0
    while True:
        number += 1
        show(f"step {number - 1} is done\n\n{ASKS[form].format(number)}")
        note(handle, number, b"")
        take(handle, number, None)
        take(
            handle,
            number,
            chance.uniform(2.5, 4.0) if not rest and chance.random() < LATE else chance.uniform(0.02, 0.2),
        )
        show(f"working on step {number}\n")
        # Asleep, not reading: what comes now stays in the terminal until it is taken below.
        time.sleep(float(rest[0]) if rest else chance.uniform(0.6, 1.0))
        take(handle, number, 0.0)


def show(text: str) -> None:
    """Draw it on an empty screen; row by row, since tmux keeps a screen that is cleared whole as rows above it."""
    wiped = "".join([f"\033[{row}H\033[K" for row in range(1, 25)])
    os.write(1, f"{wiped}\033[H{text}".encode())


def take(handle: int, number: int, seconds: "float | None") -> None:
    """Everything that comes within so many seconds; None: until something comes."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        left = None if until is None else max(0.0, until - time.monotonic())
        if not select.select([0], [], [], left)[0]:
            return
        given = os.read(0, 1000)
        if not given:
            os._exit(0)
        note(handle, number, given)
        if until is None:
            return


def note(handle: int, number: int, given: bytes) -> None:
    """One line: the question, what came (nothing: it was asked), when."""
    os.write(handle, f"{number} {given.hex()} {time.monotonic()}\n".encode())


if __name__ == "__main__":
    main()
