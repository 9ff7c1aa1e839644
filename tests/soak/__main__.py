"""Long runs against real tmux: ``scripts/soak [PART...]``.

Each part keeps what it found in .cache/soak, so that what was run is not run again (``--again``), and in
benchmarks/measured.json, from which docs/reliability.md is written.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from rich.progress import Progress  # noqa: E402  # needs the line above

from soak.parts import PARTS, part  # noqa: E402
from soak.report import dated, report  # noqa: E402

KEPT = ROOT / ".cache" / "soak"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all unless given")
    parser.add_argument("--again", action="store_true", help="also those that were run before")
    parser.add_argument("--size", type=int, help="so many, in place of the full number; nothing is kept")
    options = parser.parse_args()
    for name in options.parts:
        if name not in PARTS:
            parser.error(f"there is no part {name}")
    KEPT.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in options.parts or PARTS:
        kept = KEPT / f"{name}.json"
        if kept.exists() and not options.again and options.size is None:
            found = json.loads(kept.read_text())
        else:
            found = _run(name, options.size)
            if options.size is None:
                kept.write_text(json.dumps(found))
        if options.size is None:
            report(found)
        failed |= _print(found)
    return 1 if failed else 0


def _run(name: str, size: int | None) -> dict[str, Any]:
    chosen = part(name)
    size = chosen.full if size is None else size
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, Progress() as progress:
        task = progress.add_task(f"{name}, {chosen.unit}", total=size)
        found = chosen.run(name, size, Path(folder), lambda done: progress.update(task, completed=done))
    return dated(found)


def _print(found: dict[str, Any]) -> bool:
    print(f"{found['part']}: {found['size']} {found['unit']}, {found['minutes']} min")
    for name, value, must, holds in found["figures"]:
        print(f"  {'ok  ' if holds else 'FAIL'} {name}: {value} (must: {must})")
    return not all(holds for *_, holds in found["figures"])


if __name__ == "__main__":
    sys.exit(main())
