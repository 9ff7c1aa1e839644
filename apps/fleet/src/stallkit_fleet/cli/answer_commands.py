"""``stallkit fleet stuck``, ``show``, ``reply``, ``approve`` and so on: what all hosts ask, answered from here.

An answer is to what was shown last in this terminal, or to HOST/ID@REVISION; its host looks again before it presses.
"""

from __future__ import annotations

import re
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Iterable, NoReturn

import click
from stallkit_operator.cli.stuck_commands import here, item_lines
from stallkit_operator.queue import Queue

from stallkit.cli.common import print_json
from stallkit.cli.output import Exit, shown
from stallkit.config import queue_file
from stallkit.errors import StoreError
from stallkit.jsonio import unstructure
from stallkit_fleet import bus, view
from stallkit_fleet.cli.common import COLOURS, CONFIG, JSON, fleet_of, item_cells, on_bus, print_table
from stallkit_fleet.view import FleetItem, FleetView

_EXITS = {"done": Exit.OK, "unseen": Exit.MAYBE, "over": Exit.ENDED}  # all else: nothing was pressed
_REF = re.compile(r"([A-Za-z0-9_-]{1,63})/([1-9][0-9]{0,15})(?:@([1-9][0-9]{0,15}))?", re.ASCII)


def item_ref(text: str) -> tuple[str, int, int | None]:
    """Host, number and revision of ``HOST/ID`` or ``HOST/ID@REVISION``.  Raises click.BadParameter.

    >>> item_ref("c/3@2")
    ('c', 3, 2)
    """
    found = _REF.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no item of the fleet: write HOST/3, or HOST/3@2")
    return found[1], int(found[2]), None if found[3] is None else int(found[3])


_ITEM = click.argument("ref", metavar="HOST/ID", callback=lambda ctx, param, text: item_ref(text))


def _read(config: Path | None) -> FleetView:
    return on_bus(fleet_of(config), lambda client: view.read(client.jetstream(timeout=bus.REPLY_S)))


def note(items: Iterable[FleetItem], as_json: bool = False) -> None:
    """Note that these were shown here, each as it was."""
    with suppress(StoreError), closing(Queue(queue_file())) as queue:
        for one in items:
            queue.note_shown(_place(one.host.name), [one.item], as_json)


def _place(host: str) -> str:
    return f"{here()} {host}"


@click.group("stuck")
def stuck_command() -> None:
    """List what waits for you on all hosts.

    \b
    Example:    stallkit fleet stuck list
    """


@stuck_command.command("list")
@CONFIG
@JSON
def list_command(config: Path | None, as_json: bool) -> None:
    """List what waits for you on all hosts, the oldest first.

    \b
    Exit codes: 0 listed; 1 the bus fails, or this machine is in no fleet.
    Example:    stallkit fleet stuck list
    """
    items = _read(config).items()
    if as_json:
        rows = [{"host": one.host.name, "alive": one.host.alive, "item": unstructure(one.item)} for one in items]
        print_json({"version": 1, "items": rows})
    elif items:
        at = time.time()
        print_table(("item", "age", "session", "kind", "asks"), [item_cells(one, at) for one in items], COLOURS)
    else:
        click.echo("nothing waits for a person")
    note(items, as_json)


@click.command("show")
@_ITEM
@CONFIG
@JSON
def show_command(ref: tuple[str, int, int | None], config: Path | None, as_json: bool) -> None:
    """Show all of what a host asks, and how you can answer.

    \b
    Exit codes: 0 shown; 1 the bus fails; 64 usage, or there is no such item.
    Example:    stallkit fleet show build-1/3
    """
    host, id, _ = ref
    one = _read(config).item(host, id)
    if as_json:
        print_json({"version": 1, "host": host, "item": unstructure(one.item)})
    else:
        for line in item_lines(one.item, host=host):
            click.echo(line)
    note([one], as_json)


def _answer(
    ctx: click.Context, verb: str, ref: tuple[str, int, int | None], text: str, config: Path | None, as_json: bool
) -> NoReturn:
    host, id, revision = ref
    fleet = fleet_of(config)
    if revision is None:
        with closing(Queue(queue_file())) as queue:
            revision = queue.revision_shown(_place(host), id)
    if not revision:
        raise click.UsageError(f"{host}/{id} was not shown to you here: see stallkit fleet show {host}/{id}")

    async def done(client: Any) -> dict[str, Any]:
        found = (await view.read(client.jetstream(timeout=bus.REPLY_S))).item(host, id)
        if found.item.revision != revision:
            return {"result": "changed", "why": "it is not as it was shown to you; nothing was done", "shown": found}
        return {**await view.answer(client, fleet.person, verb, found, text)}

    reply = on_bus(fleet, done)
    shows = reply.pop("shown", None)
    result, why = str(reply.get("result")), str(reply.get("why", ""))
    if as_json:
        print_json({"version": 1, "host": host, "result": result, "why": why, "item": reply.get("item")})
    else:
        item = reply.get("item")
        state = f"{item['state']}, " if result == "done" and isinstance(item, dict) else ""
        click.echo(shown(f"{host}/{id}: {state}{why}"))
        if isinstance(shows, FleetItem):
            click.echo(f"see it: stallkit fleet show {host}/{id}")
    ctx.exit(_EXITS.get(result, Exit.STALLED))


def _command(verb: str, what: str, words: click.Argument | None, example: str) -> click.Command:
    """The command of one verb; `words` is what it takes besides the item."""

    def call(ref: tuple[str, int, int | None], config: Path | None, as_json: bool, words: Any = ()) -> None:
        text = words if isinstance(words, str) else " ".join(words)
        given = sys.stdin.read().rstrip("\n") if text == "-" and verb == "reply" else text
        _answer(click.get_current_context(), verb, ref, given, config, as_json)

    for one in (JSON, CONFIG, _ITEM):
        call = one(call)
    codes = "0 answered; 1 could not; 2 nothing was pressed; 3 perhaps pressed; 4 it is over; 64 usage"
    text = f"{what}\n\n\b\nExit codes: {codes}.\nExample:    stallkit fleet {verb} {example}"
    made = click.command(verb, help=text, short_help=what.partition(".")[0] + ".")(call)
    made.params[1:1] = [] if words is None else [words]
    return made


_TEXT = click.Argument(["words"], nargs=-1, required=True, metavar="TEXT...")
reply_command = _command(
    "reply", "Answer with an option or a text.  An option is one that `show` lists, by its id or name.  An agent gets "
    "a text as it is; at a prompt it is typed; - is standard input.", _TEXT, "build-1/3 2",
)  # fmt: skip
approve_command = _command("approve", "Allow it this once, if exactly one option does.", None, "build-1/3")
decline_command = _command(
    "decline", "Reject it, or take it off the list.  A prompt needs exactly one option that rejects.",
    click.Argument(["words"], nargs=-1, metavar="[WHY]..."), "build-1/3 not on this branch",
)  # fmt: skip
