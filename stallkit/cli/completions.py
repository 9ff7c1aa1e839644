"""What a shell completes: the names that there are now, each with a word about it.

Only a shell asks, at each press of Tab: whatever fails here has no completions, and says nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from stallkit.cli.named_sessions import sessions
from stallkit.cli.reach import targets
from stallkit.config import queue_file
from stallkit.packs.registry import installed_engine
from stallkit.press.policy_file import PROFILES
from stallkit.runs import client
from stallkit.stuck.queue import Queue

__all__ = ["items", "packs", "policies", "queue_items", "runs", "sessions", "signatures", "targets"]

Find = Callable[[click.Context], Iterable[tuple[str, str]]]


def items(find: Find, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """The names that begin as what was typed."""
    try:
        found = [(name, about) for name, about in find(ctx) if name.startswith(incomplete)]
    except Exception:
        return []
    return [CompletionItem(name, help=about or None) for name, about in found if name.isprintable()]


def packs(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The installed packs."""
    for pack in installed_engine().packs:
        yield pack.name, ", ".join(sorted(pack.foreground)) or "any program"


def signatures(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The signatures of the installed packs."""
    for rule in installed_engine().rules:
        yield rule.name, rule.signature.title


def policies(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The built-in policies, and the TOML files here."""
    yield from ((name, "built in") for name in PROFILES)
    yield from ((path.name, "a file") for path in sorted(Path().glob("*.toml")))


def runs(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The runs in the background."""
    yield "last", "the latest"
    for run in client.listing():
        yield run["id"], " ".join(map(str, run["command"]))


def queue_items(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """What waits for a person."""
    if not queue_file().exists():
        return
    queue = Queue(queue_file())
    try:
        for item in queue.items(False):
            yield str(item.id), item.session
    finally:
        queue.close()
