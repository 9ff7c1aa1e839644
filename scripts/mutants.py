"""For scripts/mutants: which of the faults that cosmic-ray can make are tried, and what came of them."""

from __future__ import annotations

import ast
import random
import re
import sqlite3
import sys
from pathlib import Path

SEED = 20261127
# One fault of each sort at a place.  Left out are those that any import finds, such as & made +, and those that change
# nothing, such as | in an annotation.
SORTS = re.compile(
    r"core/(?:AddNot|Replace(?:AndWithOr|OrWithAnd|TrueWithFalse|FalseWithTrue|BreakWithContinue|ContinueWithBreak)"
    r"|ReplaceUnaryOperator_Delete_(?:Not|Invert|USub)|ZeroIterationForLoop|NumberReplacer|ExceptionReplacer"
    r"|ReplaceBinaryOperator_(?:BitAnd_BitOr|BitOr_BitAnd|Add_Sub|Sub_Add|Mul_Div)"
    r"|ReplaceComparisonOperator_(?:IsNot_Is|Is_IsNot|Eq_NotEq|NotEq_Eq|GtE_Gt|GtE_Lt|Gt_GtE|Gt_LtE|LtE_Lt|LtE_Gt|Lt_LtE|Lt_GtE))"
)


def chosen(faults: sqlite3.Connection, most: int) -> None:
    """Leave those that are tried, `most` of them by lot."""
    spec = "select job_id, module_path, operator_name, start_pos_row, start_pos_col from mutation_specs"
    kept, annotated = [], dict[str, set[tuple[int, int]]]()
    for job, path, sort, row, column in faults.execute(f"{spec} order by operator_name, occurrence, operator_args"):
        if path not in annotated:
            annotated[path] = _annotated(path)
        if SORTS.fullmatch(sort) and (row, column) not in annotated[path]:
            kept.append(job)
    kept = random.Random(SEED).sample(kept, most) if 0 < most < len(kept) else kept
    for table in ("mutation_specs", "work_items"):
        faults.execute(f"delete from {table} where job_id not in ({', '.join('?' * len(kept))})", kept)


def _annotated(path: str) -> set[tuple[int, int]]:
    """Each place in an annotation, as (row, column)."""
    nodes = ast.walk(ast.parse(Path(path).read_text()))
    found = (getattr(node, name, None) for node in nodes for name in ("annotation", "returns"))
    return {
        (one.lineno, column)
        for one in found
        if isinstance(one, ast.expr) and one.end_col_offset is not None
        for column in range(one.col_offset, one.end_col_offset)
    }


def told(faults: sqlite3.Connection) -> None:
    """Print what no test found, and how many were."""
    results = faults.execute("select test_outcome, diff from work_results").fetchall()
    missed = [diff for outcome, diff in results if outcome == "SURVIVED"]
    print(*missed, sep="\n\n")
    print(f"{len(results) - len(missed)} of {len(results)} found: {1 - len(missed) / max(1, len(results)):.1%}")


if __name__ == "__main__":
    with sqlite3.connect(sys.argv[2]) as connection:
        chosen(connection, int(sys.argv[3])) if sys.argv[1] == "chosen" else told(connection)
