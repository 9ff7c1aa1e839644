"""Where a process's CPU goes, by stallkit's modules: `python benchmarks/where.py SAMPLES`.

SAMPLES is what py-spy wrote of a running one: ``py-spy record --nonblocking -p PID -d 20 -f raw -o SAMPLES``.  *Within*
counts a sample for each module that is on its stack, *itself* for the innermost alone, with what it calls elsewhere.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from timing import table

_FRAME = re.compile(r"\((?:.*/)?stallkit/([\w/]+)\.py:\d+\)")
ROWS = 18


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", type=Path)
    within, itself, every = Counter[str](), Counter[str](), 0
    for line in parser.parse_args().samples.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        modules = _FRAME.findall(stack)
        every += int(count)
        within.update(dict.fromkeys(modules, int(count)))
        itself[modules[-1] if modules else "elsewhere"] += int(count)
    print(f"{every} samples.\n")
    rows = [[name, f"{within[name] / every:.0%}", f"{count / every:.0%}"] for name, count in itself.most_common(ROWS)]
    table(["module", "within", "itself"], rows)


if __name__ == "__main__":
    main()
