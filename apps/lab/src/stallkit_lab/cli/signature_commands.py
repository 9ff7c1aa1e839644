"""``stallkit add-signature`` and ``tune``: propose a signature from screens, and measure what its clauses do."""

from __future__ import annotations

import getpass
import platform
import time
from pathlib import Path
from typing import Iterator

import click
import regex
from attrs import evolve
from rich.measure import Measurement
from rich.table import Table

from stallkit.cli.common import SIGNATURE, print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.installed import engine
from stallkit.cli.speech import say
from stallkit.cli.tables import page_table, plain_console, progress, ruled
from stallkit.detect.engine import Rule
from stallkit.detect.signature import Clause, Kind, Signature, State
from stallkit.errors import SignatureError, StallkitError
from stallkit.jsonio import unstructure
from stallkit.packs.registry import Engine, installed, installed_engine
from stallkit.packs.screenfile import read_screen
from stallkit.terminal.screen import Screen
from stallkit.testing import check_signature
from stallkit_lab.add_signature import (
    PACK_FILE,
    Capture,
    Rival,
    Written,
    as_toml,
    find_pack,
    others_in,
    read_capture,
    rivals,
    strangers,
    write,
)
from stallkit_lab.evaluate import corpus
from stallkit_lab.lint.runner import examples_of
from stallkit_lab.propose import NotTold, Proposal, propose
from stallkit_lab.try_pattern import Trial, counts, tried
from stallkit_lab.tune import Effect, Tuning, tune

__all__ = ["add_signature_command", "try_command", "tune_command"]

_NAMED = 3  # of the other screens that look the same
_STATES = [state.value for state in State if state not in (State.GONE, State.UNKNOWN)]


@click.command("add-signature")
@click.argument(
    "screens",
    metavar="SCREEN...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--pack", "directory", metavar="DIR", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The pack's directory, or the folder of its signatures.toml.",
)  # fmt: skip
@click.option("--id", "name", metavar="ID", required=True, help="The signature's name: a-z, 0-9 and _.")
@click.option("--state", required=True, type=click.Choice(_STATES), help="What the screens show.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in Kind]),
    metavar="KIND",
    help=f"What it asks for, if it waits: {', '.join(Kind)}.",
)
@click.option("--title", default="", help="What it is, in a few words.")
@click.option(
    "--others", metavar="PATH", multiple=True, type=click.Path(exists=True, path_type=Path),
    help="Screens that must not match: .txt, or labelled cases (.jsonl, .cast, a folder) in other states.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Write nothing, only show the signature.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/packs.md).")
