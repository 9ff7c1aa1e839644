"""How well the emulator agrees with tmux, and how fast it is: `python benchmarks/emulators.py [STREAM...]`.

Streams are recorded bytes, NAME.COLUMNSxROWS.bin (by default tests/transports/recorded), or a corpus (.jsonl) whose
cases carry `raw_b64`.  Each goes, the same bytes, into a tmux pane, into the emulator, and into @xterm/headless where
`--xterm DIRECTORY` says where npm installed it.  Lines, cursor, its visibility and the alternate screen are compared.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import subprocess
import tempfile
import time
from itertools import zip_longest
from pathlib import Path
from typing import Any, Iterator

from attrs import frozen

from stallkit.terminal.screen import Screen, join_wraps
from stallkit.terminal.text import strip
from stallkit.transports.emulator import GhosttyEmulator

RECORDED = Path(__file__).parent.parent / "tests" / "transports" / "recorded"
DRAWING = str.maketrans("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")  # DEC special graphics
CONTINUED = bytes(range(0x80, 0xC0))  # a tail may begin inside a character, and each shows that its own way
ASPECTS = ("lines", "cursor", "visible", "alternate")

# In the pane: the bytes unchanged, then a question that tmux answers only when it has taken in all before it.  CAN
# first, for a stream that ends inside a sequence.
PLAYER = r"""
import os, sys, tty
tty.setraw(0)
data = open(sys.argv[1], "rb").read()
view = memoryview(data + b"\x18\x1b[5n")
while view:
    view = view[os.write(1, view[:4096]):]
answers, wanted = b"", data.count(b"\x1b[5n") + 1
while answers.count(b"\x1b[0n") < wanted:
    answers += os.read(0, 4096)
open(sys.argv[1] + ".shown", "w").close()
os.read(0, 1)
"""

XTERM = r"""
const { Terminal } = require(process.argv[1] + '/node_modules/@xterm/headless');
const fs = require('fs');
const play = (stream) => new Promise((done) => {
  const t = new Terminal({ cols: stream.columns, rows: stream.rows, scrollback: 0, allowProposedApi: true });
  t.write(Buffer.concat([fs.readFileSync(stream.file), Buffer.from('\x18')]), () => {
    const b = t.buffer.active, rows = [], wrapped = [];
    for (let y = 0; y < t.rows; y++) {
      rows.push(b.getLine(b.baseY + y).translateToString(false));
      const next = y + 1 < t.rows && b.getLine(b.baseY + y + 1);
      wrapped.push(Boolean(next && next.isWrapped));
    }
    done({ rows, wrapped, cursor: [b.cursorX, b.cursorY], visible: !t._core.coreService.isCursorHidden,
           alternate: b.type === 'alternate' });
  });
});
(async () => { for (const s of JSON.parse(fs.readFileSync(0))) console.log(JSON.stringify(await play(s))); })();
"""


@frozen
class Stream:
    name: str
    columns: int
    rows: int
    data: bytes


def streams(path: Path) -> Iterator[Stream]:
    """The streams of a file or folder."""
    if path.is_dir():
        for file in sorted(path.glob("*.bin")):
            yield from streams(file)
    elif path.suffix == ".bin":
        name, size, _ = path.name.rsplit(".", 2)
        columns, rows = map(int, size.split("x"))
        yield Stream(name, columns, rows, path.read_bytes())
    else:
        for line in path.read_text("utf-8").splitlines():
            case = json.loads(line)
            if case.get("raw_b64"):
                tail = base64.b64decode(case["raw_b64"]).lstrip(CONTINUED)
                yield Stream(case["id"], case["cols"], case["rows"], tail)


class Tmux:
    """A private tmux server, and what its panes make of streams."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "player.py").write_text(PLAYER)
        (folder / "conf").write_text("set -g status off\n")
        self._environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        self._environment.pop("TMUX", None)
        self.run("new-session", "-d", "-s", "keep", "cat")  # a server without a session would end

    def run(self, *command: str) -> str:
        server = ["tmux", "-u", "-f", str(self._folder / "conf"), "-S", str(self._folder / "sock")]
        return subprocess.run(
            [*server, *command], env=self._environment, check=True, capture_output=True, timeout=20
        ).stdout.decode("utf-8", "replace")

    def play(self, stream: Stream) -> Screen:
        file = self._folder / "stream"
        file.write_bytes(stream.data)
        shown = self._folder / "stream.shown"
        shown.unlink(missing_ok=True)
        player = f"exec python3 {self._folder / 'player.py'} {file}"
        self.run("new-session", "-d", "-s", "play", "-x", str(stream.columns), "-y", str(stream.rows), player)
        deadline = time.monotonic() + 20
        while not shown.exists():
            if time.monotonic() > deadline:
                raise TimeoutError(stream.name)
            time.sleep(0.002)
        facts = "#{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{pane_width} #{pane_height}"
        column, row, visible, alternate, *size_now = map(
            int, self.run("display-message", "-p", "-t", "=play:", facts).split()
        )
        assert size_now == [stream.columns, stream.rows], f"the pane has {size_now}"
        rows = plain(self.run("capture-pane", "-p", "-e", "-N", "-t", "=play:")).split("\n")[: stream.rows]
        joined = plain(self.run("capture-pane", "-p", "-e", "-N", "-J", "-t", "=play:")).split("\n")
        self.run("kill-session", "-t", "=play")
        return screen(rows, flags(rows, joined), (column, row), bool(visible), bool(alternate))

    def end(self) -> None:
        subprocess.run(["tmux", "-S", str(self._folder / "sock"), "kill-server"], check=True, timeout=20)


