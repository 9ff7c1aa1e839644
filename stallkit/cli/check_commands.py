"""``stallkit check``, ``explain`` and ``probe``: is this session stalled, and why, as people and programs read it."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import click
from attrs import asdict, frozen
from rich.cells import chop_cells

from stallkit.cli.common import (
    TARGET,
    Duration,
    engine,
    log_option,
    policy_option,
    print_json,
    reach,
    session_options,
)
from stallkit.cli.output import (
    echo,
    exit_of,
    hanging,
    page,
    paint,
    painted,
    plain,
    plain_console,
    quiet,
    shown,
    shows_colours,
)
from stallkit.config import event_log
from stallkit.detect.agent import Vocabulary
from stallkit.detect.dialog_parser import Reading
from stallkit.detect.engine import Fate, Report
from stallkit.detect.layout import PARTS, read_layout
from stallkit.detect.matcher import Found
from stallkit.detect.rows import Sort
from stallkit.detect.signature import Clause, Kind, State
from stallkit.evidence.osc import claims
from stallkit.evidence.snapshot import Snapshot, listens
from stallkit.evidence.turn import TurnOutcome
from stallkit.jsonio import dump, unstructure
from stallkit.judging.table import decide, otherwise
from stallkit.judging.verdict import Verdict
from stallkit.press.check import CheckResult, check_session, observe
from stallkit.press.events import EventLog
from stallkit.press.hang import HUNG_AFTER_S
from stallkit.press.policy import Decision, Escalate, Wait
from stallkit.probes.procfs import stat_of
from stallkit.redact.redact import redact
from stallkit.settings import configured_policy
from stallkit.signals.collect import asked_inside
from stallkit.terminal.screen import Screen
from stallkit.terminal.text import cells, escaped
from stallkit.transports.base import Transport
from stallkit.transports.stream import report

# --- what they print ---

_SHELL = {
    "prompt": ("the shell draws its prompt", "ended"),
    "typing": ("the shell awaits a command", "ended"),
    "running": ("the shell runs a command", "that the program is still there"),
}


def printed(result: CheckResult, as_json: bool) -> list[str]:
    """The lines that `check` prints, redacted and safe to show in a terminal."""
    if as_json:
        return [json.dumps(dump(result))]
    return as_lines(result)


def as_lines(result: CheckResult) -> list[str]:
    """The result for a person: one line with the status, then the reasons, then what was done.

    Redacted by parts, and safe to show in a terminal.
    """
    verdict = result.verdict
    asked = f", asks for {verdict.kind}" if verdict.kind else ""
    found = "" if result.outcome is None else "found "
    lines = [(result.target, f": {result.status} ({found}{verdict.state}{asked}, {verdict.certainty})")]
    lines += [("  because ", reason) for reason in verdict.reasons]
    if verdict.ended_turn is not None and verdict.ended_turn.how is not TurnOutcome.DONE:
        error = f" ({verdict.ended_turn.error})" if verdict.ended_turn.error else ""
        lines.append((f"  {verdict.ended_turn.how}{error}: ", verdict.ended_turn.message))
    if verdict.hung is not None:
        lines += [("  hung: ", one) for one in verdict.hung.evidence]
    lines += [("  ", str(one)) for one in result.inside]
    if result.resets_at is not None:
        lines.append(("", f"  the limit is free again at {result.resets_at:%Y-%m-%d %H:%M %Z}"))
    if result.outcome is not None:
        pressed = f"pressed {result.outcome.keys}" if result.outcome.pressed else "nothing pressed"
        lines.append((f"  {pressed}: {result.outcome.end}, ", result.outcome.why))
    elif result.decision is not None and (why := _left_to_a_person(result.decision)):
        lines.append(("  nothing pressed: ", why))
    return [escaped(redact(head) + redact(said)) for head, said in lines]


def _left_to_a_person(decision: Decision) -> str | None:
    return decision.why if isinstance(decision, Escalate | Wait) else None


def arguments(snapshot: Snapshot, words: Vocabulary) -> list[tuple[str, str]]:
    """Each fact other than the screen, in words, and what it argues for; unknown facts are listed as unknown."""
    kernel, tty, marks = snapshot.kernel, snapshot.tty, snapshot.marks
    facts = [(f"in the foreground: {snapshot.foreground or 'unknown'}", "whose prompt it can be")]
    if snapshot.quiet_s is None:
        facts.append(("quiet: unknown", "nothing"))
    else:
        rests = f"quiet for {snapshot.quiet_s:.1f} s" if snapshot.quiet_s else "the screen is changing"
        facts.append((rests, "waiting, or silent work" if snapshot.quiet_s else "working"))
    if kernel is None or kernel.listening is None:
        facts.append(("reads the terminal: unknown", "nothing"))
    elif kernel.listening:
        who = ", ".join(dict.fromkeys(f"{one.called or one.name} " for one in kernel.readers or ()))
        facts.append((f"reads the terminal: yes, {who}in {kernel.how} ({kernel.looked_at} threads seen)", "waiting"))
    else:
        facts.append((f"reads the terminal: no ({kernel.looked_at} threads seen)", "working; a prompt is only printed"))
    if kernel is not None and kernel.output:
        facts.append((f"its output goes to {kernel.output}", "a prompt that nobody sees"))
    if kernel is not None and kernel.relay:
        facts.append((f"relay: {kernel.relay}", "it shows another terminal, which cannot be seen from here"))
    if kernel is not None and kernel.through:
        facts.append((f"behind {kernel.through}", "all of this is about its inner terminal"))
    if tty is None or tty.echo is None:
        facts.append(("echo and canonical mode: unknown", "nothing"))
    else:
        modes = f"echo {'on' if tty.echo else 'off'}, canonical mode {'on' if tty.canonical else 'off'}"
        secret = tty.canonical and not tty.echo
        facts.append((modes, "a secret, if it reads" if secret else "lines" if tty.canonical else "single keys"))
    if marks is not None and marks.shell is not None:
        doing, argues_for = _SHELL[marks.shell]
        facts.append((f"{doing} (OSC 133)", argues_for))
    if marks is not None and marks.progress is not None:
        facts.append((f"{marks.progress} (OSC 9;4)", "working" if marks.progress.shows_work else "nothing"))
    signals = (*snapshot.signals, *claims(snapshot, words))
    for signal in signals:
        stale = f"; stale: {signal.stale}" if signal.stale else ""
        facts.append((signal.told + stale, str(signal.state) if signal.counts else "nothing"))
    return facts if signals else [*facts, ("signals: none", "nothing")]


# --- the commands ---

PATTERN = 50  # characters of a pattern, where not all of it is asked for
NEAR = 5  # near misses that are shown unless all are asked for


@click.command("check")
@click.argument("target", type=TARGET)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/command-line.md).")
@click.option("--dismiss", "dismisses", is_flag=True, help="Press once what the policy allows.")
@policy_option
@click.option(
    "--for", "watch_s", type=Duration(), default="0s",
    help="Keep looking for so long, until the verdict is sure; two looks at least.",
)  # fmt: skip
@click.option(
    "--hang-timeout", "hung_after_s", type=Duration(above=True), default=f"{HUNG_AFTER_S / 60:g}m", show_default=True,
    help="Call a working session hung if nothing happens in it for so long.",
)  # fmt: skip
@click.option("--idle-ok", is_flag=True, help="Exit with 0 also if an agent at its composer asks something, or failed.")
@log_option
@session_options
@click.pass_context
def check_command(
    ctx: click.Context,
    target: str,
    as_json: bool,
    dismisses: bool,
    policy: str | None,
    watch_s: float,
    hung_after_s: float,
    idle_ok: bool,
    log: Path | None,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Look at a session, twice at least, and say whether it waits for a key.

    TARGET is tmux:NAME, tmux:%PANE, file:PATH, or - for text on standard input.  Without --dismiss nothing is pressed.

    \b
    Exit codes: 0 not stalled, or dismissed; 1 could not look; 2 stalled, or an idle agent that asks or failed;
                3 may be waiting, hung, or unknown; 4 ended or gone.
    Example:    stallkit check tmux:worker1 --json
    """
    if policy and not dismisses:
        raise click.UsageError("--policy needs --dismiss")
    allowed = configured_policy(policy) if dismisses else None
    transport = reach(target, socket_name, socket_path, listen=watch_s > 0)
    written = (
        None if target == "-" and log is None else EventLog(event_log(log))
    )  # what is piped in, if it is asked for
    try:
        with _looking(shown(transport.target)):
            result = check_session(
                transport, engine(), allowed, written, watch_s=watch_s, hung_after_s=hung_after_s, prove=True
            )
    finally:
        transport.close()
    lines = printed(result, as_json)
    if not as_json:
        lines = lines[:1] if quiet() else lines
        lines = painted(lines, result.status) if not plain() and shows_colours(sys.stdout) else lines
    for line in lines:
        echo(line)
    if result.unlogged is not None:
        echo(f"stallkit: {shown(result.unlogged)}", err=True)
    ctx.exit(exit_of(result.status, idle_ok))


