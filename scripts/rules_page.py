"""Writes the rules of `stallkit.judging.table` into docs/judge.md, each with how often it was right.

Right is a state that is the label's, of the looks of tests/corpus (with what the kernel, the terminal and the program
said) whose verdict that row decided.  A minute.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from stallkit_lab.evaluate.corpus import load
from stallkit_lab.evaluate.prediction import decided

from stallkit import Engine, judge
from stallkit.judging.table import printed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "judge.md"
BEGIN, END = "<!-- printed by stallkit.judging.table.printed -->\n", "<!-- end -->"


def counted() -> dict[str, str]:
    """By the name of each row that decided: right verdicts, and all."""
    engine, right, all_of = Engine.default(), Counter[str](), Counter[str]()
    for path in sorted((ROOT / "tests" / "corpus").rglob("*.jsonl")):
        for case in load(path, []):
            verdict = judge(decided(engine, case.snapshot), case.snapshot, case.history)
            all_of[verdict.rule or ""] += 1
            right[verdict.rule or ""] += verdict.state is case.label.state
    return {name: f"{right[name]} of {count}" for name, count in all_of.items()}


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(printed(counted())) + f"\n\n{END}{rest.partition(END)[2]}")
