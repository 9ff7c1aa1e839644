"""``stallkit pack show``: one signature as a person meets it: how it looks, what tells it apart, what is pressed
and why, where it was seen.

Everything is taken from the pack and its examples, and tried with the engine that is given: a screen that
nobody kept says nothing.
"""

from __future__ import annotations

from typing import Any, Iterable, Sequence

import click
from attrs import evolve, frozen
from rich.console import Console
from rich.text import Text

from stallkit.cli.common import SIGNATURE, print_json
from stallkit.cli.output import plain_console, quiet, shown
from stallkit.detect.engine import Match, Rule
from stallkit.detect.signature import NEVER_PRESSED, Signature
from stallkit.errors import UnknownName
from stallkit.packs.registry import Engine, installed_engine
from stallkit.terminal.screen import Screen
from stallkit.testing import Example
from stallkit.testing.example import gives_way
from stallkit_lab.evaluate.holdout import PackageDirs, installed_package_dirs
from stallkit_lab.lint.runner import examples_of
from stallkit_lab.matrix import Row, matrix

_ABOVE = 8  # rows of a hit that are shown above the first one on which a clause holds


@frozen
class Apart:
    """A screen that looks alike and is something else: its name, its rows, and what the packs take it for."""

    name: str
    rows: tuple[str, ...]
    taken_for: str


@frozen
class Figures:
    """How the signature fares: with its own examples, and on the examples of all packs."""

    hits_won: int
    hits: int
    misses_told: int
    misses: int
    screens: int  # the examples of all packs
    elsewhere: int  # of these, examples of other signatures that it wins


@frozen
class Portrait:
    """What a person can see of one signature.

    `looks` are the rows of a hit, each with whether a clause holds on it; `seen` the programs and versions that its
    captures are of; `place` counts from 1 in the order of trial.
    """

    rule: Rule
    place: int
    of: int
    example: str
    looks: tuple[tuple[bool, str], ...]
    apart: tuple[Apart, ...]
    seen: tuple[Row, ...]
    figures: Figures

    def as_object(self) -> dict[str, Any]:
        """As ``stallkit pack show --json`` prints it."""
        signature = self.rule.signature
        return {
            "name": self.rule.name,
            "title": signature.title,
            "state": str(signature.state),
            "kind": str(signature.kind) if signature.kind else None,
            "severity": str(signature.severity),
            "certainty": str(signature.certainty),
            "preview": signature.preview,
            "tier": signature.tier.name.lower(),
            "place": self.place,
            "of": self.of,
            "all_of": [str(clause) for clause in signature.all_of],
            "none_of": [str(clause) for clause in signature.none_of],
            "source": signature.source,
            "example": self.example or None,
            "looks": [{"row": row, "matches": held} for held, row in self.looks],
            "apart": [{"name": one.name, "rows": list(one.rows), "taken_for": one.taken_for} for one in self.apart],
            "keys": str(signature.dismissal.keys) if signature.dismissal else None,
            "pressed": pressed(signature),
            "seen": [row.as_object() for row in self.seen],
            "figures": {
                "hits": [self.figures.hits_won, self.figures.hits],
                "misses": [self.figures.misses_told, self.figures.misses],
                "screens": self.figures.screens,
                "elsewhere": self.figures.elsewhere,
            },
        }


def portrait(engine: Engine, name: str, package_dirs: PackageDirs) -> Portrait | None:
    """The portrait of the signature ``PACK:ID``; None if the engine has none of that name.

    `package_dirs` as for `matrix`.
    """
    found = next(((place, rule) for place, rule in enumerate(engine.rules, 1) if rule.name == name), None)
    if found is None:
        return None
    place, rule = found
    of_all = {pack.name: examples_of(pack) for pack in engine.packs}
    own = [one for one in of_all[rule.pack.name] if one.signature == rule.signature.id and not one.todo]
    hits, misses = [one for one in own if one.wanted], [one for one in own if not one.wanted]
    best = next((one for one in hits if one.name.startswith("hit-")), hits[0] if hits else None)
    return Portrait(
        rule=rule,
        place=place,
        of=len(engine.rules),
        example=best.name if best else "",
        looks=_looks(engine, rule, best.screen) if best else (),
        apart=tuple(Apart(one.name, _rows(one.screen), _taken_for(engine, one.screen)) for one in misses),
        seen=tuple(matrix([evolve(rule.pack, signatures=[rule.signature])], package_dirs)),
        figures=_figures(engine, rule, hits, misses, of_all),
    )


def pressed(signature: Signature) -> str:
    """What a machine presses there, and why, or why it presses nothing: one sentence."""
    if signature.dismissal is None:
        if signature.kind in NEVER_PRESSED:
            return f"nothing: a machine never answers a {signature.kind}"
        return "nothing: no safe answer is known" if signature.kind else "nothing: it asks for nothing"
    if signature.preview:
        return "nothing yet: it is a preview, which was not measured"
    if not signature.dialogs:
        return "nothing: it does not describe the whole dialog"
    because = f", because {signature.dismissal.because}" if signature.dismissal.because else ""
    return f"{signature.dismissal.keys}{because}; then the prompt must be {signature.dismissal.expect}"


