"""``stallkit pack tune``: what each clause of a signature is good for."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.measure import Measurement
from rich.table import Table

from stallkit.cli.common import SIGNATURE, print_json
from stallkit.cli.output import Exit, page_table, plain_console, progress, ruled, shown
from stallkit.detect.engine import Rule
from stallkit.errors import StallkitError
from stallkit.packs.registry import Engine, installed_engine
from stallkit_lab.evaluate import corpus
from stallkit_lab.lint.runner import examples_of
from stallkit_lab.messages import name_problems
from stallkit_lab.tune import Effect, Tuning, tune

_WIDEST = 1000  # columns: every table is narrower


@click.command("tune", short_help="Try to drop or loosen each clause of a signature.")
@click.argument("signature", metavar="PACK:ID", type=SIGNATURE)
@click.argument("more", metavar="[PATH...]", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--corpus", "paths", metavar="PATH", multiple=True, type=click.Path(exists=True, path_type=Path),
    help="Screens to judge: a folder of .txt, .jsonl or .cast, or one of these files; may be repeated.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/lint.md).")
@click.pass_context
def tune_command(
    ctx: click.Context, signature: str, more: tuple[Path, ...], paths: tuple[Path, ...], as_json: bool
) -> None:
    """Drop or loosen each clause of an installed signature, and count what that changes.

    The pack's own examples count, and screens made of the signature's hits: the prompt in another dress, with other
    contents in its fields, and texts that only mention it.  Of screens without a label it says whether their verdict
    changes.

    \b
    Exit codes: 0; 7 a case cannot be read; 1 operational error; 64 usage.
    Example:    stallkit pack tune shell_yn:yes_no --corpus screens/
    """
    engine = installed_engine()
    rule = _rule(signature, engine)
    problems: list[StallkitError] = []
    cases = [case for path in (*paths, *more) for case in corpus.load(path, problems, bare=True)]
    begun = time.monotonic()
    with progress(f"tune {rule.name}") as tell:
        found = tune(
            rule, engine.packs, cases, examples_of(rule.pack),
            lambda done, total: tell(time.monotonic() - begun, f"{done} of {total} variants"),
        )  # fmt: skip
    if as_json:
        print_json({**found.as_object(), "problems": list(map(str, problems))})
    else:
        _print_tuning(found)
        if not cases:
            told = (
                f"no --corpus: only the examples of {rule.pack.name} were judged, and screens made of them; they can't"
            )
            click.echo(shown(f"{told} show that a clause is without use"), err=True)
    name_problems(problems)
    ctx.exit(Exit.FINDINGS if problems else Exit.OK)


def _rule(name: str, engine: Engine) -> Rule:
    found = [rule for rule in engine.rules if rule.name == name]
    if not found:
        raise click.UsageError(f"no signature {name!r} is installed; stallkit pack list --signatures lists them")
    return found[0]


def _print_tuning(found: Tuning) -> None:
    state = found.state
    click.echo(
        f"{found.rule.name}: {found.cases} cases, matched {found.matched}; {found.rule.signature.state}:"
        f" precision {_figure(state.precision)}, recall {_figure(state.recall)}, wrong keys {found.wrong_keys}"
    )
    made = plain_console()
    table = Table(box=ruled(made), header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("clause", "change", "precision", "recall", "keys", "cases", "examples", ""):
        table.add_column(column, no_wrap=True)
    for effect in found.effects:
        table.add_row(*(shown(cell) for cell in _row(effect, found.wrong_keys)))
    whole = Measurement.get(made, made.options.update(max_width=_WIDEST), table).maximum
    page_table(plain_console(width=max(made.width, whole)), table)  # a narrow terminal wraps it and cuts no figure
    for name, text in dict.fromkeys((e.mutant.name, str(e.mutant.clause)) for e in found.effects):
        click.echo(shown(name, f": {text}"))


def _row(effect: Effect, wrong_keys: int) -> tuple[str, ...]:
    return (
        effect.mutant.name,
        effect.mutant.change,
        _figure(effect.adds),
        _figure(effect.costs),
        f"{effect.wrong_keys - wrong_keys:+d}",
        str(len(effect.changed)),
        str(len(effect.broken)),
        "without use" if effect.without_use else "",
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
