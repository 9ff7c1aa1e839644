"""``stallkit pack lint``: what is wrong with packs, each finding in a line that editors find."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Callable, Sequence

import click
from rich.table import Table

from stallkit.cli.common import PACK, print_json
from stallkit.cli.output import Exit, colours, plain_console, progress, shown
from stallkit.errors import StallkitError
from stallkit.packs.registry import installed
from stallkit_lab.corpus_lines import Case
from stallkit_lab.evaluate import corpus
from stallkit_lab.lint.findings import Finding, Level, section_of
from stallkit_lab.lint.runner import Count, Linted, lint_installed, lint_path
from stallkit_lab.messages import name_problems, number

_NAMED = 4  # programs of a form, by name


@click.command("lint", short_help="Check a pack.")
@click.argument("packs", metavar="[PACK...]", nargs=-1, type=PACK)
@click.option("--explain", "code", metavar="CODE", help="Say what a finding means, and what to do.")
@click.option("--all", "every", is_flag=True, help="Lint every installed pack.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/lint.md).")
@click.option("--fast", is_flag=True, help="Do not ask recheck about runaway patterns, which takes longest.")
@click.option(
    "--corpus", "paths", metavar="PATH", multiple=True, type=click.Path(exists=True, path_type=Path),
    help="Labelled cases: count the programs that each form is right and wrong on; may be repeated.",
)  # fmt: skip
@click.pass_context
def lint_command(
    ctx: click.Context,
    packs: tuple[str, ...],
    code: str | None,
    every: bool,
    as_json: bool,
    fast: bool,
    paths: tuple[Path, ...],
) -> None:
    """Check a pack: PACK is a signatures.toml, a folder that holds one, or an installed pack's name.

    A comment on the line of a finding, or above it, takes it out: `# lint: ignore SK105: nothing else is on it`; above
    a [[signature]] it is for the whole signature.  What protects from wrong keys (SK3xx) cannot be taken out.

    \b
    Exit codes: 0 no error; 7 errors; 1 operational error; 64 usage.
    Example:    stallkit pack lint src/stallkit_acme --json
                stallkit pack lint --explain SK105
    """
    if code is not None:
        _explain(code)
        return
    if every == bool(packs):
        raise click.UsageError("name a pack, or say --all")
    problems: list[StallkitError] = []
    with progress("lint") as tell:
        tell(0, packs[0] if packs else "")
        cases = [case for path in paths for case in corpus.load(path, problems)]
        results = _all(fast, tell, cases) if every else [_one(pack, fast, cases) for pack in packs]
    if as_json:
        print_json(_findings_as_object(results))
    else:
        _print_findings(results)
    name_problems(list(dict.fromkeys([*map(str, problems), *(note for result in results for note in result.notes)])))
    ctx.exit(Exit.FINDINGS if problems or any(result.failed for result in results) else Exit.OK)


def _explain(code: str) -> None:
    try:
        section = section_of(code)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    click.echo(section, nl=False)


def _one(pack: str, fast: bool, cases: Sequence[Case]) -> Linted:
    path = Path(pack)
    found = lint_path(path, not fast, cases) if path.exists() else None
    found = found or lint_installed(pack, not fast, cases=cases)
    if found is None:
        names = ", ".join(one.name for one in installed().packs) or "none"
        raise click.UsageError(f"no such file, folder or installed pack: {pack!r}; installed: {names}")
    return found


def _all(fast: bool, tell: Callable[[float, str], None], cases: Sequence[Case]) -> list[Linted]:
    packs = installed()
    names = [pack.name for pack in packs.packs] + [getattr(one, "entry_point", "") for one in packs.problems]
    found = []
    begun = time.monotonic()
    for name in names:
        tell(time.monotonic() - begun, name)
        found.append(lint_installed(name, not fast, packs, cases))
    return [one for one in found if one is not None]


def _findings_as_object(results: list[Linted]) -> dict[str, object]:
    return {
        "version": 1,
        "packs": [result.pack for result in results],
        "errors": sum(result.count(Level.ERROR) for result in results),
        "warnings": sum(result.count(Level.WARNING) for result in results),
        "findings": [finding.as_object() for result in results for finding in result.findings],
        "notes": list(dict.fromkeys(note for result in results for note in result.notes)),
        "counts": [{"pack": result.pack, **count.as_object()} for result in results for count in result.counts],
    }


def _print_findings(results: list[Linted]) -> None:
    """One line of place, code and message, one with what to do; plain text, so that editors find the places."""
    for result in results:
        for finding in result.findings:
            _print_one(finding)
        if result.counts:
            _print_counts(result.counts)
        errors, warnings = result.count(Level.ERROR), result.count(Level.WARNING)
        click.echo(shown(result.pack, f": {number(errors, 'error')}, {number(warnings, 'warning')}"))


def _print_counts(counts: Sequence[Count]) -> None:
    """One line for each form, and for each of its clauses alone: on how many programs it was right, and wrong."""
    table = Table(box=None, pad_edge=False)
    for column in ("form", "clause", "right", "wrong", "programs"):
        table.add_column(column, overflow="fold", justify="right" if column in ("right", "wrong") else "left")
    for one in counts:
        named = "" if one.clause else _named(one)
        table.add_row(shown(one.signature), one.clause, str(len(one.right)), str(len(one.wrong)), named)
    plain_console().print(table)


def _named(count: Count) -> str:
    """The programs of a form, those first that it is wrong on."""
    some = [f"not {shown(name)}" for name in count.wrong] + [shown(name) for name in count.right]
    return ", ".join(some[:_NAMED]) + (f" and {len(some) - _NAMED} more" if len(some) > _NAMED else "")


def _print_one(finding: Finding) -> None:
    where = ", ".join(map(shown, filter(None, (finding.signature, finding.clause))))
    colour = "red" if finding.level is Level.ERROR else "yellow"
    head = click.style(f"{finding.code} {finding.level}", fg=colour) if colours() else f"{finding.code} {finding.level}"
    # Each alone: the redactor would mask what follows `secret:` or `password:`, which are names of signatures.
    message = f"{where}: {shown(finding.message)}" if where else shown(finding.message)
    click.echo(f"{shown(finding.place)}: {head}: {message}")
    click.echo(f"    {finding.rule.todo} ({finding.rule.explain})")
