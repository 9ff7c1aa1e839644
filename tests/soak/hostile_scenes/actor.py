"""A program of a scene: it asks what its play says, step after step, and writes down every byte that it gets.

    actor.py [PLAY.json]

A step has a `text` to draw on a cleared screen (`below`: where the cursor stands; ``{here}`` in it is the folder that
it runs in), a `mode` of the terminal (``raw``, ``cbreak``, ``line``, ``hidden``: canonical without echo), and what it
`takes`: ``key`` (one read ends it; with `late` it shows the key, and goes on after `late_s`), ``edit`` (a line that it
echoes itself), ``line``, ``menu`` (of `rows`), ``composer``, or ``nothing``, which goes on as `idle` says: ``sleep``,
``busy``, ``poll``, ``pipe``, ``stop``.  With `go` the next step begins as soon as a file ``go`` is there; then a file
``switched`` is made.  `spawn` is a shell's command to run in place of taking; `comm` a name to take for itself.  The
file ``got`` has a line a read, ``STEP HEX``, and ``chose ROW`` for a menu.  After the last step it reads on; with
`expects` it ends, with status 0 if it got just these bytes, or if that row was chosen.  Standard library only.
"""

import json
import os
import signal
import sys
import termios
import time
import tty

TAKEN: "list[str]" = []  # what was got, and the row that was chosen
UP, DOWN = (b"\033[A", b"\033OA", b"k", b"\020"), (b"\033[B", b"\033OB", b"j", b"\016")


class Go(BaseException):
    """The file ``go`` is there."""


def main() -> None:
    with open(sys.argv[1] if len(sys.argv) > 1 else "play.json", encoding="utf-8") as file:  # noqa: PTH123
        steps = json.load(file)
    here = os.getcwd()  # noqa: PTH109  # pathlib takes longer to load than all of this
    above, _, name = here.rpartition("/")
    half = len(here) // 2
    places = {"here": here, "above": above, "name": name, "upper": here.upper()}
    places |= {"cut": here[:half], "rest": here[half:]}
    places["cyrillic"] = here.replace("s", "\u0455").replace("o", "\u043e")
    for number, step in enumerate(steps):
        for word, place in places.items():
            step["text"] = str(step["text"]).replace("{" + word + "}", place)
        try:
            play(number, step, number > 0 and bool(steps[number - 1].get("go")))
        except Go:
            signal.setitimer(signal.ITIMER_REAL, 0)
    if "expects" in steps[-1]:
        os.write(1, b"\033[?25h\r\n")
        tty.setcbreak(0, termios.TCSANOW)
        sys.exit(steps[-1]["expects"] not in ("".join(TAKEN), TAKEN[-1]))
    os.write(1, b"\033[H\033[2J\033[?25hit is over\r\n")
    while True:
        read(len(steps))


def play(number: int, step: "dict[str, object]", switched: bool) -> None:
    if "comm" in step:
        with open("/proc/self/comm", "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(str(step["comm"]))
    set_mode(str(step.get("mode", "keep")))
    if step.get("below"):
        os.write(1, str(step["text"]).replace("\n", "\r\n").encode())
    elif step.get("takes") not in ("menu", "composer"):
        draw(str(step["text"]), switched)
    if switched:
        note("switched", "")
    if step.get("go"):
        signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    if "spawn" in step:
        os.system(str(step["spawn"]))
        return
    takes = str(step.get("takes", "key"))
    if takes == "nothing":
        rest(number, str(step.get("idle", "sleep")))
    elif takes == "edit":
        edit(number)
    elif takes == "menu":
        menu(number, step, switched)
    elif takes == "composer":
        compose(number, step)
    else:
        given = read(number)
        if "late" in step:
            os.write(1, given)
            late(str(step["late"]), float(str(step["late_s"])))


def look(*_: object) -> None:
    if os.path.exists("go"):  # noqa: PTH110
        raise Go


def set_mode(mode: str) -> None:
    given = termios.tcgetattr(0)
    if mode == "raw":
        tty.setraw(0, termios.TCSANOW)
    elif mode == "cbreak":
        tty.setcbreak(0, termios.TCSANOW)
    elif mode in ("line", "hidden"):
        given[0] |= termios.ICRNL
        given[1] |= termios.OPOST
        given[3] |= termios.ICANON | termios.ECHO | termios.ISIG
        if mode == "hidden":
            given[3] &= ~termios.ECHO
        termios.tcsetattr(0, termios.TCSANOW, given)


def draw(text: str, again: bool = False) -> None:
    """On an empty screen; again: row by row, since what is cleared whole scrolls away, and that shows."""
    shown = "\033[H" + text.replace("\n", "\033[K\n") + "\033[K" if again else "\033[H\033[2J" + text
    os.write(1, shown.replace("\n", "\r\n").encode())


def note(file: str, line: str) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, line.encode())
    os.close(handle)


