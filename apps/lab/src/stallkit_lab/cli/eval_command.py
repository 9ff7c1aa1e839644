"""``stallkit eval``: how right the installed packs are on labelled cases, and whether that got worse."""

from __future__ import annotations

import re
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterable, Iterator, Literal, Mapping, Sequence

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import print_json
from stallkit.cli.output import Exit, page_table, plain_console, quiet, ruled, shown, wide_console
from stallkit.errors import StoreError
from stallkit.jsonio import unstructure
from stallkit.packs.registry import installed_engine
from stallkit_lab.evaluate import corpus, evaluation
from stallkit_lab.evaluate.backends import EvalOptions, evaluate_paths
from stallkit_lab.evaluate.evaluation import GROUP_FIGURES, GROUPS, worst
from stallkit_lab.evaluate.report_html import page
from stallkit_lab.messages import name_problems, number

# --- what ``stallkit eval`` shows to a person ---

_TITLES = {
    "wrong_keys": "keys pressed wrongly",
    "false_positives": "judged waiting, but does not wait",
    "false_negatives": "waits, but was not judged waiting",
}
_LEAST = 80  # columns: a narrower terminal wraps, and no figure is cut or left out
_LISTED = 20  # cases of one sort


def show_tables(result: Mapping[str, Any], worst: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
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
            order = "" if sort == "wrong_keys" else ", gravest first"
            console.print(Text.assemble("\n", (_TITLES[sort], "bold"), order))
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
    for place, column in enumerate(columns):
        longest = max(map(len, column.split()), default=0)
        justify: Literal["left", "right"] = "right" if place else "left"
        table.add_column(column, overflow="fold", no_wrap=not place, min_width=longest, justify=justify)
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
    table = _table(console, number(result["cases"], "case"), "", "95 % interval", "counted")
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


_SHOWN_PROBLEMS = 20
_PATIENCE_S = 1.0  # before a bar appears
_CLUSTER = re.compile(r"dask://(?P<address>(?:[\w.-]+|\[[0-9a-fA-F:]+\]):\d+)/?")


@click.command("eval")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/measure.md).")
@click.option("--by", multiple=True, type=click.Choice(sorted(GROUPS)), help="The figures of each group as well.")
@click.option("--screen-only", is_flag=True, help="Treat every fact but the screen as unknown.")
@click.option(
    "--leave-out", "holdout", type=click.Choice(["program"]),
    help="Judge each program's cases without signatures that name only it.",
)  # fmt: skip
@click.option("--save", type=click.Path(dir_okay=False, path_type=Path), help="Write the result, a baseline for later.")
@click.option(
    "--baseline", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Print what changed since that result.",
)  # fmt: skip
@click.option(
    "--tolerance", type=click.FloatRange(0, 1), default=0.0, metavar="T",
    help="With --baseline: a figure may fall by T, and single cases may become wrong.",
)  # fmt: skip
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with every miss as a screen."
)
@click.option(
    "--worst", "count", type=click.IntRange(min=0), default=5, show_default=True, metavar="N",
    help="Show N errors of each sort.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Judge in N processes.")
@click.option("--engine", metavar="dask://HOST:PORT", help="Judge on a Dask cluster.")
@click.pass_context
def eval_command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    as_json: bool,
    by: tuple[str, ...],
    screen_only: bool,
    holdout: str | None,
    save: Path | None,
    baseline: Path | None,
    tolerance: float,
    html: Path | None,
    count: int,
    jobs: int,
    engine: str | None,
) -> None:
    """Judge labelled cases and count how right that is: corpora (.jsonl), recordings with markers (.cast), screens
    (.txt), and folders of these.

    \b
    Exit codes: 0; 7 a case cannot be read, or worse than the baseline; 1 operational error; 64 usage.
    Example:    stallkit eval corpus.jsonl --by program --baseline before.json
    """
    cluster = _address(engine)
    if cluster is not None and jobs > 1:
        raise click.UsageError("--jobs and --engine exclude each other")
    before = None if baseline is None else evaluation.read(baseline)
    packs = installed_engine()
    options = EvalOptions(screen_only, holdout is not None, jobs, cluster)
    with _Bar(paths) as bar:
        found = evaluate_paths(paths, packs.packs, options, bar.add)
    result = found.as_object(by)
    result["problems"] = [*map(str, packs.problems), *result["problems"]]
    change = None if before is None else evaluation.compare(before, found.predictions, tolerance, found.settings)
    if change is not None:
        result["baseline"] = unstructure(change)
    if save is not None:
        with _writing(save):
            evaluation.save(save, result, found.predictions)
    if html is not None:
        with _writing(html):
            html.write_text(page(result, found.predictions), encoding="utf-8", errors="backslashreplace")
    if as_json:
        print_json(result)
    else:
        show_tables(result, worst(found.predictions, count))
    name_problems(result["problems"], _SHOWN_PROBLEMS)
    ctx.exit(Exit.FINDINGS if result["problems"] or (change and change.regressions) else Exit.OK)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Add the file's name to an error of writing: the system gives none if the disk is full."""
    try:
        yield
    except OSError as error:
        why, todo = error.strerror or str(error), "check disk space and permissions"
        raise StoreError("result", str(path), why, todo) from error


class _Bar:
    """How many cases are judged: on standard error, on a terminal, after the first second."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths, self._begun, self._done = paths, time.monotonic(), 0
        self._watched = not quiet() and sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, count: int) -> None:
        """This many more cases are judged."""
        self._done += count
        if not self._watched or time.monotonic() - self._begun < _PATIENCE_S:
            return
        if self._bar is None:
            columns = [*Progress.get_default_columns(), MofNCompleteColumn()]
            self._bar = Progress(*columns, console=plain_console(stderr=True), transient=True)
            self._bar.add_task("judging", total=sum(map(corpus.count, self._paths)))
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self._done)


def _address(engine: str | None) -> str | None:
    if engine is None:
        return None
    match = _CLUSTER.fullmatch(engine)
    if match is None:
        raise click.UsageError(f"--engine {engine!r}: write dask://HOST:PORT")
    return match["address"]
