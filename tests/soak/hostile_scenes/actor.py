"""A program of a scene: draws a screen, then reads its terminal or does not; every byte that it gets is written down.

    NAME -I -S actor.py {"text": ..., ...}

NAME is a link to Python, so that the program has any name.  What it is given in JSON: `text` to draw, after the screen
was cleared; `mode` of the terminal (``raw``, ``cbreak``, ``hidden``: canonical without echo, ``line``: as it was);
`then`: ``read``, ``sleep``, ``busy``, ``poll`` (look for keys now and then).  With `next`, another such description, it
becomes that one as soon as a file ``go`` is there: by drawing, or with `exec` by starting itself anew; `first` is a
shell's command that it runs before that.  The file ``switched`` tells that it is done.  The bytes go to the file
``got``; with the first ones it ends.  Standard library only, and little of it: many of these are started.
"""

import json
import os
import signal
import sys
import termios
import time
import tty
from contextlib import suppress

LATE_S = 0.15  # keys that are sent in one go are all here by then


def main() -> None:
    scene = json.loads(sys.argv[1])
    prepare(scene)
    while "next" in scene:
        wait(scene.get("then", "read"))
        if "first" in scene:
            os.system(scene["first"])
        step = {**scene["next"], "switched": True}
        if scene.get("exec"):
            name = os.path.basename(sys.executable)  # noqa: PTH119  # pathlib takes longer to load than all of this
            os.execv(sys.executable, [name, "-I", "-S", __file__, json.dumps(step)])
        scene = step
        prepare(scene)
    then = scene.get("then", "read")
    while then == "sleep":
        time.sleep(1000)
    while then == "busy":
        pass
    while then == "poll":
        time.sleep(0.2)
        os.set_blocking(0, False)
        with suppress(BlockingIOError):
            take()
    take()


class Go(BaseException):
    """The file ``go`` is there."""


def wait(then: str) -> None:
    """Read, or sleep, until it is to go on; it stays in one system call, as programs do that only read."""

    def look(*_: object) -> None:
        if os.path.exists("go"):  # noqa: PTH110
            raise Go

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        while then != "read":
            signal.pause()
        take()
    except Go:
        signal.setitimer(signal.ITIMER_REAL, 0)


def prepare(scene: "dict[str, object]") -> None:
    """Set the terminal, draw, and tell of it."""
    mode = scene.get("mode", "raw")
    if mode == "raw":
        tty.setraw(0, termios.TCSANOW)
    elif mode == "cbreak":
        tty.setcbreak(0, termios.TCSANOW)
    elif mode == "hidden":
        given = termios.tcgetattr(0)
        given[3] = given[3] & ~termios.ECHO | termios.ICANON
        termios.tcsetattr(0, termios.TCSANOW, given)
    shown = str(scene["text"])
    if scene.get("switched"):  # row by row: what is cleared scrolls away, and that shows
        shown = "\033[H" + shown.replace("\n", "\033[K\n")
    elif not scene.get("as_it_is"):
        shown = "\033[H\033[2J" + shown
    os.write(1, shown.replace("\r\n", "\n").replace("\n", "\r\n").encode())
    if scene.get("switched"):
        os.close(os.open("switched", os.O_WRONLY | os.O_CREAT))


def take() -> None:
    """Wait for bytes, write them down, and end."""
    given = os.read(0, 4096)
    signal.setitimer(signal.ITIMER_REAL, 0)
    got = os.open("got", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(got, given)
    os.set_blocking(0, False)
    until = time.monotonic() + LATE_S
    while time.monotonic() < until:
        time.sleep(0.01)
        try:
            os.write(got, os.read(0, 4096))
        except BlockingIOError:
            continue
    os.write(1, b"\033c\033[2J\033[Hthank you\r\n")
    os._exit(0)


if __name__ == "__main__":
    main()