@contextmanager
def _looking(target: str) -> Iterator[None]:
    """Say on a terminal that this takes a moment; the line is gone afterwards."""
    told = not quiet() and shows_colours(sys.stderr)
    if told:
        echo(f"looking at {target} ...", err=True, end="")
    try:
        yield
    finally:
        if told:
            echo("\r\x1b[K", err=True, end="")


_MARK = {True: "held", False: "not", None: "undecided"}


@click.command("explain")
@click.argument("target", metavar="TARGET|FILE|-", type=TARGET, required=False)
@click.option("--pid", type=click.IntRange(min=1), help="Show what the kernel knows of its terminal instead.")
@click.option("--all", "everything", is_flag=True, help="Show every signature, and whole patterns.")
@click.option("--layout", "parts", is_flag=True, help="Show the screen alone, and the part that each row belongs to.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@session_options
def explain_command(
    target: str | None,
    pid: int | None,
    everything: bool,
    parts: bool,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Show why: the signature that matched, what each fact argues for, and which signatures nearly matched.

    Of each it shows which clauses held, where, and which did not.  TARGET is a session as for check; FILE is a saved
    screen, - is text on standard input.

    With --pid it shows who is in the foreground of that process's terminal, and what they wait for.  Run it on the
    machine of the process, as its user or as root; --json prints what StreamTransport.facts takes.

    \b
    Exit codes: 0 shown; 1 could not look; 4 it ended; 64 usage, or there is no such process.
    Example:    stallkit explain tmux:worker1
                ssh build7 stallkit explain --pid 4711 --json
                stallkit explain tmux:worker1 --layout
                tmux capture-pane -pe | stallkit explain -
    """
    if target is None and pid is not None:
        _show_facts(pid, as_json)
        return
    if target is None or pid is not None:
        raise click.UsageError("name a session or a file, or a process with --pid")
    if parts and everything:
        raise click.UsageError("--layout shows no signatures: leave out --all")
    transport = reach(target, socket_name, socket_path, or_path=True)
    if parts:
        _show_layout(transport, as_json)
        return
    made = engine()
    try:
        verdict, snapshot = observe(transport, made)
    finally:
        transport.close()
    reports = made.explain(snapshot.screen)
    if as_json:
        signatures = [_as_object(report) for report in reports]
        facts = [{"fact": fact, "argues_for": side} for fact, side in arguments(snapshot, made.words)]
        described = {"version": 1, "target": snapshot.target, **unstructure(verdict)}
        read = _reading_object(verdict.detection.reading)
        inside = [unstructure(one) for one in asked_inside(snapshot)]
        described |= _claims_object(verdict)
        print_json({**described, "facts": facts, "inside": inside, "dialog": read, "signatures": signatures})
        return
    lines = [*_match_lines(reports, everything), *_verdict_lines(verdict, snapshot), *_other_lines(reports, everything)]
    told = [shown(line) for line in lines]
    if not everything and sys.stdout.isatty():
        told = [row for line in told for row in hanging(plain_console(), line, len(line) - len(line.lstrip()) + 2)]
    page("\n".join(told))


def _show_layout(transport: Transport, as_json: bool) -> None:
    """The parts of the screen, by one look."""
    try:
        snapshot = transport.capture()
    finally:
        transport.close()
    rows = drawn(snapshot.screen)
    if as_json:
        told = {"version": 1, "target": snapshot.target, "rows": [asdict(row) for row in rows]}
        print_json(told | {"parts": plain_parts(rows)})
    else:
        width = plain_console().width if sys.stdout.isatty() else None
        page("\n".join(lines(rows, width)))


def _match_lines(reports: Sequence[Report], whole: bool) -> Iterator[str]:
    """The signature that matched."""
    found = next((one for one in enumerate(reports, 1) if one[1].fate is Fate.MATCH), None)
    if found is None:
        yield "match: none"
    else:
        number, report = found
        tier = report.rule.signature.tier.name.lower()
        yield f"match: {report.rule.name} ({tier}, {number}. of {len(reports)} tried)"
        yield from (f"  {_clause_line(*clause, whole)}" for clause in report.clauses)


def _verdict_lines(verdict: Verdict, snapshot: Snapshot) -> Iterator[str]:
    """What follows from it and from the facts, and what each fact argues for."""
    yield f"verdict: {verdict.state}, {verdict.certainty}"
    yield from (f"  because {reason}" for reason in verdict.reasons)
    yield from _claim_lines(verdict)
    yield from (f"inside: {one}" for one in asked_inside(snapshot))
    yield from _reading_lines(verdict.detection.reading)
    prompt = snapshot.screen.prompt_line
    yield f"prompt line (row {prompt.row}): {prompt.text!r}"
    yield from (f"fact: {fact}; argues for {side}" for fact, side in arguments(snapshot, verdict.detection.words))


def _claim_lines(verdict: Verdict) -> Iterator[str]:
    """What each source claims, the rule that decided, and the rules that would have without one of them."""
    if verdict.claims is None:
        return
    for claim in verdict.claims:
        keys = ", a key may follow" if claim.keys else ""
        yield f"claim: {claim.source}: {claim.sign}: {_said(claim.state, claim.kind)}, {claim.weight.word}{keys}"
    _, row = decide(verdict.claims)
    yield f"rule: {row.name}: {row.gives.words}: {row.why}"
    for source, outcome, other in otherwise(verdict.claims):
        yield f"  without {source}: {other.name}: {_said(outcome.state, outcome.kind)}, {outcome.certainty}"


def _said(state: State, kind: Kind | None) -> str:
    return f"{state} ({kind})" if kind else str(state)


def _claims_object(verdict: Verdict) -> dict[str, Any]:
    """The same for programs."""
    if verdict.claims is None:
        return {"claims": [], "rule": None, "otherwise": []}
    names = ("source", "sign", "state", "kind", "keys")
    claims = [{name: getattr(one, name) for name in names} | {"weight": one.weight.word} for one in verdict.claims]
    others = [
        {"without": source, "rule": row.name, "state": outcome.state, "certainty": outcome.certainty}
        for source, outcome, row in otherwise(verdict.claims)
    ]
    return {"claims": claims, "rule": verdict.rule, "otherwise": others}


def _other_lines(reports: Sequence[Report], everything: bool) -> Iterator[str]:
    """Those that nearly matched, the nearest first; the rest where all are asked for."""
    numbered = [(number, one) for number, one in enumerate(reports, 1) if one.fate is not Fate.MATCH]
    near = sorted((one for one in numbered if _is_near(one[1])), key=lambda one: (-_share(one[1]), one[0]))
    told = near if everything else near[:NEAR]
    if near:
        more = f", {len(near) - len(told)} more with --all" if len(near) > len(told) else ""
        yield f"near misses: {len(near)}{more}"
        for number, report in told:
            yield from _as_lines(number, report, everything)
    rest = [one for one in numbered if not _is_near(one[1])]
    if not everything:
        yield f"{len(rest)} other signatures have nothing here: --all shows why"
        return
    yield f"nothing here: {len(rest)}"
    for number, report in rest:
        yield from _as_lines(number, report, everything)


def _is_near(report: Report) -> bool:
    """Whether it failed late: by its place in the order, by what must not be there, or by some of its clauses."""
    return report.fate is not Fate.NO or (report.cursor_fits and _share(report) > 0)


def _share(report: Report) -> float:
    """How many of its clauses held, of 1."""
    held = [found.held is True for role, _, found in report.clauses if role == "all_of"]
    return sum(held) / len(held) if held else 0.0


def _reading_lines(reading: Reading | None) -> list[str]:
    """The dialog row by row: what each was recognised as, or that it is left over."""
    if reading is None:
        return []
    whole = "wholly recognised" if reading.whole else f"not wholly recognised: {reading.doubt}"
    known = ((row, f"is {row.as_what!r}" if row.as_what else "is left over") for row in reading.rows)
    rows = [f"  row {row.row}: {row.text!r} {what}" for row, what in known]
    return [f"dialog: {whole}", *rows, *(f"  {name}: {value!r}" for name, value in reading.fields.items())]


def _reading_object(reading: Reading | None) -> dict[str, Any] | None:
    if reading is None:
        return None
    rows = [{"row": row.row, "text": row.text, "as": row.as_what or None} for row in reading.rows]
    return {"whole": reading.whole, "doubt": reading.doubt or None, "fields": dict(reading.fields), "rows": rows}


def _as_lines(number: int, report: Report, whole: bool) -> list[str]:
    """One line for a signature with nothing on the screen, else one more for each clause."""
    tier = report.rule.signature.tier.name.lower()
    head = f"{number:4} {tier:11} {report.rule.name}: {report.fate}"
    if not report.cursor_fits:
        return [f"{head} (the cursor is not {report.rule.signature.cursor})"]
    failed = [clause for role, clause, found in report.clauses if role == "all_of" and found.held is False]
    some = any(found.held is not False for role, _, found in report.clauses if role == "all_of")
    if report.fate is Fate.NO and failed and not some:
        return [f"{head} (no {failed[0]})"]
    return [head, *(f"       {_clause_line(*clause, whole)}" for clause in report.clauses)]


def _clause_line(role: str, clause: Clause, found: Found, whole: bool) -> str:
    where = f"row {found.span.line} column {found.span.start}: {found.span.text!r}, by " if found.span else ""
    told = str(clause)
    if not whole and len(told) > PATTERN:
        told = f"{told[: PATTERN - 1]}… in {clause.where}"
    return f"{role} {_MARK[found.held]}: {where}{told}"


def _as_object(report: Report) -> dict[str, Any]:
    return {
        "signature": report.rule.name,
        "tier": report.rule.signature.tier.name.lower(),
        "fate": str(report.fate),
        "cursor_fits": report.cursor_fits,
        "clauses": [
            {
                "role": role,
                "clause": str(clause),
                "held": found.held,
                "row": found.span.line if found.span else None,
                "start": found.span.start if found.span else None,
                "text": found.span.text if found.span else None,
            }
            for role, clause, found in report.clauses
        ],
    }


# --- explain --layout ---

_UNREAD = "unread"  # a row below what takes keys, such as a program's list of tasks
_SHORT = 3  # letters of a word if the terminal is narrow
_LEAST = 10  # columns of the screen's text, however narrow the terminal
_FRAMES = " " + "".join(map(chr, range(0x2500, 0x25A0)))  # box drawing and blocks: no loss if it is cut off
_STYLES: Mapping[str, Mapping[str, Any]] = {  # of the last part that a row belongs to
    "dialog": {"fg": "yellow"},
    "options": {"fg": "yellow", "bold": True},
    "hints": {"fg": "cyan"},
    "composer": {"fg": "green"},
    "status": {"fg": "blue"},
    "person": {"fg": "magenta"},
}


@frozen
class Drawn:
    """A row: what it is on its own, None below what takes keys; the parts it belongs to; its text, redacted."""

    sort: Sort | None
    parts: tuple[str, ...]
    text: str


def drawn(screen: Screen) -> tuple[Drawn, ...]:
    """The rows of a screen, down to the last one that is written."""
    layout = read_layout(screen)
    text = "\n".join(line.rstrip() for line in screen.lines).rstrip("\n")
    texts = redact(text).split("\n") if text else []  # together: a secret may go on in the next row
    return tuple(
        Drawn(row.sort if row else None, layout.names(number), line)
        for number, (row, line) in enumerate(zip_longest(layout.rows, texts, fillvalue=None))
        if line is not None
    )


def plain_parts(rows: tuple[Drawn, ...]) -> dict[str, list[int]]:
    """The numbers of the rows of each part that there is."""
    found = {part: [number for number, row in enumerate(rows) if part in row.parts] for part in PARTS}
    return {part: numbers for part, numbers in found.items() if numbers}


def lines(rows: tuple[Drawn, ...], width: int | None) -> Iterator[str]:
    """Each row with its number, its parts, its sort and its text, under a head; `width` is that of a terminal.

    If that is too narrow there is no head, words are short, and the text goes on below itself.
    """
    said = [(" ".join(row.parts), str(row.sort or _UNREAD), shown(row.text)) for row in rows]
    head = ("part", "sort", "screen")
    digits = max(len("row"), len(str(len(rows))))
    first, second = (max(len(words[at]) for words in (head, *said)) for at in (0, 1))
    needed = digits + first + second + 6 + max((cells(text) for _, _, text in said), default=0)
    if width is None or needed <= width:
        yield f"{'row':>{digits}}  {head[0]:{first}}  {head[1]:{second}}  {head[2]}"
        for number, (row, (parts, sort, text)) in enumerate(zip(rows, said, strict=True)):
            yield _styled(row, f"{number:{digits}}  {parts:{first}}  {sort:{second}}  {text}".rstrip())
        return
    digits, short = len(str(len(rows))), [" ".join(part[:_SHORT] for part in row.parts) for row in rows]
    first = max(map(len, short))
    room = max(_LEAST, width - digits - first - _SHORT - 3)
    for number, (row, parts, (_, sort, text)) in enumerate(zip(rows, short, said, strict=True)):
        begins = f"{number:{digits}} {parts:{first}} {sort[:_SHORT]} "
        first_piece, *more = chop_cells(text, room) or [""]
        for piece in (first_piece, *(one for one in more if one.strip(_FRAMES))):
            yield _styled(row, f"{begins}{piece}".rstrip())
            begins = " " * len(begins)


def _styled(row: Drawn, line: str) -> str:
    return paint(line, **_STYLES.get(row.parts[-1], {})) if row.parts else paint(line, dim=True)


# --- the facts of one process ---


def _show_facts(pid: int, as_json: bool) -> None:
    try:
        found = report(pid)
    except ValueError as error:
        wrong = click.UsageError if stat_of(pid) is None else click.ClickException
        raise wrong(shown(error)) from None
    if as_json:
        click.echo(json.dumps(dump(found)))
        return
    waits = {True: "waits for a key", False: "reads no key", None: "unknown whether it waits for a key"}
    who = ", ".join(f"{member.name} ({member.pid}, {member.state})" for member in found.kernel.members) or "unknown"
    click.echo(shown(f"foreground: {who}"))
    click.echo(waits[listens(found.kernel, found.tty)])
    modes = {True: "on", False: "off", None: "unknown"}
    click.echo(f"echo: {modes[found.tty.echo]}, whole lines: {modes[found.tty.canonical]}")
