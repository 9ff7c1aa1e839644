"""``stallkit eval``: how right the installed packs are on labelled cases, and whether that got worse."""

from __future__ import annotations

import re
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Sequence

import click
from rich.progress import MofNCompleteColumn, Progress

from stallkit.cli.common import print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.speech import quiet
from stallkit.cli.tables import plain_console
from stallkit.errors import StoreError
from stallkit.jsonio import unstructure
from stallkit.packs.registry import installed_engine
from stallkit_lab.cli import eval_tables
from stallkit_lab.evaluate import compare, corpus
from stallkit_lab.evaluate.backends import EvalOptions, evaluate_paths
from stallkit_lab.evaluate.evaluation import GROUPS, worst
from stallkit_lab.evaluate.report_html import page

__all__ = ["eval_command"]

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
    "--worst",
    "count",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Show N errors of each sort.",
)
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
    before = None if baseline is None else compare.read(baseline)
    packs = installed_engine()
    with _Bar(paths) as bar:
        found = evaluate_paths(
            paths, packs.packs, EvalOptions(screen_only, holdout is not None, jobs, cluster), bar.add
        )
    result = found.as_object(by)
    result["problems"] = [*map(str, packs.problems), *result["problems"]]
    change = None if before is None else compare.compare(before, found.predictions, tolerance, found.settings)
    if change is not None:
        result["baseline"] = unstructure(change)
    if save is not None:
        with _writing(save):
            compare.save(save, result, found.predictions)
    if html is not None:
        with _writing(html):
            html.write_text(page(result, found.predictions), encoding="utf-8", errors="backslashreplace")
    if as_json:
        print_json(result)
    else:
        eval_tables.show(result, worst(found.predictions, count))
    _name_problems(result)
    ctx.exit(Exit.FINDINGS if result["problems"] or (change and change.regressions) else Exit.OK)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Add the file's name to an error of writing: the system gives none where the disk is full."""
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


def _name_problems(result: dict[str, Any]) -> None:
    problems = result["problems"]
    for problem in problems[:_SHOWN_PROBLEMS]:
        click.echo(f"stallkit: {shown(problem)}", err=True)
    if len(problems) > _SHOWN_PROBLEMS:
        click.echo(f"stallkit: {len(problems) - _SHOWN_PROBLEMS} more problems; --json lists them all", err=True)
