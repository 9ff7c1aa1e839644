"""What `stallkit wrap` costs, beside `script` and beside nothing: `python benchmarks/wrap.py [--megabytes N]`.

Printed: seconds for `cat` of a file to a terminal whose other side only reads, what is added to the time until a typed
key is echoed by a program in raw mode (median, in milliseconds), and the resident memory of the relay and its judge
while a program asks something, once it was judged.  The ways take turns, so that ratios hold on a busy machine.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Iterator

from stallkit_wrap.relay.driver import wrapped
from timing import table

LINES = {
    "text": b"all work and no play makes a dull build\n",
    "colours": b"\x1b[32mall work\x1b[0m and \x1b[1;38;2;9;8;7mno play\x1b[0m makes a dull build\n",
}
ECHO = "import os, tty; tty.setraw(0); os.write(1, b'ready.')\nwhile True: os.write(1, os.read(0, 1))"
ASKS = ["bash", "--norc", "-c", "read -p 'Proceed? [y/N] ' x"]
LIMITS = {"throughput": 1.03, "echo": 1.0, "memory": 60.0}


def script(command: list[str]) -> list[str]:
    return ["script", "-q", "-c", "exec " + " ".join(f"'{word}'" for word in command), "/dev/null"]


WAYS = {
    "nothing": list,
    "script": script,
    "wrap": wrapped,
    "wrap --no-judge": lambda command: wrapped(command, judge=False),
}


class Terminal:
    """A command on a terminal, whose other side is here."""

    def __init__(self, command: list[str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)

    def read(self) -> bytes:
        try:
            return os.read(self.master, 65_536)
        except OSError:
            return b""

    def until(self, text: bytes) -> None:
        seen = b""
        while text not in seen:
            if not (data := self.read()):
                raise SystemExit(f"it ended: {seen!r}")
            seen += data

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def seconds(command: list[str], size: int) -> float:
    """From the first byte to the last: how long it takes to start is another matter."""
    terminal = Terminal(command)
    total = len(terminal.read())
    began = time.perf_counter()
    while data := terminal.read():
        total += len(data)
    taken = time.perf_counter() - began
    terminal.process.wait()
    os.close(terminal.master)
    if total < size:
        raise SystemExit(f"{total:,} of {size:,} bytes came")
    return taken


def throughput(kind: str, megabytes: int, rounds: int) -> dict[str, float]:
    line = LINES[kind]
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(megabytes):
            file.write(line * (1_000_000 // len(line)))
        file.flush()
        size = Path(file.name).stat().st_size
        taken: dict[str, list[float]] = {name: [] for name in WAYS}
        for _ in range(rounds):
            for name, way in WAYS.items():
                taken[name].append(seconds(way(["cat", file.name]), size))
    return {name: statistics.median(times) for name, times in taken.items()}


def echo(keys: int) -> dict[str, float]:
    """Milliseconds until a key comes back, median."""
    terminals = {name: Terminal(way([sys.executable, "-c", ECHO])) for name, way in WAYS.items()}
    for terminal in terminals.values():
        terminal.until(b"ready.")
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(keys):
        for name, terminal in terminals.items():
            time.sleep(0.005)  # as a person types: everybody sleeps
            began = time.perf_counter()
            os.write(terminal.master, b"x")
            while b"x" not in terminal.read():
                pass
            taken[name].append(time.perf_counter() - began)
    for terminal in terminals.values():
        terminal.end()
    return {name: statistics.median(times) * 1_000 for name, times in taken.items()}


def memory() -> dict[str, float]:
    """Megabytes that are resident in each process of a relay, once it has judged."""
    terminal = Terminal(wrapped(ASKS))
    terminal.until(b"by=stallkit")
    found = {}
    for pid in (terminal.process.pid, *_children(terminal.process.pid)):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        if "stallkit" in words:
            found["judge" if "relay_judge" in words else "relay"] = _resident(pid)
    terminal.end()
    return found


def _resident(pid: int) -> float:
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1_024


def _children(pid: int) -> Iterator[int]:
    yield from map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keys", type=int, default=400)
    options = parser.parse_args()
    broken = []
    rows = []
    for kind in LINES:
        taken = throughput(kind, options.megabytes, options.rounds)
        for name in WAYS:
            beside = taken[name] / taken["script"]
            speed = f"{options.megabytes / taken[name]:.0f}"
            rows.append([kind, name, f"{taken[name]:.2f}", speed, f"{beside:.3f}"])
            if name.startswith("wrap") and beside > LIMITS["throughput"]:
                broken.append(f"{kind}, {name}: {beside:.3f} of script's time")
    table(["100 MB of".replace("100", str(options.megabytes)), "through", "s", "MB/s", "of script's time"], rows)
    taken = echo(options.keys)
    added = {name: taken[name] - taken["nothing"] for name in WAYS}
    table(
        ["a key through", "echo, ms", "added, ms"],
        [[name, f"{taken[name]:.3f}", f"{added[name]:.3f}"] for name in WAYS],
    )
    broken += [f"echo, {name}: {added[name]:.3f} ms" for name in WAYS if added[name] > LIMITS["echo"]]
    resident = memory()
    total = sum(resident.values())
    table(["process", "MB resident"], [[name, f"{mb:.1f}"] for name, mb in {**resident, "together": total}.items()])
    if total > LIMITS["memory"]:
        broken.append(f"memory: {total:.1f} MB")
    for one in broken:
        print(f"over its limit: {one}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