def plain(captured: str) -> str:
    """A capture without its attributes; without -e tmux prints line drawing (between SO and SI) as letters."""
    drawn = re.sub(r"\x0e([^\x0f]*)\x0f?", lambda found: strip(found[1]).translate(DRAWING), captured)
    return strip(drawn)


def flags(rows: list[str], joined: list[str]) -> list[bool]:
    """Which rows tmux itself says go on in the next, read from its joined lines."""
    wrapped = [False] * len(rows)
    number = 0
    for line in joined:
        text = rows[number] if number < len(rows) else ""
        while text.rstrip() != line.rstrip() and number + 1 < len(rows):
            wrapped[number] = True
            number += 1
            text += rows[number]
        number += 1
    return wrapped


def screen(rows: list[str], wrapped: list[bool], cursor: tuple[int, int], visible: bool, alternate: bool) -> Screen:
    lines, moved = join_wraps(rows, wrapped, cursor)
    return Screen.from_text("\n".join(lines), cursor=moved, cursor_visible=visible, alternate=alternate)


def xterm(folder: Path, chosen: list[Stream]) -> list[Screen]:
    """What @xterm/headless makes of the streams."""
    with tempfile.TemporaryDirectory() as scratch:
        orders: list[dict[str, Any]] = []
        for number, stream in enumerate(chosen):
            file = Path(scratch, str(number))
            file.write_bytes(stream.data)
            orders.append({"file": str(file), "columns": stream.columns, "rows": stream.rows})
        done = subprocess.run(
            ["node", "-e", XTERM, str(folder)], input=json.dumps(orders).encode(), capture_output=True, check=True
        )
    found = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return [screen(f["rows"], f["wrapped"], tuple(f["cursor"]), f["visible"], f["alternate"]) for f in found]


def differences(one: Screen, other: Screen) -> list[str]:
    """The aspects in which two screens differ."""
    assert one.cursor is not None and other.cursor is not None
    pairs = {
        "lines": (one.text.rstrip(), other.text.rstrip()),
        "cursor": ((one.cursor.column, one.cursor.row), (other.cursor.column, other.cursor.row)),
        "visible": (one.cursor.visible, other.cursor.visible),
        "alternate": (one.alternate, other.alternate),
    }
    return [aspect for aspect in ASPECTS if pairs[aspect][0] != pairs[aspect][1]]


def judge(chosen: list[Stream]) -> list[Screen]:
    """What tmux makes of the streams."""
    with tempfile.TemporaryDirectory() as folder:
        tmux = Tmux(Path(folder))
        try:
            return [tmux.play(stream) for stream in chosen]
        finally:
            tmux.end()


