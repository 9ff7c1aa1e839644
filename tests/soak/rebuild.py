"""Rebuilds of a sandbox while pushes are refused, the disk is full, and the process that does them is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from machine_room import PROGRAMS

from soak.parts import Figure, Part, Run

ROOT = Path(__file__).resolve().parents[1]
# A disk of its own, seen by nobody else, which can be full.
ON_A_DISK = 'mount -t tmpfs -o size=96m,mode=0700 tmpfs "$0" && exec "$@"'


def soak(run: Run) -> list[Figure]:
    disk = run.folder / "disk"
    disk.mkdir()
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ON_A_DISK, str(disk)]
    command += [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import soak.rebuild_site as it; it.main()",
    ]
    tally: Counter[str] = Counter()
    broken: list[Any] = []
    with subprocess.Popen(
        [*command, str(disk), str(run.size), str(PROGRAMS)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for done, line in enumerate(child.stdout, 1):
            found = json.loads(line)
            tally.update(found["tally"])
            broken += found["broken"]
            run.tell(min(done, run.size))
    for one in broken:
        print(one, file=sys.stderr)
    return _figures(tally, run.size, child.returncode)


def _figures(tally: Counter[str], size: int, code: int) -> list[Figure]:
    def none(name: str, key: str, of: int) -> Figure:
        return Figure(name, f"{tally[key]} of {of:,}", "0", tally[key] == 0)

    faults = ", ".join(
        f"{key.removeprefix('fault: ')} {n}" for key, n in sorted(tally.items()) if key.startswith("fault")
    )
    whole = code == 0 and tally["rebuilds"] == size
    return [
        Figure("rebuilds", f"{tally['rebuilds']} of {size}: {faults}", "all", whole),
        Figure("interrupted, and gone on with", f"{tally['resumed']}", "some", True),
        Figure("ended with the replacement running", f"{tally['replaced']}", "told", True),
        Figure("ended with the sandbox as it was", f"{tally['as it was']}", "told", True),
        none("ended in no sound state", "unsound", size),
        none("torn down before the work was pushed and read back", "early", size),
        none("files lost", "lost", tally["files"]),
        none("files that the remote does not have, of what was replaced", "unpushed", tally["pushed"]),
    ]


PART = Part(
    name="rebuild",
    about="A sandbox writes files while it is rebuilt again and again, with a fault each time: pushes are refused, the "
    "disk is full but for a few pages, the process is killed with SIGKILL before or after a step, the changed manifest "
    "cannot start or its program ends at once, or the work tree goes with the sandbox. What was interrupted is called "
    "again without the fault.",
    unit="rebuilds",
    full=200,
    short=8,
    soak=soak,
)
