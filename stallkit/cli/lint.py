"""``stallkit lint``: what is wrong with a pack, as coded findings."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Callable

import click

from stallkit.cli.common import print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.progress import progress
from stallkit.lab.lint.findings import Finding, Level
from stallkit.lab.lint.runner import Linted, lint_installed, lint_path
from stallkit.packs.registry import installed

__all__ = ["command"]


@click.command("lint")
@click.argument("pack", metavar="[PACK]", required=False)
@click.option("--all", "every", is_flag=True, help="Lint every installed pack.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/lint/index.md).")
@click.option("--fast", is_flag=True, help="Do not ask recheck about runaway patterns, which takes longest.")
@click.pass_context
def command(ctx: click.Context, pack: str | None, every: bool, as_json: bool, fast: bool) -> None:
    """Say what is wrong with a pack: PACK is a signatures.toml, a folder that holds one, or an installed pack's name.

    \b
    Exit codes: 0 no error; 7 errors; 1 operational error; 64 usage.
    Example:    stallkit lint src/stallkit_acme --json
    """
    if every == (pack is not None):
        raise click.UsageError("name a pack, or say --all")
    with progress("lint") as tell:
        tell(0, pack or "")
        results = _all(fast, tell) if every else [_one(str(pack), fast)]
    if as_json:
        print_json(_as_object(results))
    else:
        _print(results)
    for note in dict.fromkeys(note for result in results for note in result.notes):
        click.echo(f"stallkit: {shown(note)}", err=True)
    ctx.exit(Exit.FINDINGS if any(result.failed for result in results) else Exit.OK)


def _one(pack: str, fast: bool) -> Linted:
    path = Path(pack)
    found = lint_path(path, not fast) if path.exists() else None
    found = found or lint_installed(pack, not fast)
    if found is None:
        names = ", ".join(one.name for one in installed().packs) or "none"
        raise click.UsageError(f"no file, folder or installed pack {pack!r}; installed: {names}")
    return found


def _all(fast: bool, tell: Callable[[float, str], None]) -> list[Linted]:
    packs = installed()
    names = [pack.name for pack in packs.packs] + [getattr(one, "entry_point", "") for one in packs.problems]
    found = []
    begun = time.monotonic()
    for name in names:
        tell(time.monotonic() - begun, name)
        found.append(lint_installed(name, not fast, packs))
    return [one for one in found if one is not None]


def _as_object(results: list[Linted]) -> dict[str, object]:
    return {
        "version": 1,
        "packs": [result.pack for result in results],
        "errors": sum(result.count(Level.ERROR) for result in results),
        "warnings": sum(result.count(Level.WARNING) for result in results),
        "findings": [finding.as_object() for result in results for finding in result.findings],
        "notes": list(dict.fromkeys(note for result in results for note in result.notes)),
    }


def _print(results: list[Linted]) -> None:
    """One line of place, code and message, one of what to do; plain text, so that editors find the places."""
    for result in results:
        for finding in result.findings:
            _print_one(finding)
        errors, warnings = result.count(Level.ERROR), result.count(Level.WARNING)
        click.echo(shown(f"{result.pack}: {_number(errors, 'error')}, {_number(warnings, 'warning')}"))


def _print_one(finding: Finding) -> None:
    where = ", ".join(filter(None, (finding.signature, finding.clause)))
    colour = "red" if finding.level is Level.ERROR else "yellow"
    head = (
        click.style(f"{finding.code} {finding.level}", fg=colour) if _colours() else f"{finding.code} {finding.level}"
    )
    # Each by itself: what follows a `secret:` or `password:`, as signatures are called, would be masked.
    told = f"{shown(where)}: {shown(finding.message)}" if where else shown(finding.message)
    click.echo(f"{shown(finding.place)}: {head}: {told}")
    click.echo(f"    {finding.rule.todo} ({finding.rule.page})")


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
