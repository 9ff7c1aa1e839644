"""``stallkit matrix``, ``lint`` and ``new-pack``: document, check and create packs."""

from __future__ import annotations

import shlex
import time
from itertools import groupby
from pathlib import Path
from typing import Callable, Iterator, Sequence

import click
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import PACK, print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.speech import colours, say
from stallkit.cli.tables import page_table, plain_console, progress, wide_console
from stallkit.errors import StallkitError, UnknownName
from stallkit.packs.registry import find, installed, installed_engine
from stallkit_lab.corpus_lines import Case
from stallkit_lab.evaluate import corpus
from stallkit_lab.evaluate.holdout import installed_package_dirs
from stallkit_lab.lint.findings import Finding, Level, page_of
from stallkit_lab.lint.programs import Count
from stallkit_lab.lint.runner import Linted, lint_installed, lint_path
from stallkit_lab.matrix import Row, as_markdown, matrix
from stallkit_lab.new_pack import names_of, programs_of, write

__all__ = ["lint_command", "matrix_command", "new_pack_command"]


@click.command("matrix")
@click.argument("programs", metavar="[PROGRAM...]", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--markdown", is_flag=True, help="Print a table for a document.")
def matrix_command(programs: tuple[str, ...], as_json: bool, markdown: bool) -> None:
    """Show what the installed packs recognise: program by version by kind, and when it was last captured.

    PROGRAM: show those only.  Read from the packs' captured hits.

    \b
    Exit codes: 0; 1 no pack is installed; 64 no such program was seen.
    Example:    stallkit matrix claude-code
    """
    rows = [
        row
        for row in matrix(installed_engine().packs, installed_package_dirs())
        if not programs or row.program in programs
    ]
    if not rows:
        asked = ", ".join(programs) or "any program"
        raise UnknownName(
            "matrix", asked, "no installed pack has a capture of it", "stallkit matrix lists those that have one"
        )
    if as_json:
        print_json({"version": 1, "rows": [row.as_object() for row in rows]})
    elif markdown:
        click.echo(as_markdown(rows), nl=False)
    else:
        _print_matrix(rows)


def _as_columns(rows: Sequence[Row]) -> Iterator[str]:
    """A whole row each, however long its last column is."""
    table: list[tuple[str, ...]] = [("program", "version", "asks or is", "severity", "keys", "last seen", "signatures")]
    for row in rows:
        cells = (row.program, row.version, row.kind, row.severity, row.keys, row.seen, " ".join(row.signatures))
        table.append(tuple(map(shown, cells)))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _print_matrix(rows: Sequence[Row]) -> None:
    """A heading for each version of each program, and what was seen of it below; in a pipe a whole row each."""
    made = wide_console()
    if not made.is_terminal:
        for line in _as_columns(rows):
            click.echo(line)
        return
    parts: list[object] = []
    for (program, version), seen in groupby(rows, lambda row: (row.program, row.version)):
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for width in (14, 8, 16, 10):
            table.add_column(min_width=width, overflow="fold")
        for row in seen:
            table.add_row(*(f"  {shown(row.kind)}", *map(shown, (row.severity, row.keys, row.seen))))
        parts += [Text(f"{shown(program)} {shown(version)}".rstrip(), "bold"), table]
    page_table(made, *parts)


_NAMED = 4  # programs of a form, by name


@click.command("lint")
@click.argument("packs", metavar="[PACK...]", nargs=-1, type=PACK)
@click.option("--explain", "code", metavar="CODE", help="Say what a finding means, and what to do.")
@click.option("--all", "every", is_flag=True, help="Lint every installed pack.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/lint/index.md).")
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
    Example:    stallkit lint src/stallkit_acme --json
                stallkit lint --explain SK105
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
    for note in dict.fromkeys([*map(str, problems), *(note for result in results for note in result.notes)]):
        click.echo(f"stallkit: {shown(note)}", err=True)
    ctx.exit(Exit.FINDINGS if problems or any(result.failed for result in results) else Exit.OK)


def _explain(code: str) -> None:
    try:
        page = page_of(code)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    click.echo(page, nl=False)


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
        click.echo(shown(result.pack, f": {_number(errors, 'error')}, {_number(warnings, 'warning')}"))


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


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


@click.command("new-pack")
@click.argument("name", metavar="NAME")
@click.argument("directory", metavar="[DIRECTORY]", required=False, type=click.Path(path_type=Path))
@click.option("--foreground", multiple=True, metavar="PROGRAM", help="A process it is for; may be repeated. [NAME]")
@click.option(
    "--from", "captures", multiple=True, metavar="SCREEN", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A captured screen: the pack is for the program in its foreground; may be repeated.",
)  # fmt: skip
@click.option("--agent", is_flag=True, help="It is a coding agent: with agent.toml and a source of signals.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/packs.md).")
def new_pack_command(
    name: str,
    directory: Path | None,
    foreground: tuple[str, ...],
    captures: tuple[Path, ...],
    agent: bool,
    as_json: bool,
) -> None:
    """Make the directory of a new pack for the program NAME; it installs, and its tests and lint pass as it is.

    DIRECTORY is ./stallkit-NAME unless given, and must not exist.  How to fill in an agent's: docs/teach-an-agent.md.

    \b
    Exit codes: 0; 1 it cannot be written; 64 usage: an invalid or taken name.
    Example:    stallkit new-pack acme
                stallkit new-pack git --foreground git --foreground perl
                stallkit new-pack --agent tinker
    """
    try:
        names = names_of(name)
        programs = programs_of(foreground, captures)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    taken = [one for one in find() if names.pack in (one.name, one.value.removeprefix("stallkit_"))]
    if taken:
        raise click.UsageError(f"a pack {names.pack} is installed already; choose another name")
    target = Path(names.distribution) if directory is None else directory
    try:
        written = write(names, target, programs, agent)
    except FileExistsError as error:
        raise click.UsageError(f"{target} exists already; name a directory that does not") from error
    if as_json:
        print_json(
            {
                "version": 1,
                "pack": names.pack,
                "distribution": names.distribution,
                "module": names.module,
                "directory": str(target),
                "foreground": programs or [names.program],
                "files": written,
            }
        )
        return
    place = shlex.quote(str(target))
    say(shown(target, f": pack {names.pack}, {len(written)} files"))
    say(shown(f"next: pip install -e {place}'[test]' && cd {place} && pytest && stallkit lint src/{names.module}"))