def _figures(
    engine: Engine,
    rule: Rule,
    hits: Sequence[Example],
    misses: Sequence[Example],
    of_all: dict[str, tuple[Example, ...]],
) -> Figures:
    won = [match for one in hits if (match := engine.detect(one.screen).match) is not None]
    told = [one for one in misses if not _is(engine.detect(one.screen).match, rule)]
    own = (rule.pack.name, rule.signature.id)
    others = [one for pack, some in of_all.items() for one in some if (pack, one.signature) != own]
    return Figures(
        hits_won=sum(_is(match, rule) or gives_way(rule.pack, match, rule.signature) for match in won),
        hits=len(hits),
        misses_told=len(told),
        misses=len(misses),
        screens=sum(map(len, of_all.values())),
        elsewhere=sum(_is(engine.detect(one.screen).match, rule) for one in others),
    )


def _is(match: Match | None, rule: Rule) -> bool:
    return match is not None and f"{match.pack.name}:{match.signature.id}" == rule.name


def _looks(engine: Engine, rule: Rule, screen: Screen) -> tuple[tuple[bool, str], ...]:
    report = next(one for one in engine.explain(screen) if one.rule.name == rule.name)
    spans = [found.span for role, _, found in report.clauses if role == "all_of" and found.span is not None]
    held = {row for span in spans if span.clause.where != "title" for row in range(span.line, span.last_line + 1)}
    rows = [(number in held, row) for number, row in enumerate(screen.text.split("\n"))]
    return tuple(_trimmed(rows[max(0, min(held, default=0) - _ABOVE) :]))


def _trimmed(rows: list[tuple[bool, str]]) -> Iterable[tuple[bool, str]]:
    shown = [number for number, (_, row) in enumerate(rows) if row.strip()]
    return rows[shown[0] : shown[-1] + 1] if shown else []


def _rows(screen: Screen) -> tuple[str, ...]:
    return tuple(row for _, row in _trimmed([(False, row) for row in screen.text.split("\n")]))


def _taken_for(engine: Engine, screen: Screen) -> str:
    match = engine.detect(screen).match
    if match is None:
        return "nothing"
    return f"{match.signature.kind or match.signature.state} ({match.pack.name}:{match.signature.id})"


# --- the command ---


@click.command("show", short_help="Show one signature, and how it fares.")
@click.argument("name", metavar="PACK:ID", type=SIGNATURE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_command(name: str, as_json: bool) -> None:
    """Show one signature: how it looks, what tells it apart, what is pressed and why, where it was seen, its figures.

    The figures are of the installed packs' own examples, tried now, which takes some seconds.

    \b
    Exit codes: 0; 64 no such signature is installed.
    Example:    stallkit pack show claude_code:tool_permission
    """
    with plain_console(stderr=True, quiet=quiet()).status("trying the examples of all installed packs"):
        made = portrait(installed_engine(), name, installed_package_dirs())
    if made is None:
        raise UnknownName("signature", shown(name), "no installed pack has it", "see: stallkit pack list --signatures")
    if as_json:
        print_json({"version": 1, **made.as_object()})
    else:
        _print(plain_console(), made)


def _print(on: Console, made: Portrait) -> None:
    signature, figures = made.rule.signature, made.figures
    on.print(Text(f"{made.rule.name}: {shown(signature.title)}", "bold"))
    what = f"{signature.state}, {signature.kind}" if signature.kind else str(signature.state)
    preview = ", a preview" if signature.preview else ""
    on.print(f"{what}, severity {signature.severity}, {signature.certainty} at most{preview}")
    on.print(f"tried {made.place}. of {made.of}, in tier {signature.tier.name.lower()}")
    if signature.source:
        on.print(f"source: {shown(signature.source)}")
    on.print(f"seen:   {_seen(made)}")
    _head(on, f"How it looks ({shown(made.example)})" if made.example else "How it looks: no example is kept")
    for held, row in made.looks:
        on.print(Text.assemble(("> " if held else "  ", "bold"), (shown(row), "bold" if held else "")), soft_wrap=True)
    _head(on, "What it needs")
    for clause in signature.all_of:
        on.print(f"  {shown(str(clause))}", soft_wrap=True)
    for clause in signature.none_of:
        on.print(f"  not {shown(str(clause))}", soft_wrap=True)
    _head(on, "What is pressed")
    on.print(f"  {shown(pressed(signature))}")
    _head(on, "What looks alike, and is something else" if made.apart else "Nothing that looks alike is kept")
    for one in made.apart:
        on.print(f"  {shown(one.name)}: taken for {shown(one.taken_for)}")
    _head(on, "Figures")
    told = f"misses told apart: {figures.misses_told} of {figures.misses}"
    on.print(f"  hits: {figures.hits_won} of {figures.hits}; {told}")
    on.print(f"  examples of other signatures that it takes: {figures.elsewhere} of {figures.screens} examples")


def _head(on: Console, text: str) -> None:
    on.print()
    on.print(Text(text, "underline"))


def _seen(made: Portrait) -> str:
    rows = [f"{row.program} {row.version}".strip() + (f" ({row.seen})" if row.seen else "") for row in made.seen]
    return shown("; ".join(rows)) or "no capture: from notes"
