"""``stallkit try``: a pattern on screens, before it is in a pack."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import click
import regex

from stallkit.cli.common import print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.installed import engine
from stallkit.detect.signature import Clause, State
from stallkit.errors import SignatureError, StallkitError
from stallkit.jsonio import unstructure
from stallkit.packs.screenfile import read_screen
from stallkit.terminal.screen import Screen
from stallkit_lab.evaluate import corpus
from stallkit_lab.try_pattern import Trial, counts, tried

__all__ = ["try_command"]

_STATES = [state.value for state in State if state not in (State.GONE, State.UNKNOWN)]


@click.command("try")
@click.argument("pattern")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--literal", is_flag=True, help="PATTERN is a literal text, not a pattern.")
@click.option("--where", default="screen", show_default=True, metavar="REGION", help="As in a pack: prompt_line, ...")
@click.option("--ignore-case", is_flag=True, help="Letters of any case.")
@click.option("--state", type=click.Choice(_STATES), default="waiting", show_default=True, help="What it would say.")
@click.option("--foreground", multiple=True, metavar="PROGRAM", help="A program of its pack; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="Also list the screens without a match.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/packs.md).")
@click.pass_context
def try_command(
    ctx: click.Context,
    pattern: str,
    files: tuple[Path, ...],
    literal: bool,
    where: str,
    ignore_case: bool,
    state: str,
    foreground: tuple[str, ...],
    everything: bool,
    as_json: bool,
) -> None:
    """Try one PATTERN on screens: on which rows it holds, and whether a signature of it would win there.

    FILE is a screen (.txt), labelled cases (.jsonl, .cast), or a folder of them, such as a pack's screens.  *wins* is
    beside the installed packs; *shadowed* says which signature comes first; *stale*: the program went on below.

    \b
    Exit codes: 0 it holds somewhere; 1 operational error; 7 it holds nowhere, or a
                file cannot be read; 64 usage.
    Example:    stallkit try '^Deploy to \\S+\\?' screens/ --where prompt_line
    """
    problems: list[StallkitError] = []
    try:
        if not literal:
            regex.compile(pattern)
        clause = Clause(pattern if literal else None, None if literal else pattern, where, ignore_case)
        trials = list(tried(clause, _screens(files, problems), engine().packs, State(state), foreground))
    except (ValueError, regex.error, SignatureError) as error:
        raise click.UsageError(f"{pattern!r}: {getattr(error, 'why', error)}") from error
    if as_json:
        found = [unstructure(one) for one in trials]
        print_json({"version": 1, "clause": str(clause), "screens": found, "counts": counts(trials)})
    else:
        _print(trials, counts(trials), everything)
    for problem in problems:
        click.echo(f"stallkit: {shown(problem)}", err=True)
    ctx.exit(Exit.FINDINGS if problems or not any(one.rows for one in trials) else Exit.OK)


def _screens(files: tuple[Path, ...], problems: list[StallkitError]) -> Iterator[tuple[str, Screen]]:
    """Each screen with its name; a folder's text files need no label here."""
    for file in files:
        inside = [path for path in sorted(file.rglob("*")) if path.is_file()] if file.is_dir() else [file]
        for path in inside:
            if path.suffix in (".jsonl", ".cast") or (path == file and path.suffix != ".txt"):
                yield from ((case.id, case.snapshot.screen) for case in corpus.load(path, problems))
            elif path.suffix == ".txt":
                try:
                    yield str(path), read_screen(path).screen
                except StallkitError as error:
                    problems.append(error)


def _print(trials: list[Trial], found: dict[str, int], everything: bool) -> None:
    for one in trials:
        if not one.rows and one.wins == "no" and not everything:
            continue
        by = f" by {one.other}" if one.other else f" over {one.today}" if one.today else ""
        click.echo(shown(one.name, f": {one.wins}{by}"))
        for row in one.rows:
            click.echo(shown(f"  row {row.row}: {row.text!r}"))
    held = sum(bool(one.rows) for one in trials)
    said = ", ".join(f"{wins} {count}" for wins, count in found.items() if count and wins != "no")
    click.echo(f"holds on {held} of {len(trials)} screens" + (f": {said}" if said else ""))
