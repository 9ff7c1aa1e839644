"""What the pytest plug-in adds to the collection of a pack: `python benchmarks/collect.py`.

A pack of 40 signatures and 200 screens is collected by pytest in processes of their own, with the plug-in and with
`-p no:stallkit`, in turns; beside it a project with no pack, which must not notice that stallkit is installed.  The
figures are the CPU time of the whole process, the smallest of the rounds: import, configuration and collection.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import table

SIGNATURES, SCREENS, ROUNDS = 40, 5, 7
_ONE = """
[[signature]]
id = "s{0}"
title = "prompt {0}"
state = "waiting"
kind = "confirm"
all_of = [{{ pattern = '^(?:Deploy|Remove) \\S+ to place {0}\\? \\[yes/no\\]: *$', where = "prompt_line" }}]
hits = ["Deploy it to place {0}? [yes/no]: "]
misses = ["Deploy it to place {0}? [yes/no]: yes"]
"""


def write_pack(folder: Path) -> None:
    """A pack of 200 screens."""
    package = folder / "src" / "bench_pack"
    for number in range(SIGNATURES):
        screens = package / "screens" / f"s{number}"
        screens.mkdir(parents=True)
        for screen in range(SCREENS):
            text = "\n".join(f"line {row} of a log" for row in range(22))
            (screens / f"hit-{screen}.txt").write_text(f"{text}\nDeploy it to place {number}? [yes/no]: \n")
    (package / "signatures.toml").write_text("format = 1\n" + "".join(map(_ONE.format, range(SIGNATURES))))


def write_tests(folder: Path) -> None:
    """A project with no pack, but with text files and a TOML file of that name."""
    folder.mkdir()
    (folder / "signatures.toml").write_text("[other]\n")
    for number in range(200):
        (folder / f"hit-{number}.txt").write_text("text\n")
    (folder / "test_one.py").write_text("def test_one(): pass\n")


def collect(folder: Path, *arguments: str) -> float:
    """CPU seconds of `pytest --collect-only` there."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTEST_ADDOPTS": ""}
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        folders = {f"a pack of {SIGNATURES * SCREENS} screens": root / "pack", "no pack, 200 text files": root / "none"}
        write_pack(root / "pack")
        write_tests(root / "none")
        for folder in folders.values():
            (folder / "pytest.ini").write_text("[pytest]\n")
        ways: dict[str, tuple[str, ...]] = {"with": (), "without": ("-p", "no:stallkit")}
        rows = []
        for name, folder in folders.items():
            taken: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(ROUNDS):
                for way, arguments in ways.items():
                    taken[way].append(collect(folder, *arguments))
            best = {way: min(times) for way, times in taken.items()}
            added = best["with"] - best["without"]
            rows.append([name, f"{best['without']:.2f}", f"{best['with']:.2f}", f"{added:+.3f}"])
        table(["project", "without, s", "with, s", "added, s"], rows)


if __name__ == "__main__":
    main()
