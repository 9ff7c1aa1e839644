"""What a flood costs: `python benchmarks/flood.py [MEGABYTES] [--lines short|text|none]`.

A program prints that much (1,000 MB by default) and then asks.  Printed: seconds, megabytes a second, what the run's
process took at its peak above what it had before, and whether the prompt behind the flood was found.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import stallkit_sessions

LINES = {"short": "y\\r\\n", "text": "all work and no play makes a dull build\\r\\n", "none": "x"}
PROMPT = "Proceed? [y/N] "
CODE = """
import os
block = b'{line}' * (1_000_000 // len(b'{line}'))
for _ in range({megabytes}):
    data = memoryview(block)
    while data:
        data = data[os.write(1, data):]
input('\\r\\n{prompt}')
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("megabytes", nargs="?", type=int, default=1_000)
    parser.add_argument("--lines", choices=LINES, default="text", help="what the flood is made of")
    options = parser.parse_args()
    stallkit_sessions.run(["true"])  # so that what is loaded once is not counted
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = CODE.format(line=LINES[options.lines], megabytes=options.megabytes, prompt=PROMPT)
    began = time.monotonic()
    result = stallkit_sessions.run([sys.executable, "-c", code], window_s=3_600)
    seconds = time.monotonic() - began
    above = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1_000
    found = str(result.status) == "waiting" and result.screen.prompt_line.text == PROMPT
    result.run.stop()
    print(
        f"{options.megabytes} MB of {options.lines} lines: {seconds:.1f} s, {options.megabytes / seconds:.1f} MB/s,"
        f" peak {above:.1f} MB above base; the prompt behind it was {'found' if found else 'NOT found'}"
    )


if __name__ == "__main__":
    main()
