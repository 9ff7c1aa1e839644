"""``stallkit pack add``: a proposed signature is written into a pack's file, with its examples beside it."""

from __future__ import annotations

import getpass
import json
import platform
import re
import shutil
from pathlib import Path
from typing import Iterator, Sequence

import click
from attrs import evolve, frozen

from stallkit.cli.common import print_json
from stallkit.cli.output import Exit, progress, say, shown
from stallkit.detect.engine import Engine
from stallkit.detect.signature import Clause, CursorState, Kind, Pack, Signature, State
from stallkit.errors import PackError, PackFormatError, StallkitError
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.pack_file import parse_pack, read_pack
from stallkit.packs.registry import installed
from stallkit.packs.screenfile import front_of, parse_screen, read_screen, render_screen
from stallkit.redact.redact import redact
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells
from stallkit.testing import check_signature
from stallkit.testing.example import golden, places
from stallkit.testing.lookalikes import mentions
from stallkit.word_tables import INTERPRETERS, RELAYS
from stallkit_lab.evaluate import corpus
from stallkit_lab.messages import STATES, name_problems, number
from stallkit_lab.propose import NotTold, Proposal, propose

PACK_FILE = "signatures.toml"


@frozen
class Capture:
    """A captured screen, masked, and the text to save; `foreground` is empty if it is unknown."""

    name: str
    text: str
    screen: Screen
    foreground: str = ""


@frozen
class Written:
    """What was added to a pack: the signature's text, and the files in order."""

    signature: str
    files: tuple[Path, ...]


def find_pack(directory: Path) -> Path:
    """The folder that holds the pack's file: the directory itself, or the one package in its ``src``.

    Raises ValueError if there is none, or more than one.
    """
    own = directory / PACK_FILE
    found = [own] if own.is_file() else sorted(directory.glob(f"src/*/{PACK_FILE}"))
    if len(found) != 1:
        raise ValueError(f"{directory} holds {len(found) or 'no'} {PACK_FILE}; name the folder of one")
    return found[0].parent


def read_capture(path: Path) -> Capture:
    """A screen file, its credentials masked.  Raises OSError and PackFormatError."""
    text = golden(redact(path.read_bytes().decode("utf-8", "replace")))
    found = parse_screen(text, str(path))
    return Capture(path.stem, text, found.screen, found.front.get("foreground", ""))


def others_in(
    folder: Path, paths: Sequence[Path], state: State, problems: list[StallkitError]
) -> Iterator[tuple[str, Screen]]:
    """The screens that a new signature must not match, each with a name for messages.

    All examples of a pack, the given screens, and cases in other states.  Unreadable parts of the pack and unreadable
    cases are added to `problems`.  Raises PackError and OSError for the pack's file and the given screens.
    """
    for place in places(read_pack(folder / PACK_FILE), folder / "screens"):
        try:
            example = place.read()
        except PackError as error:
            problems.append(error)
        except (AssertionError, OSError) as error:
            why = getattr(error, "strerror", None) or str(error)
            problems.append(PackFormatError(str(place.file), None, "", why, "rename it, fix it, or remove it"))
        else:
            if not example.todo:
                yield f"{example.signature} {example.name}", example.screen
    for path in paths:
        if path.suffix == ".txt" and path.is_file():
            yield str(path), read_screen(path).screen
        else:
            for case in corpus.load(path, problems):
                if case.label.state != state:
                    yield case.id, case.snapshot.screen


def strangers(folder: Path, captures: Sequence[Capture]) -> list[str]:
    """Programs in the foreground of captures that are not the pack's: a verdict there is never sure.

    Interpreters and relays are left out, as `judge` leaves them out.
    """
    known = read_pack(folder / PACK_FILE).foreground
    names = {one.foreground for one in captures if one.foreground} - known - RELAYS
    return sorted(name for name in names if name.rstrip("0123456789.") not in INTERPRETERS) if known else []


@frozen
class Rival:
    """Another signature that matches a capture: `wins` beside the new one as well."""

    screen: str
    rule: str
    wins: bool


def rivals(folder: Path, signature: Signature, captures: Sequence[Capture], packs: Sequence[Pack]) -> Iterator[Rival]:
    """Where a signature of the pack, or of another one, matches a capture with and without the new signature."""
    pack = read_pack(folder / PACK_FILE)
    others = [one for one in packs if one.name != pack.name]
    kept = [one for one in pack.signatures if one.id != signature.id]
    before = Engine([*others, *([evolve(pack, signatures=kept)] if kept else [])])
    after = Engine([*others, evolve(pack, signatures=[*kept, signature])])
    for capture in captures:
        was, now = before.detect(capture.screen).match, after.detect(capture.screen).match
        if was is not None:
            wins = now is None or (now.pack.name, now.signature.id) != (pack.name, signature.id)
            yield Rival(capture.name, f"{was.pack.name}:{was.signature.id}", wins)


