"""What ``stallkit eval`` shows to a person: tables, and the gravest errors with their reasons."""

from __future__ import annotations

from typing import Any, Iterable, Literal, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import shown
from stallkit.cli.tables import page_table, ruled, wide_console
from stallkit_lab.evaluate.evaluation import GROUP_FIGURES

__all__ = ["show"]

_TITLES = {
    "wrong_keys": "keys pressed wrongly",
    "false_positives": "judged waiting, but does not wait",
    "false_negatives": "waits, but was not judged waiting",
}
_LEAST = 80  # columns: a narrower terminal wraps, and no figure is cut or left out
_LISTED = 20  # cases of one sort


def show(result: Mapping[str, Any], worst: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print an evaluation; `worst` are the errors to show in full."""
    console = wide_console()
    console.width = max(console.width, _LEAST)
    _figures(console, result)
    if result["cases"]:
        _states(console, result["states"]["confusion"])
    _kinds(console, result["kinds"]["confusion"])
    for by, rows in result.get("groups", {}).items():
        _groups(console, by, rows)
    for sort, misses in worst.items():
        if misses:
            console.print(
                Text.assemble("\n", (_TITLES[sort], "bold"), "" if sort == "wrong_keys" else ", gravest first")
            )
            for miss in misses:
                _miss(console, miss)
    if "left_out" in result:
        _left_out(console, result["left_out"])
    if result["skipped"]:
        count = len(result["skipped"])
        what = "1 file without a label was" if count == 1 else f"{count} files without a label were"
        console.print(f"\n{what} skipped (a miss only shows what a screen is not)")
    if "baseline" in result:
        _baseline(console, result["baseline"])


def _table(console: Console, *columns: str) -> Table:
    table = Table(box=ruled(console), header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):
        longest = max(map(len, column.split()), default=0)
        justify: Literal["left", "right"] = "right" if number else "left"
        table.add_column(column, overflow="fold", no_wrap=not number, min_width=longest, justify=justify)
    return table


def _print(console: Console, table: Table) -> None:
    """A table, and in a pipe no blanks behind its rows, and a line between two tables."""
    if console.is_terminal:
        console.print(table)
    else:
        page_table(console, table, "")


def _row(table: Table, *cells: object, style: str = "") -> None:
    table.add_row(*(Text(shown(str(cell)), style) for cell in cells))


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _interval(bounds: Sequence[float] | None) -> str:
    return "" if bounds is None else f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def _figures(console: Console, result: Mapping[str, Any]) -> None:
    table = _table(
        console, f"{result['cases']} case{'' if result['cases'] == 1 else 's'}", "", "95 % interval", "counted"
    )
    for name in ("waiting", "sure"):
        cells = result[name]
        tp, fp, fn = cells["tp"], cells["fp"], cells["fn"]
        counted = {"precision": f"{tp} of {tp + fp}", "recall": f"{tp} of {tp + fn}", "f1": ""}
        for figure, count in counted.items():
            label = "F1" if figure == "f1" else figure
            _row(table, f"{name}: {label}", _number(cells[figure]), _interval(cells[f"{figure}_interval"]), count)
    for name in ("states", "kinds"):
        one = result[name]
        total = sum(sum(row.values()) for row in one["confusion"].values())
        right = sum(row.get(true, 0) for true, row in one["confusion"].items())
        _row(table, f"{name} right", _number(one["accuracy"]), _interval(one["interval"]), f"{right} of {total}")
    for name, wrong in result["wrong_keys"].items():
        right = result["right_keys"][name]
        count = f"{right} right, {wrong} wrong"
        _row(table, f"keys, policy {name}", "", "", count, style="bold red" if wrong else "")
    _print(console, table)


def _states(console: Console, confusion: Mapping[str, Mapping[str, int]]) -> None:
    names = list(dict.fromkeys([*confusion, *(said for row in confusion.values() for said in row)]))
    table = _table(console, "true state", *(f"said {name}" for name in names))
    for true, row in confusion.items():
        cells = [Text(shown(true))]
        for said in names:
            count = row.get(said, 0)
            cells.append(Text(str(count or ""), "green" if said == true else "red"))
        table.add_row(*cells)
    _print(console, table)


def _kinds(console: Console, confusion: Mapping[str, Mapping[str, int]]) -> None:
    wrong = [(row[said], true, said) for true, row in confusion.items() for said in row if said != true]
    if wrong:
        table = _table(console, "true kind", "said", "cases")
        for count, true, said in sorted(wrong, key=lambda one: (-one[0], one[1:])):
            _row(table, true, said, count)
        _print(console, table)


def _groups(console: Console, by: str, rows: Mapping[str, Mapping[str, Any]]) -> None:
    table = _table(console, by, "cases", *GROUP_FIGURES[by], "states right", "kinds right", "wrong keys")
    for name, row in rows.items():
        wrong = sum(row["wrong_keys"].values())
        figures = [*(row["waiting"][figure] for figure in GROUP_FIGURES[by]), row["states"]["accuracy"]]
        figures_shown = ("" if value is None else f"{value:.3f}" for value in (*figures, row["kinds"]["accuracy"]))
        _row(table, name, row["cases"], *figures_shown, wrong or "", style="red" if wrong else "")
    _print(console, table)


def _miss(console: Console, miss: Mapping[str, Any]) -> None:
    true = f"{miss['true']}, {miss['true_kind']}" if miss["true_kind"] else miss["true"]
    said = f"{miss['predicted']}, {miss['predicted_kind']}" if miss["predicted_kind"] else miss["predicted"]
    hard = ", labelled hard" if miss["hard"] else ""
    keys = f"; wrong key by {' and '.join(miss['wrong_keys'])}" if miss["wrong_keys"] else ""
    _say(console, f"  {miss['id']}: is {true}{hard}; judged {said}, {miss['certainty']}{keys}")
    for reason in miss["reasons"]:
        _say(console, f"      because {reason}", "dim")


def _left_out(console: Console, left_out: Mapping[str, Sequence[str]]) -> None:
    console.print(Text.assemble("\n", ("left out for the cases of each program", "bold")))
    for program, rules in left_out.items():
        _say(console, f"  {program}: {', '.join(rules)}")


def _baseline(console: Console, change: Mapping[str, Any]) -> None:
    table = _table(console, "against the baseline, same cases", "before", "now")
    for name, (old, new) in change["figures"].items():
        fell = old is not None and new is not None and new < old
        _row(table, name, _number(old), _number(new), style="bold red" if fell else "green" if new != old else "")
    for name, (old, new) in change["wrong_keys"].items():
        _row(table, f"wrong keys, policy {name}", old, new, style="bold red" if new > old else "")
    _print(console, table)
    for name in ("became_right", "became_wrong", "appeared", "vanished", "settings"):
        if name != "became_wrong" or not any(one.startswith("became wrong") for one in change["regressions"]):
            _listed(console, name.replace("_", " "), change[name])
    for regression in change["regressions"]:
        _say(console, f"worse: {regression}", "bold red")
    if not change["regressions"]:
        _say(console, "no worse than the baseline")


def _listed(console: Console, name: str, ids: Iterable[str]) -> None:
    ids = list(ids)
    if ids:
        more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
        _say(console, f"{name} ({len(ids)}): {', '.join(ids[:_LISTED])}{more}")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(shown(text), style), soft_wrap=True)