def save(chosen: list[Stream], judged: list[Screen], file: Path) -> None:
    """Write down what tmux made of the streams, for tests that have no tmux."""
    found = {
        stream.name: {
            "lines": made.text.rstrip().split("\n"),
            "cursor": made.cursor and [made.cursor.column, made.cursor.row, made.cursor.visible],
            "alternate": made.alternate,
        }
        for stream, made in zip(chosen, judged, strict=True)
    }
    file.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")


def compare(chosen: list[Stream], judged: list[Screen], xterm_folder: Path | None, verbose: bool) -> None:
    """Print how often each agrees with tmux, and every stream on which one does not."""
    screens: dict[str, list[Screen]] = {"pyghostty": []}
    for stream in chosen:
        emulator = GhosttyEmulator(stream.columns, stream.rows)
        emulator.feed(stream.data + b"\x18")
        screens["pyghostty"].append(emulator.screen())
    if xterm_folder:
        screens["xterm"] = xterm(xterm_folder, chosen)
    print(f"as tmux, of {len(chosen)} streams; lines that differ; outvoted: unlike tmux where xterm is like it")
    print(" " * 12 + "".join(f"{title:>11}" for title in (*ASPECTS, "all", "lines off", "outvoted")))
    voters = screens.get("xterm", judged)
    for name, made in screens.items():
        found = [differences(mine, theirs) for mine, theirs in zip(made, judged, strict=True)]
        right = [sum(aspect not in wrong for wrong in found) for aspect in ASPECTS]
        off = sum(map(lines_off, made, judged))
        outvoted = sum(
            bool(wrong) and not differences(voter, theirs)
            for wrong, voter, theirs in zip(found, voters, judged, strict=True)
        )
        figures = [*right, sum(not wrong for wrong in found), off, outvoted]
        print(f"{name:12}" + "".join(f"{figure:>11}" for figure in figures))
        for stream, wrong, mine, theirs in zip(chosen, found, made, judged, strict=True):
            if wrong and verbose:
                print(f"  {stream.name} ({stream.columns}x{stream.rows}): {', '.join(wrong)}")
                print(f"    {name:9} {mine.cursor}\n    {'tmux':9} {theirs.cursor}")
                for ours, its in zip(mine.text.split("\n"), theirs.text.split("\n"), strict=False):
                    if ours != its:
                        print(f"    {name:9} {ours!r}\n    {'tmux':9} {its!r}")
                        break


def lines_off(one: Screen, other: Screen) -> int:
    """How many lines of two screens differ."""
    pairs = zip_longest(one.text.rstrip().split("\n"), other.text.rstrip().split("\n"))
    return sum(mine != theirs for mine, theirs in pairs)


def speed(chosen: list[Stream]) -> None:
    """Print megabytes a second and the time of one look."""
    taken = looked = size = 0.0
    for stream in chosen:
        data = stream.data * max(1, 200_000 // len(stream.data))
        size += len(data)
        emulator = GhosttyEmulator(stream.columns, stream.rows)
        begin = time.perf_counter()
        for start in range(0, len(data), 4_096):  # what one read from a terminal gives
            emulator.feed(data[start : start + 4_096])
        middle = time.perf_counter()
        emulator.screen()
        taken += middle - begin
        looked += time.perf_counter() - middle
    print(f"pyghostty{size / taken / 1e6:9.0f} MB/s, one look {looked / len(chosen) * 1e6:6.0f} us")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stream", nargs="*", type=Path, default=[RECORDED])
    parser.add_argument("--xterm", type=Path, metavar="DIRECTORY", help="where npm installed @xterm/headless")
    parser.add_argument("--verbose", action="store_true", help="show every stream on which one differs from tmux")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write down what tmux made of the streams")
    options = parser.parse_args()
    chosen = [stream for path in options.stream for stream in streams(path)]
    judged = judge(chosen)
    if options.save:
        save(chosen, judged, options.save)
    compare(chosen, judged, options.xterm, options.verbose)
    speed(chosen)


if __name__ == "__main__":
    main()