def write(folder: Path, signature: Signature, captures: Sequence[Capture]) -> Written:
    """Add the signature to the end of the pack's file, its captures as hits, and one miss made of the first.

    Raises PackFormatError if the file would be invalid, ValueError if the id is taken, OSError if it cannot be
    written; then nothing is left behind.
    """
    path = folder / PACK_FILE
    before = path.read_bytes().decode("utf-8")
    if signature.id in {one.id for one in parse_pack(before, str(path), folder.name).signatures}:
        raise ValueError(f"{path} already has a signature {signature.id!r}; choose another id")
    screens = folder / "screens" / signature.id
    if screens.exists():
        raise ValueError(f"{screens} exists already; choose another id")
    told = as_toml(signature)
    end = "\r\n" if "\r\n" in before else "\n"
    after = before.rstrip("\r\n") + end * 2 + told.replace("\n", end)
    parse_pack(after, str(path), folder.name)
    made = {screens / f"hit-{_file_name(one.name)}-{number}.txt": one.text for number, one in enumerate(captures, 1)}
    made[screens / "miss-made.txt"] = _dead(captures[0].screen, signature)
    screens.parent.mkdir(exist_ok=True)
    try:
        screens.mkdir()
        for file, text in made.items():
            file.write_text(text, encoding="utf-8")
        rewrite(path, after)  # last: screens without a signature would make the pack invalid
    except BaseException:  # a full disk, or ctrl-C
        shutil.rmtree(screens, ignore_errors=True)
        raise
    return Written(told, (path, *made))


def rewrite(path: Path, text: str) -> None:
    """Replace a file's text at once, or not at all.  Raises OSError."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(text.encode())
        shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def as_toml(signature: Signature) -> str:
    """The signature as a table of a pack's file, without examples or keys, which a person adds."""
    rows: list[tuple[str, str]] = [("id", signature.id), ("title", signature.title), ("state", signature.state)]
    if signature.kind is not None:
        rows.append(("kind", signature.kind))
    rows.append(("severity", "high"))
    if signature.cursor is not CursorState.ANY:
        rows.append(("cursor", signature.cursor))
    lines = [f"{key} = {_string(str(value))}" for key, value in rows]
    clauses = "".join(f"    {_table(clause)},\n" for clause in signature.all_of)
    lines += [f"all_of = [\n{clauses}]", f"source = {_string(signature.source)}"]
    return "[[signature]]\n" + "\n".join(lines) + "\n"


def _table(clause: Clause) -> str:
    key = "text" if clause.text is not None else "pattern"
    return f"{{ {key} = {_string(clause.source)}, where = {_string(clause.where)} }}"


def _string(text: str) -> str:
    """A TOML string: patterns are easier to read without doubled backslashes."""
    if "\\" in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    return json.dumps(text, ensure_ascii=False)  # TOML takes JSON's escapes, but for surrogate pairs


def _dead(screen: Screen, signature: Signature) -> str:
    """A miss made of the screen: answered where it was a line, quoted where it was a dialog."""
    made = mentions(signature, screen, "answered" if signature.at_cursor else "prose")[0]
    columns, rows = max(map(cells, made.lines)), len(made.lines)
    if screen.size is not None:
        columns, rows = max(columns, screen.size.columns), max(rows, screen.size.rows)
    seen = Snapshot(screen=evolve(made, columns=columns, rows=rows).screen())
    front = {**front_of(seen), "note": "made of the first hit: answered, or quoted"}
    return render_screen("\n".join(made.lines), front)


def _file_name(stem: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")
    return plain.removeprefix("hit-") or "screen"


# --- the command ---


_NAMED = 3  # of the other screens that look the same


@click.command("add", short_help="Propose a signature from screens of the same prompt.")
@click.argument(
    "screens", metavar="SCREEN...", nargs=-1, required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)  # fmt: skip
@click.option(
    "--pack", "directory", metavar="DIR", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The pack's directory, or the folder of its signatures.toml.",
)  # fmt: skip
@click.option("--id", "name", metavar="ID", required=True, help="The signature's name: a-z, 0-9 and _.")
@click.option("--state", required=True, type=click.Choice(STATES), help="What the screens show.")
@click.option(
    "--kind", type=click.Choice([kind.value for kind in Kind]), metavar="KIND",
    help=f"What it asks for, if it waits: {', '.join(Kind)}.",
)  # fmt: skip
@click.option("--title", default="", help="What it is, in a few words.")
@click.option(
    "--others", metavar="PATH", multiple=True, type=click.Path(exists=True, path_type=Path),
    help="Screens that must not match: .txt, or labelled cases (.jsonl, .cast, a folder) in other states.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Write nothing, only show the signature.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/packs.md).")
@click.pass_context
def add_command(
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
    Example:    stallkit pack add one.txt two.txt --pack . --id asks_name \\
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
        source = f"{number(len(captures), 'captured screen')}, proposed by stallkit pack add"
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
        if faults:
            say(shown(f"narrow its clauses by hand, or take it out: stallkit pack remove {directory}:{name}"))
    name_problems(problems)
    ctx.exit(Exit.FINDINGS if faults or problems else Exit.OK)


def _proposal(captures: list[Capture], beside: list[tuple[str, Screen]]) -> Proposal:
    try:
        return propose([one.screen for one in captures], [screen for _, screen in beside], _own_names())
    except NotTold as error:
        alike = [name for name, screen in beside if any(screen is other for other in error.others)]
        named = ", ".join(alike[:_NAMED]) + (", ..." if len(alike) > _NAMED else "")
        todo = "capture more of the screen, or check whether that is the same prompt"
        raise ValueError(f"{error}: {named}; {todo}") from error


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
    click.echo(f"\nproposed from {number(len(captures), 'capture')}, compared with {number(others, 'other screen')}")
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
