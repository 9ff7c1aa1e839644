"""Whether recorded streams pass `stallkit wrap` byte for byte: `python benchmarks/wrap_streams.py FILE...`.

A FILE is a raw stream, or a labelled corpus (.jsonl) whose lines hold the end of theirs in `raw_b64`.  Each is written
by a program of its own behind a relay of its own, and read from the terminal outside.  Queries of OSC 7501, which a
relay answers itself, have to be missing there, and nothing else.  Exits 1 where anything differs.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Iterator

from stallkit_wrap.relay.driver import wrapped
from wrap import Terminal

AT_ONCE = 2
QUERY = re.compile(rb"\x1b\]7501;\?[^\x07\x1b]*(?:\x07|\x1b\\)")
PLAYER = """
import os, sys, tty
tty.setraw(0)
data = open(sys.argv[1], "rb").read()
while data:
    data = data[os.write(1, data) :]
"""


def streams(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        if path.suffix != ".jsonl":
            yield path.name, path.read_bytes()
            continue
        for line in path.read_text().splitlines():
            case = json.loads(line)
            if case.get("raw_b64"):
                yield case["id"], base64.b64decode(case["raw_b64"])


def passes(data: bytes) -> bool:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        terminal = Terminal(wrapped([sys.executable, "-S", "-c", PLAYER, file.name], judge=False))
        seen = b""
        while part := terminal.read():
            seen += part
        terminal.end()
    return seen == QUERY.sub(b"", data)


def main() -> int:
    named = list(streams([Path(word) for word in sys.argv[1:]]))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        passed = list(pool.map(passes, [data for _, data in named]))
    for (name, _), same in zip(named, passed, strict=True):
        if not same:
            print(f"{name}: it differs")
    asking = sum(QUERY.search(data) is not None for _, data in named)
    size = sum(len(data) for _, data in named)
    print(f"{sum(passed)} of {len(named)} streams pass byte for byte ({size:,} bytes; {asking} hold queries)")
    return 0 if named and all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
