"""What eval, tune and lint cost beside a plain pass of `json.loads` over the same corpora: `python benchmarks/eval.py`.

CPU time, in turns within one process, and of whole commands in processes of their own.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from stallkit_lab.corpus_lines import Line
from stallkit_lab.evaluate.backends import Settings, judge_chunk
from stallkit_lab.evaluate.corpus import load
from stallkit_lab.evaluate.evaluation import evaluate, tally
from timing import interleaved, table

from stallkit import Engine

ROOT = Path(__file__).parent.parent
CORPUS = sorted(path for name in ("agents", "captured-*", "cli") for path in ROOT.glob(f"tests/corpus/{name}.jsonl"))
PACK, SIGNATURE = ROOT / "plugins" / "structural", "shell_yn:yes_no"
RUNS = 3


def in_turns() -> None:
    """Reading, judging and counting, each against `json.loads`."""
    engine = Engine.default()
    lines = [line for path in CORPUS for line in path.read_bytes().splitlines()]
    cases = [case for path in CORPUS for case in load(path)]
    settings = Settings(engine.packs)
    items = [Line("", number, line) for number, line in enumerate(lines)]
    predictions = judge_chunk(settings, items).predictions
    taken = interleaved(
        {
            "`json.loads`": lambda: [json.loads(line) for line in lines],
            "read the cases": lambda: [item.read() for item in items],
            "judge them": lambda: evaluate(cases, engine),
            "read and judge": lambda: judge_chunk(settings, items),
            "count": lambda: tally(predictions),
        },
        rounds=7,
    )
    unit = taken["`json.loads`"]
    print(f"{len(lines)} cases, {sum(map(len, lines)):,} bytes:\n")
    table(
        ["step", "ms", "us a case", "against `json.loads`"],
        [
            [name, f"{one * 1e3:.0f}", f"{one / len(lines) * 1e6:.0f}", f"{one / unit:.1f}"]
            for name, one in taken.items()
        ],
    )


def whole() -> None:
    """Commands from start to end, in turns with a bare interpreter that reads the same JSON."""
    corpora = list(map(str, CORPUS))
    stallkit = [sys.executable, "-c", "from stallkit.cli.main import main; main()"]
    evaluated = [*stallkit, "eval", *corpora]
    plain = f"import json\nfor path in {corpora!r}:\n for line in open(path): json.loads(line)"
    ways = {
        "python, `json.loads`": [sys.executable, "-c", plain],
        "`packs`": [*stallkit, "pack", "list"],
        "`eval --json`": [*evaluated, "--json"],
        "`eval`": evaluated,
        "`eval --leave-out program`": [*evaluated, "--leave-out", "program"],
        "`eval --jobs 2`": [*evaluated, "--jobs", "2"],
        f"`tune {SIGNATURE}`": [*stallkit, "pack", "tune", SIGNATURE, *(f"--corpus={one}" for one in corpora)],
        f"`lint --fast`, {PACK.name}": [*stallkit, "pack", "lint", "--fast", str(PACK)],
        f"`lint`, {PACK.name}": [*stallkit, "pack", "lint", str(PACK)],
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(RUNS):
        for name, command in ways.items():
            taken[name].append(_cpu_of(command))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    unit = medians["python, `json.loads`"]
    table(
        ["command", "CPU s, median", "least", "against `json.loads`"],
        [[name, f"{one:.2f}", f"{min(taken[name]):.2f}", f"{one / unit:.0f}"] for name, one in medians.items()],
    )


def _cpu_of(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    in_turns()
    whole()


if __name__ == "__main__":
    main()
