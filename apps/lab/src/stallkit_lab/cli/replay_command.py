"""``stallkit replay``: the verdicts on a recorded session, moment by moment, beside its markers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Iterator

import click
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.installed import engine
from stallkit.cli.tables import plain_console, progress
from stallkit.errors import StallkitError
from stallkit.jsonio import dump
from stallkit_lab.record.cast import Recording
from stallkit_lab.record.replay import Look, Timeline, looks, timeline

__all__ = ["replay_command"]

_LETTERS = {"waiting": "w", "working": "k", "idle": "i", "quota": "q", "ended": "e", "gone": "g", "unknown": "?"}
_COLOURS = {"waiting": "yellow", "working": "green", "idle": "cyan", "quota": "magenta", "ended": "blue", "gone": "red"}
_SHOWN_PROBLEMS = 20
_LEAST = 120  # columns for the table: a narrower terminal wraps it, and no name is cut


@click.command("replay")
@click.argument("path", metavar="FILE.cast", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/recordings.md).")
@click.option(
    "--speed", type=click.FloatRange(min=0, min_open=True), metavar="X",
    help="Show it as it went, X times as fast, before the table.",
)  # fmt: skip
@click.option("--no-facts", is_flag=True, help="Treat every fact but the screen as unknown.")
@click.pass_context
def replay_command(ctx: click.Context, path: Path, as_json: bool, speed: float | None, no_facts: bool) -> None:
    """Play a recording through the emulator and show how the verdict changed, beside the truth that markers give.

    \b
    Exit codes: 0; 7 something in the recording cannot be read; 1 operational error; 64 usage.
    Example:    stallkit replay session.cast
    """
    problems: list[StallkitError] = []
    recording, made = Recording(path, problems), engine()
    found = recording.marked
    taken = looks(recording, made, with_facts=not no_facts)
    if speed and not as_json:  # two displays at once would draw over each other
        line = timeline(_in_time(taken, speed), found)
    else:
        with progress(f"replaying {path.name}") as tell:
            line = timeline(_with_progress(taken, found.duration, tell), found)
    recording.problems.close()
    if as_json:
        print_json({**dump(line), "problems": [str(problem) for problem in problems]})
    elif recording.header is not None:
        _show(line)
    for problem in problems[:_SHOWN_PROBLEMS]:
        click.echo(f"stallkit: {shown(problem)}", err=True)
    if len(problems) > _SHOWN_PROBLEMS:
        click.echo(f"stallkit: {len(problems) - _SHOWN_PROBLEMS} more problems; --json lists them all", err=True)
    ctx.exit(Exit.FINDINGS if problems else Exit.OK)


def _with_progress(taken: Iterator[Look], duration: float, tell: Any) -> Iterator[Look]:
    began = time.monotonic()
    for look in taken:
        if time.monotonic() - began > 1:
            tell(time.monotonic() - began, f"{look.at:.0f} of {duration:.0f} s")
        yield look


def _in_time(taken: Iterator[Look], speed: float) -> Iterator[Look]:
    """The same looks, each shown when its time has come; the screen is redrawn, no control sequence is replayed."""
    began = time.monotonic()
    made = plain_console()
    with Live(console=made, screen=made.is_terminal, auto_refresh=False) as live:
        for look in taken:
            time.sleep(max(0.0, began + look.at / speed - time.monotonic()))
            verdict = look.verdict
            kind = f":{verdict.kind}" if verdict.kind else ""
            head = f"{look.at:8.1f} s  {verdict.state}{kind}, {verdict.certainty}"
            rows = [shown(row) for row in look.snapshot.screen.lines]
            picture = Text(f"{head}\n", style=_COLOURS.get(verdict.state, "")).append("\n".join(rows), style="default")
            if made.is_terminal:
                live.update(picture, refresh=True)
            yield look


def _show(line: Timeline) -> None:
    made = plain_console()
    width = max(10, min(made.width, 100) - 10)  # of the lanes
    made.width = max(made.width, _LEAST)
    table = Table("at", "verdict", "certainty", "kind", "signature", "truth", "", box=None, pad_edge=False)
    for change in line.changes:
        right = {True: "right", False: "WRONG", None: ""}[change.right]
        words = (change.state, change.certainty, change.kind, change.signature, change.truth)
        cells = [shown(word or "-") for word in words]
        style = None if change.right is not False else "red"
        table.add_row(f"{change.at:.1f}", *cells, right, style=style)
    made.print(table)
    made.print()
    _lane(made, "truth", [_at(line, moment, truth=True) for moment in _moments(line, width)])
    _lane(made, "verdict", [_at(line, moment, truth=False) for moment in _moments(line, width)])
    used = {change.state for change in line.changes} | {
        (change.truth or "").partition(":")[0] for change in line.changes
    }
    legend = ", ".join(f"{letter} {state}" for state, letter in _LETTERS.items() if state in used)
    made.print(f"{'':10}{line.duration:.1f} s; {legend}" if legend else f"{'':10}{line.duration:.1f} s")
    if line.agreement is None:
        made.print("nothing is marked, so accuracy is unknown")
    else:
        made.print(f"right: {line.agreement:.1%} of the marked time")


def _moments(line: Timeline, width: int) -> list[float]:
    return [line.duration * (cell + 0.5) / width for cell in range(width)]


def _at(line: Timeline, moment: float, truth: bool) -> str:
    """The state at a moment, or nothing."""
    found = ""
    for change in line.changes:
        if change.at > moment:
            break
        found = (change.truth or "").partition(":")[0] if truth else change.state or ""
    return found


def _lane(made: Any, name: str, states: list[str]) -> None:
    lane = Text(f"{name:10}")
    for state in states:
        colour = _COLOURS.get(state)
        lane.append(_LETTERS.get(state, "."), style=f"black on {colour}" if colour else "")
    made.print(lane, no_wrap=True, crop=False)