@click.pass_context
def add_signature_command(
    ctx: click.Context,
    screens: tuple[Path, ...],
    directory: Path,
    name: str,
    state: str,
    kind: str | None,
    title: str,
    others: tuple[Path, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Propose a signature from SCREENs that all show the same prompt (or other state), add it to a pack with the
    screens as its hits and a miss made of them, and check it against its examples.

    Its severity is high and it presses nothing: a person adds keys.

    \b
    Exit codes: 0; 7 it does not meet its examples, or a screen or case cannot be read; 1 operational error,
                or nothing distinguishes the screens; 64 usage.
    Example:    stallkit add-signature one.txt two.txt --pack . --id asks_name \\
                    --state waiting --kind text
    """
    if (kind is None) == (state == State.WAITING):
        raise click.UsageError("--kind is required with --state waiting, and invalid with any other")
    problems: list[StallkitError] = []
    try:
        folder = find_pack(directory)
        captures = [read_capture(path) for path in screens]
        with progress(name) as tell:
            tell(0, "comparing screens")
            beside = list(others_in(folder, others, State(state), problems))
            proposal = _proposal(captures, beside)
        proposal = evolve(proposal, doubts=(*proposal.doubts, *_about_programs(folder, captures)))
        source = (
            f"{len(captures)} captured screen{'s' if len(captures) > 1 else ''}, proposed by stallkit add-signature"
        )
        signature = Signature(
            id=name, title=title or name.replace("_", " "), state=State(state), kind=Kind(kind) if kind else None,
            all_of=proposal.clauses, cursor=proposal.cursor, source=source,
        )  # fmt: skip
        found = list(rivals(folder, signature, captures, installed().packs))
        proposal = evolve(proposal, doubts=(*proposal.doubts, *_beaten(found)))
        written = Written(as_toml(signature), ()) if dry_run else write(folder, signature, captures)
    except ValueError as error:
        raise click.ClickException(shown(error)) from error
    faults = [] if dry_run else _faults(folder, name)
    if as_json:
        print_json(_as_object(signature, proposal, written, found, faults, problems))
    else:
        _print_proposal(proposal, written, found, faults, captures, len(beside))
    for problem in problems:
        click.echo(f"stallkit: {shown(problem)}", err=True)
    ctx.exit(Exit.FINDINGS if faults or problems else Exit.OK)


def _proposal(captures: list[Capture], beside: list[tuple[str, Screen]]) -> Proposal:
    try:
        return propose([one.screen for one in captures], [screen for _, screen in beside], _own_names())
    except NotTold as error:
        alike = [name for name, screen in beside if any(screen is other for other in error.others)]
        named = ", ".join(alike[:_NAMED]) + (", ..." if len(alike) > _NAMED else "")
        raise ValueError(
            f"{error}: {named}; capture more of the screen, or check whether that is the same prompt"
        ) from error


def _about_programs(folder: Path, captures: list[Capture]) -> Iterator[str]:
    for name in strangers(folder, captures):
        yield f"{name} ran in the foreground and is not one of the pack's programs: add it to foreground in {PACK_FILE}"


def _beaten(found: list[Rival]) -> Iterator[str]:
    for rule in dict.fromkeys(one.rule for one in found if one.wins):
        screens = ", ".join(one.screen for one in found if one.wins and one.rule == rule)
        yield f"{rule} wins on {screens}: narrow that one, or name this pack's programs in its foreground"


def _before(found: list[Rival]) -> Iterator[str]:
    """What matched the captures until now, and no more: perhaps the new signature is not needed."""
    for rule in dict.fromkeys(one.rule for one in found if not one.wins):
        screens = ", ".join(one.screen for one in found if not one.wins and one.rule == rule)
        yield f"until now {rule} matched {screens}; the new signature comes before it"


def _own_names() -> set[str]:
    """Words that belong to this machine and its user."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # an id without a name
        user = ""
    return {name for name in (user, platform.node().split(".")[0]) if len(name) > 1}


def _faults(folder: Path, name: str) -> list[str]:
    try:
        check_signature(folder, name)
    except AssertionError as error:
        return str(error).split("\n  ")[1:]
    return []


def _as_object(
    signature: Signature,
    proposal: Proposal,
    written: Written,
    found: list[Rival],
    faults: list[str],
    problems: list[StallkitError],
) -> dict[str, object]:
    return {
        "version": 1,
        "id": signature.id,
        "all_of": [{"text": one.text, "pattern": one.pattern, "where": one.where} for one in proposal.clauses],
        "cursor": signature.cursor,
        "doubts": list(proposal.doubts),
        "rivals": [{"screen": one.screen, "signature": one.rule, "wins": one.wins} for one in found],
        "files": list(map(str, written.files)),
        "faults": faults,
        "problems": list(map(str, problems)),
    }


def _print_proposal(
    proposal: Proposal,
    written: Written,
    found: list[Rival],
    faults: list[str],
    captures: list[Capture],
    others: int,
) -> None:
    for line in written.signature.splitlines():
        click.echo(shown(line))
    click.echo(f"\nproposed from {_number(len(captures), 'capture')}, compared with {_number(others, 'other screen')}")
    for doubt in proposal.doubts:
        click.echo(shown(f"doubtful: {doubt}"))
    for line in _before(found):
        click.echo(shown(line))
    for file in written.files:
        say(shown(f"wrote {file}"))
    if written.files:
        click.echo("it meets its examples" if not faults else "it does not meet its examples:")
    for fault in faults:
        click.echo(shown(f"  {fault}"))


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


_WIDEST = 1000  # columns: every table is narrower


@click.command("tune")
@click.argument("signature", metavar="PACK:ID", type=SIGNATURE)
@click.argument("more", metavar="[PATH...]", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--corpus", "paths", metavar="PATH", multiple=True, type=click.Path(exists=True, path_type=Path),
    help="Labelled cases to judge: .jsonl, .cast, .txt, or a folder; may be repeated.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/lint/tune.md).")
@click.pass_context
def tune_command(
    ctx: click.Context, signature: str, more: tuple[Path, ...], paths: tuple[Path, ...], as_json: bool
) -> None:
    """Drop or loosen each clause of an installed signature, and count what that changes.

    Without --corpus only the pack's own examples are judged.

    \b
    Exit codes: 0; 7 a case cannot be read; 1 operational error; 64 usage.
    Example:    stallkit tune shell_yn:yes_no --corpus corpus.jsonl
    """
    engine = installed_engine()
    rule = _rule(signature, engine)
    problems: list[StallkitError] = []
    cases = [case for path in (*paths, *more) for case in corpus.load(path, problems)]
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
            told = f"no --corpus: only the examples of {rule.pack.name} were judged; precision and recall are unknown"
            click.echo(shown(told), err=True)
    for problem in problems:
        click.echo(f"stallkit: {shown(problem)}", err=True)
    ctx.exit(Exit.FINDINGS if problems else Exit.OK)


def _rule(name: str, engine: Engine) -> Rule:
    found = [rule for rule in engine.rules if rule.name == name]
    if not found:
        raise click.UsageError(f"no signature {name!r} is installed; stallkit packs --signatures lists them")
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


# --- ``stallkit try`` ---

_TRIED = [state.value for state in State if state not in (State.GONE, State.UNKNOWN)]


@click.command("try")
@click.argument("pattern")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--literal", is_flag=True, help="PATTERN is a literal text, not a pattern.")
@click.option("--where", default="screen", show_default=True, metavar="REGION", help="As in a pack: prompt_line, ...")
@click.option("--ignore-case", is_flag=True, help="Letters of any case.")
@click.option("--state", type=click.Choice(_TRIED), default="waiting", show_default=True, help="What it would say.")
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
