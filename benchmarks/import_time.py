"""What importing stallkit costs over bare Python, and what it pulls in: `python benchmarks/import_time.py`.

Exits 1 if `import stallkit`, or the engine and the screen, load a module that they are meant to do without.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from timing import table

ROUNDS = 15
# What a caller may do first; `import stallkit` alone is lazy, so the second line is what a use of the library costs.
STARTS = {
    "bare Python": "pass",
    "import stallkit": "import stallkit",
    "from stallkit.detect.engine import Engine": "from stallkit.detect.engine import Engine",
    "from stallkit import Engine, Screen": "from stallkit import Engine, Screen",
    "... and Engine.default()": "from stallkit import Engine, Screen; Engine.default()",
    "... and a first detect()": "from stallkit import Engine, Screen; Engine.default().detect(Screen.from_text('a? '))",
    "import attrs": "import attrs",
    "import pluggy": "import pluggy",
    "import importlib.metadata": "import importlib.metadata",
}
HEAVY = ["pexpect", "sqlite3", "asyncio", "click", "rich", "hypothesis", "pluggy", "regex"]
MAY_LOAD = {"from stallkit import Engine, Screen": {"pluggy"}}  # the registry speaks pluggy with packs


def cpu_seconds(source: str) -> float:
    """User and system time of a fresh interpreter that runs the source."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", source], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def heavy(source: str) -> list[str]:
    """Which of the heavy modules the source loads."""
    code = f"{source}\nimport sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.split()


def main() -> int:
    taken: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(ROUNDS):
        for name, source in STARTS.items():
            taken[name].append(cpu_seconds(source))
    bare = statistics.median(taken["bare Python"])
    loaded = {name: heavy(source) for name, source in STARTS.items()}
    rows = [
        [f"`{name}`", f"{(statistics.median(times) - bare) * 1e3:+.0f} ms", " ".join(loaded[name]) or "-"]
        for name, times in taken.items()
    ]
    print(f"Bare Python takes {bare * 1e3:.0f} ms of CPU time; over it, medians of {ROUNDS} runs in turns:\n")
    table(["start", "CPU time", "of the heavy modules it loads"], rows)
    too_much = {
        name: found
        for name in ("import stallkit", "from stallkit import Engine, Screen")
        if (found := sorted(set(loaded[name]) - MAY_LOAD.get(name, set())))
    }
    for name, found in too_much.items():
        print(f"{name} loads {', '.join(found)}, which it is meant to do without")
    return 1 if too_much else 0


if __name__ == "__main__":
    sys.exit(main())
