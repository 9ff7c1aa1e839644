"""``stallkit pack try``: one clause tried on screens before it is in a pack: on which rows it holds, and whether it
would win there.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Iterable, Iterator, Sequence

import click
import regex
from attrs import field, frozen

from stallkit.cli.common import engine, print_json
from stallkit.cli.output import Exit, shown
from stallkit.detect.engine import Engine, Fate, Rule, try_rule
from stallkit.detect.matcher import TIMEOUT_S, Budget, find, last_in, region
from stallkit.detect.signature import Clause, Kind, Pack, Signature, State
from stallkit.errors import SignatureError, StallkitError
from stallkit.jsonio import unstructure
from stallkit.terminal.screen import Screen
from stallkit_lab.evaluate import corpus
from stallkit_lab.messages import STATES, name_problems

_NAME = "tried"
_LAST = "~"  # of packs of one priority, the last by the distribution's name: what wins so wins in any


class Wins(StrEnum):
    """What would become of a signature of this clause alone."""

    WINS = "wins"
    SHADOWED = "shadowed"  # another signature is tried before it, and matches
    STALE = "stale"  # the program went on below it
    UNDECIDED = "undecided"  # the search takes too long
    NO = "no"


@frozen
class Row:
    """A row of the screen on which the clause holds, 0-based, and the text that it found there."""

    row: int
    text: str


@frozen
class Trial:
    """A clause on one screen; `other` is the signature that wins with it there, `today` the one without it."""

    name: str = field(metadata={"key": "screen"})
    rows: tuple[Row, ...]
    wins: Wins
    other: str | None = None
    today: str | None = None


def tried(
    clause: Clause,
    screens: Iterable[tuple[str, Screen]],
    packs: Sequence[Pack],
    state: State = State.WAITING,
    foreground: Sequence[str] = (),
) -> Iterator[Trial]:
    """The clause on each named screen, as the only one of a signature beside the packs.

    `foreground` are the programs of its pack, which puts it before packs without.  Raises SignatureError for a pattern
    that does not compile.
    """
    kind = Kind.QUESTION if state is State.WAITING else None
    signature = Signature(id=_NAME, title=_NAME, state=state, kind=kind, all_of=[clause])
    mine = Pack(name=_free(packs), signatures=[signature], foreground=foreground, distribution=_LAST)
    try:
        together, today = Engine([*packs, mine]), Engine(packs)
    except SignatureError as error:
        raise SignatureError(_NAME, "pattern", error.why) from error
    rule = Rule(mine, signature)
    for name, screen in screens:
        yield _trial(name, screen, rule, together, today)


def counts(trials: Iterable[Trial]) -> dict[str, int]:
    """How many screens there are of each outcome."""
    found = Counter(one.wins for one in trials)
    return {str(wins): found[wins] for wins in Wins}


def _trial(name: str, screen: Screen, rule: Rule, together: Engine, today: Engine) -> Trial:
    clause = rule.signature.all_of[0]
    held = try_rule(rule, screen, Budget()).held
    if not held:
        return Trial(name, (), Wins.NO if held is False else Wins.UNDECIDED)
    match = together.detect(screen).match
    other = f"{match.pack.name}:{match.signature.id}" if match else None
    was = today.detect(screen).match
    before = f"{was.pack.name}:{was.signature.id}" if was else None
    rows = tuple(_rows(clause, screen))
    if other == rule.name:
        return Trial(name, rows, Wins.WINS, today=before)
    fate = next(one.fate for one in together.explain(screen) if one.rule.name == rule.name)
    return Trial(name, rows, Wins.STALE if fate is Fate.STALE else Wins.SHADOWED, other, before)


def _rows(clause: Clause, screen: Screen) -> Iterator[Row]:
    """Every row on which it holds alone; where it needs several, the one on which it begins."""
    where = region(clause.where, screen)
    lines = where.text.split("\n") if where else []
    alone = []
    for number, line in enumerate(lines):
        try:
            place = last_in(clause, line, TIMEOUT_S)
        except TimeoutError:
            continue
        if place is not None and where is not None:
            alone.append(Row(where.row + number, line[slice(*place)]))
    if alone:
        yield from alone
    elif (span := find(clause, screen, Budget()).span) is not None:
        yield Row(span.line, span.text)


def _free(packs: Sequence[Pack]) -> str:
    names = {pack.name for pack in packs}
    name = _NAME
    while name in names:
        name += "_"
    return name


# --- the command ---


@click.command("try", short_help="Try a pattern on screens before it is in a pack.")
@click.argument("pattern")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--literal", is_flag=True, help="PATTERN is a literal text, not a pattern.")
@click.option("--where", default="screen", show_default=True, metavar="REGION", help="As in a pack: prompt_line, ...")
@click.option("--ignore-case", is_flag=True, help="Letters of any case.")
@click.option("--state", type=click.Choice(STATES), default="waiting", show_default=True, help="What it would say.")
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
    Example:    stallkit pack try '^Deploy to \\S+\\?' screens/ --where prompt_line
    """
    problems: list[StallkitError] = []
    try:
        if not literal:
            regex.compile(pattern)
        clause = Clause(pattern if literal else None, None if literal else pattern, where, ignore_case)
        cases = (case for file in files for case in corpus.load(file, problems, bare=True))
        screens = ((case.id, case.snapshot.screen) for case in cases)
        trials = list(tried(clause, screens, engine().packs, State(state), foreground))
    except (ValueError, regex.error, SignatureError) as error:
        raise click.UsageError(f"{pattern!r}: {getattr(error, 'why', error)}") from error
    if as_json:
        found = [unstructure(one) for one in trials]
        print_json({"version": 1, "clause": str(clause), "screens": found, "counts": counts(trials)})
    else:
        _print(trials, counts(trials), everything)
    name_problems(problems)
    ctx.exit(Exit.FINDINGS if problems or not any(one.rows for one in trials) else Exit.OK)


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
