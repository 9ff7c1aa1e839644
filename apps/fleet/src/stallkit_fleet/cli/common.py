"""What the commands of the fleet share: the settings, the bus for one call, and a table."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, Awaitable, Callable, Iterable, Mapping, Sequence, TypeVar

import click
from nats.aio.client import Client
from rich.table import Table
from rich.text import Text
from stallkit_operator.cli.stuck_commands import age
from stallkit_supervisor.settings import Overrides, load_settings

from stallkit.cli.common import config_option
from stallkit.cli.output import plain_console, shown
from stallkit.cli.states import LOOKS
from stallkit.config import user_config
from stallkit.errors import ConfigError
from stallkit_fleet import bus
from stallkit_fleet.settings import FleetSettings, Settings
from stallkit_fleet.view import FleetItem, SessionRow

_T = TypeVar("_T")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/fleet.md).")
CONFIG = config_option


def fleet_of(config: Path | None) -> FleetSettings:
    """``[fleet]`` of the settings.  Raises ConfigError if this machine is in no fleet."""
    found = load_settings(config, Overrides(), os.environ, ["fleet"])
    if not isinstance(found, Settings) or found.fleet.url is None:
        where = str(config or user_config())
        raise ConfigError(where, "it names no fleet", "stallkit fleet join nats://HOST:4222")
    return found.fleet


def on_bus(fleet: FleetSettings, call: Callable[[Client], Awaitable[_T]], as_host: bool = False) -> _T:
    """Do something on the bus as the person who looks and answers, or as this host.

    Raises BusError, and what the call raises.
    """

    async def connected() -> _T:
        credentials = fleet.credentials if as_host else fleet.operator_credentials or fleet.credentials
        name = f"host.{fleet.name}" if as_host else f"operator.{fleet.person}"
        async with bus.connected(fleet, credentials, name) as client:
            return await call(client)

    return asyncio.run(connected())


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], colours: Mapping[str, str] = {}) -> None:
    """Print rows below their heads; on a terminal cut to its width, in the last column."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in head:
        table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1 if name == head[-1] else None)
    for row in rows:
        table.add_row(*(Text(shown(cell), colours.get(cell.rstrip("?"), "")) for cell in row))
    width = None if sys.stdout.isatty() else 200
    plain_console(width=width).print(table)


COLOURS = {state: look.colour for state, look in LOOKS.items()}


def session_cells(row: SessionRow, now: float) -> list[str]:
    """host, session, state, since, what it asks."""
    facts = row.facts
    needs = facts.get("needs") if isinstance(facts.get("needs"), dict) else None
    asks = str(facts.get("halted") or facts.get("error") or facts.get("kind") or "")
    if not row.host.alive:
        asks = f"was {facts.get('state')}{', ' + asks if asks else ''}"
    elif needs is None:
        asks = ""
    since = "" if row.since is None else age(now - row.since)
    return [row.host.name, str(facts.get("target", "")).removeprefix("tmux:"), row.state, since, asks]


def item_cells(one: FleetItem, now: float) -> list[str]:
    """ref, age, session, kind, words."""
    item = one.item
    state = "" if one.host.alive else f"{one.host.silence}: "
    return [
        one.ref,
        age(now - item.created),
        item.session.removeprefix("tmux:"),
        item.kind or "notice",
        state + item.line,
    ]


def session_json(row: SessionRow) -> dict[str, Any]:
    """A session as JSON has it."""
    return {"host": row.host.name, "alive": row.host.alive, **row.facts, "state": row.state, "since": row.since}
