"""The page *which agent, which source, how certain*: joined from the packs, the sources of signals and measured tables.

Measured figures are read from the pages that the measurements write: docs/accuracy.md (`benchmarks/accuracy.py`) and
docs/agents.md (`scripts/canary`).  What none of these has stays empty.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterable, Iterator, Mapping

from stallkit_lab.evaluate.holdout import PackageDirs, spellings
from stallkit_lab.matrix import Row, matrix

from docs_site.tables import cell, read, written
from stallkit.packs.registry import Engine
from stallkit.signals.collect import installed_sources
from stallkit.signals.source import SignalSource

__all__ = ["joined", "pages"]

PACKS = ("agent_clis", "claude_code")  # those of this repository that name agents
_VERSION = re.compile(r" \d[\w.]*$")


def pages(engine: Engine, package_dirs: PackageDirs, docs: Path) -> Iterator[tuple[str, str]]:
    """Path and text of the page."""
    rows = matrix([pack for pack in engine.packs if pack.name in PACKS], package_dirs)
    told, measured = (_by_agent(docs / "agents.md", "beside the screen"), _by_agent(docs / "agents.md", "state right"))
    fit = _by_agent(docs / "accuracy.md", "left out: P")
    yield "reference/agents.md", joined(rows, installed_sources(), told, measured, fit)


def joined(
    rows: Iterable[Row],
    sources: Iterable[SignalSource],
    told: Mapping[str, Mapping[str, str]],
    measured: Mapping[str, Mapping[str, str]],
    fit: Mapping[str, Mapping[str, str]],
) -> str:
    """The page, from the rows of the matrix and the tables by agent."""
    of: dict[str, list[Row]] = {}
    for row in rows:
        of.setdefault(row.program, []).append(row)
    listed = sorted(of, key=lambda name: (name not in told, name))
    source = {name: next((one.name for one in sources if spellings(name) & one.programs), "") for name in listed}
    versions = {name: list(dict.fromkeys(row.version for row in of[name] if row.version)) for name in listed}
    first = [
        (
            f"[{cell(name)}](#{_anchor(name)})",
            cell(_span(versions[name])),
            max((row.seen for row in of[name]), default="").replace("-", "\N{NON-BREAKING HYPHEN}"),
            f"`{source[name]}`" if source[name] else "",
            measured.get(name, {}).get("state right", ""),
            measured.get(name, {}).get("sure where waiting", ""),
            measured.get(name, {}).get("the same, screen alone", ""),
        )
        for name in listed
    ]
    second = [
        (cell(name), found["cases"], found["P"], found["R"], found["states"], found["left out: P"])
        for name in listed
        if (found := fit.get(name))
    ]
    return (
        "# Which agent, which source, how certain\n\n"
        "What is known of an agent comes from two places: its screen, which a pack reads, and for some what the agent"
        " publishes beside the screen ([signals](../signals.md)). A source that is bound to its process makes a verdict"
        " sure through any wrapper. An agent with none of these is judged by its screen and by the kernel's facts.\n\n"
        + written(["agent", "versions captured", "last", "source", "states right", "sure", "sure, screen alone"], first)
        + "\nThe last three columns are one run of `scripts/canary` against the newest releases"
        " ([how, and what it missed](../agents.md)); they are empty for agents that it does not drive.\n\n"
        "## On labelled screens\n\n"
        "How the packs do on the screens that were captured of each agent, most of which they were written from:"
        " P and R are precision and recall of *waiting*, *left out* is the precision without the signatures that name"
        " only this agent ([what the figures mean](../accuracy.md)).\n\n"
        + written(["agent", "screens", "P", "R", "states", "left out: P"], second)
        + "".join(_section(name, of[name], versions[name], told.get(name, {})) for name in listed)
    )


def _section(name: str, rows: list[Row], versions: list[str], told: Mapping[str, str]) -> str:
    newest = versions[-1] if versions else ""
    facts = "".join(f"{key.capitalize()}\n: {told[key]}\n\n" for key in _KEYS if told.get(key))
    table = written(
        ["asks for, or is", "severity", "keys", "signatures"],
        [
            (row.kind, row.severity, f"`{row.keys}`" if row.keys else "", ", ".join(map(_linked, row.signatures)))
            for row in rows
            if row.version == newest
        ],
    )
    return (
        f"\n({_anchor(name)})=\n## {cell(name)}\n\n{facts}Captured of version {cell(newest) or 'unknown'}:\n\n{table}"
    )


_KEYS = ("beside the screen", "bound to", "since", "only on the screen")


def _linked(signature: str) -> str:
    pack, _, name = signature.partition(":")
    return f"[`{name}`](signatures/{pack}.md#{name})"


def _anchor(name: str) -> str:
    return "agent-" + re.sub(r"\W+", "-", name.lower()).strip("-")


def _span(versions: list[str]) -> str:
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}" if versions else ""


def _by_agent(page: Path, column: str) -> dict[str, dict[str, str]]:
    """The rows of the page's table that has this column, by the name that the packs give the agent."""
    for table in read(page.read_text(encoding="utf-8")):
        if table and column in table[0]:
            first = next(iter(table[0]))
            return {_VERSION.sub("", row[first]).lower().replace(" ", "-"): row for row in table}
    return {}
