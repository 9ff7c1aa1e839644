"""Writes the rules of `stallkit.judging.table` into docs/judge.md."""

from __future__ import annotations

from pathlib import Path

from stallkit.judging.table import printed

PAGE = Path(__file__).parents[1] / "docs" / "judge.md"
BEGIN, END = "<!-- printed by stallkit.judging.table.printed -->\n", "<!-- end -->"

before, _, rest = PAGE.read_text().partition(BEGIN)
PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(printed()) + f"\n\n{END}{rest.partition(END)[2]}")
