"""The pages on the shipped packs: each signature, how it looks, what it needs, what is pressed, where it was seen."""

from __future__ import annotations

from typing import Iterator

from attrs import evolve
from stallkit_lab.evaluate.holdout import PackageDirs
from stallkit_lab.lint.runner import examples_of
from stallkit_lab.matrix import matrix
from stallkit_lab.portrait import pressed

from docs_site.tables import cell, written
from stallkit.detect.signature import Clause, Pack, Signature
from stallkit.packs.registry import Engine
from stallkit.redact.redact import redact
from stallkit.testing import Example

__all__ = ["pages"]

_ROWS = 16  # of a screen, from its end


def pages(engine: Engine, package_dirs: PackageDirs) -> Iterator[tuple[str, str]]:
    """Path and text of each page."""
    packs = sorted(engine.packs, key=lambda pack: pack.name)
    rows = [(f"[`{one.name}`]({one.name}.md)", str(len(one.signatures)), _programs(one)) for one in packs]
    listed = "\n".join(pack.name for pack in packs)
    yield (
        "reference/signatures/index.md",
        "# Signatures\n\nWhat the shipped packs know, signature by signature. `stallkit pack show PACK:ID` shows one in"
        " the terminal, with how it fares; program by program it is [the matrix](../../matrix.md).\n\n"
        f"{written(['pack', 'signatures', 'only while one of these runs'], rows)}\n"
        f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
    )
    for pack in packs:
        yield f"reference/signatures/{pack.name}.md", "".join(_page(pack, package_dirs))


def _programs(pack: Pack) -> str:
    return ", ".join(f"`{name}`" for name in sorted(pack.foreground)) or "any program"


def _page(pack: Pack, package_dirs: PackageDirs) -> Iterator[str]:
    yield f"# {pack.name}\n\n{len(pack.signatures)} signatures; they count while {_programs(pack)} runs.\n\n"
    head = ["signature", "state", "asks for", "severity", "keys"]
    yield written(head, [_row(one) for one in pack.signatures])
    examples = examples_of(pack)
    for signature in pack.signatures:
        own = [one for one in examples if one.signature == signature.id and one.wanted and not one.todo]
        yield "".join(_section(pack, signature, own, package_dirs))


def _row(signature: Signature) -> tuple[str, ...]:
    keys = f"`{signature.dismissal.keys}`" if signature.dismissal and signature.dialogs else ""
    asks = str(signature.kind or "")
    severity = str(signature.severity) if signature.kind else ""
    return (f"[`{signature.id}`](#{signature.id})", str(signature.state), asks, severity, keys)


def _section(pack: Pack, signature: Signature, own: list[Example], package_dirs: PackageDirs) -> Iterator[str]:
    yield f"\n## {signature.id}\n\n{cell(signature.title[:1].upper() + signature.title[1:])}."
    yield " It is a preview: told, never sure, never pressed.\n\n" if signature.preview else "\n\n"
    best = next((one for one in own if one.name.startswith("hit-")), own[0] if own else None)
    if best is not None:
        shown = best.screen.text.rstrip().split("\n")[-_ROWS:]
        yield "```text\n" + "\n".join(redact(row.rstrip()).replace("```", "` ` `") for row in shown) + "\n```\n\n"
    clauses = [*(("", one) for one in signature.all_of), *(("not ", one) for one in signature.none_of)]
    yield f"Needs\n: {_clauses(clauses)}\n\n"
    yield f"Pressed\n: {cell(pressed(signature))}\n\n"
    rows = matrix([evolve(pack, signatures=[signature])], package_dirs)
    if seen := "; ".join(f"{row.program} {row.version}".strip() for row in rows):
        yield f"Seen in\n: {cell(seen)}\n\n"


def _clauses(clauses: list[tuple[str, Clause]]) -> str:
    return "\n  ".join(f"- {sign}{_code(str(clause))}" for sign, clause in clauses)


def _code(text: str) -> str:
    """Any text as code in a line of Markdown."""
    ticks = "`" * (1 + max((len(run) for run in text.split("`") if not run), default=0) + text.count("`"))
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"