def read(number: int) -> bytes:
    given = os.read(0, 4096)
    if not given:
        os._exit(0)
    note("got", f"{number} {given.hex()}\n")
    TAKEN.append(given.decode(errors="replace"))
    return given


def rest(number: int, idle: str) -> None:
    while idle == "sleep":
        time.sleep(1000)
    while idle == "busy":
        pass
    while idle == "pipe":
        os.read(os.pipe()[0], 1)
    while idle == "stop":
        os.kill(0, signal.SIGSTOP)
    while idle == "poll":
        time.sleep(0.2)
        os.set_blocking(0, False)
        try:
            read(number)
        except BlockingIOError:
            continue


def late(how: str, seconds: float) -> None:
    """Wait for so long, in one of the ways in which a program still has an eye on its keys."""
    import select  # here: where argv[0] is another program's path, Python does not find its compiled modules
    import subprocess
    import threading

    until, more = time.monotonic() + seconds, []
    if how == "a thread":
        ours, theirs = os.pipe()
        threading.Timer(seconds, os.write, (theirs, b"x")).start()
        more = [ours]
    elif how == "a child":
        more = [subprocess.Popen(["sleep", str(seconds)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout]
    if how == "epoll":
        watched = select.epoll()
        watched.register(0, select.EPOLLIN)
        watched.poll(seconds)
    elif how == "intervals":
        while time.monotonic() < until and not select.select([0], [], [], 0.1)[0]:
            pass
    else:
        select.select([0, *more], [], [], None if more else seconds)


def edit(number: int) -> None:
    """A line, as a library's own line editor takes it: what is typed is shown, and Enter ends it."""
    while True:
        given = read(number)
        if b"\r" in given or b"\n" in given:
            return
        os.write(1, given.replace(b"\033", b"^"))


def menu(number: int, step: "dict[str, object]", switched: bool) -> None:
    """A list whose marked row Enter takes; `how` it misbehaves at the first step."""
    rows, at, how, moved = list(step["rows"]), int(step.get("at", 0)), str(step.get("how", "")), 0  # type: ignore[call-overload]

    def show(again: bool) -> None:
        lines = [f"{' ❯ ' if row == at else '   '}{label}" for row, label in enumerate(rows)]
        draw(str(step["text"]).replace("{rows}", "\n".join(lines)), again)

    show(switched)
    while True:
        given = read(number)
        if given in (b"\r", b"\n"):
            note("got", f"chose {rows[at]}\n")
            TAKEN.append(rows[at])
            return
        step_by = (given in DOWN) - (given in UP)
        if not step_by or how == "frozen":
            continue
        moved += 1
        at = (at + step_by * (2 if how == "skips" else 1)) % len(rows)
        if how == "stays at the end":
            at = min(max(at, 0), len(rows) - 2)
        if moved == 1 and how == "swaps":
            rows[0], rows[-1] = rows[-1], rows[0]
        elif moved == 1 and how == "relabels":
            rows[at] = "Yes, and every folder below /"
        elif moved == 1 and how == "grows":
            rows.insert(0, "Yes, and delete what is there")
        elif moved == 1 and how == "shrinks":
            rows.pop(0)
            at = max(0, at - 1)
        elif moved == 1 and how == "retitled":
            step["text"] = " Delete every file in it?\n\n{rows}\n\n Enter to confirm · Esc to cancel"
        elif moved == 1 and how == "another prompt":
            draw("Delete the old volumes? [Y/n] ")
            read(number + 1)
            return
        elif moved == 1 and how == "a secret":
            set_mode("hidden")
            draw("Password: ")
            read(number + 1)
            return
        elif moved == 1 and how == "ends":
            return
        if how == "draws late":
            time.sleep(0.5)
        show(True)
        if how == "springs back":
            time.sleep(0.15)
            at = (at - step_by) % len(rows)
            show(True)


def compose(number: int, step: "dict[str, object]") -> None:
    """An agent's composer below its last message; what is typed stands in it, and Enter sends it."""
    typed = ""
    while True:
        draw(str(step["text"]).replace("{typed}", typed), bool(typed))
        os.write(1, f"\033[{step['row']};{3 + len(typed)}H".encode())
        given = read(number).replace(b"\033[200~", b"").replace(b"\033[201~", b"")
        if b"\r" in given:
            return
        typed += given.decode(errors="replace")


if __name__ == "__main__":
    main()
