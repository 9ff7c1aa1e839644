"""The page on events: every table of events that the pages have, joined and in order of the names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator

from docs_site.tables import read, written

__all__ = ["documented", "pages"]

_NAME = re.compile(r"`([a-z_]+)`(\*?)")


def documented(docs: Path) -> dict[str, tuple[bool, str, str, str]]:
    """Each event by its name: whether it needs a person, when it comes, its facts, and the page that says so."""
    found: dict[str, tuple[bool, str, str, str]] = {}
    for page in sorted(docs.glob("*.md")):
        for table in read(page.read_text(encoding="utf-8")):
            for row in table:
                if "event" in row and "when" in row:
                    for name, star in _NAME.findall(row["event"]):
                        found[name] = (bool(star), _at_top(row["when"]), _at_top(row.get("facts", "")), page.name)
    return found


def _at_top(text: str) -> str:
    """The links of a cell as they are two folders deeper."""
    return re.sub(
        r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)", lambda one: f"](../{one[1]}{one[2] or ''})" if one[1] else "]", text
    )


def pages(docs: Path) -> Iterator[tuple[str, str]]:
    """Path and text of the page."""
    rows = [
        (f"`{name}`", "yes" if person else "", when, facts, f"[{page.removesuffix('.md')}](../{page})")
        for name, (person, when, facts, page) in sorted(documented(docs).items())
    ]
    yield (
        "reference/events.md",
        "# Events\n\nOne line of JSON each, by [this schema](schemas/event.md): in the event log, and to whom it is"
        " passed on. Those that need a person are [told](../notify.md).\n\n"
        f"{written(['event', 'needs a person', 'when', 'facts', 'page'], rows)}",
    )
