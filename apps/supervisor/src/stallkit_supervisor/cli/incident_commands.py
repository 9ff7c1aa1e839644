"""``stallkit incidents`` and ``release``: what happened to sessions, and which of them may be helped again."""

from __future__ import annotations

import sys
import time
from contextlib import closing, nullcontext, suppress
from datetime import datetime
from typing import Any, Iterator, Mapping

import click

from stallkit.cli.common import TARGET, Duration, print_json, shown
from stallkit.cli.exits import Exit
from stallkit.cli.speech import note, page, say
from stallkit.cli.tables import hanging, plain_console
from stallkit.config import store_file
from stallkit.daemon_client import DaemonSilent
from stallkit.durations import in_words
from stallkit_supervisor.cli.status_commands import iso, known_to, noted, watched_as
from stallkit_supervisor.loop_files import release
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor_socket import statuses

_INDENT = 4  # of the further lines of an incident
_TOLD = ("kind", "line", "keys", "outcome", "end", "limit", "error", "cause", "waits", "would")  # of its facts


@click.command("incidents")
@click.argument("target", required=False, type=TARGET)
@click.option("--last", "limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most this many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/watch.md).")
def incidents_command(target: str | None, limit: int, as_json: bool) -> None:
    """List the latest incidents, newest last: presses, escalations, limits, ends.

    \b
    Exit codes: 0; 1 the notes cannot be read; 64 no supervisor has watched TARGET.
    Example:    stallkit incidents tmux:worker1 --last 10
    """
    store = noted()
    with closing(store) if store else nullcontext():
        if target is not None:
            target = watched_as(target, known_to(store) if store else ())
        found = store.incidents(target, limit) if store else []
    if as_json:
        print_json({"version": 1, "incidents": [{**one, "time": iso(one["at"])} for one in found]})
        return
    if found:
        page("\n".join(line for one in found for line in _incident(one)))
    else:
        click.echo(f"no incident is on record{f' of {shown(target)}' if target else ''}")
    with suppress(DaemonSilent):
        if not statuses():
            note("no watcher runs now: stallkit watch --all")


def told_of(facts: Mapping[str, Any]) -> str:
    """What a person is told of an incident: why, and what it was about."""
    said = [str(facts["why"])] if facts.get("why") else []
    for name in _TOLD:
        if (value := facts.get(name)) not in (None, "", []):
            said.append(f"{name} {'; '.join(map(str, value)) if isinstance(value, list) else value}")
    return ", ".join(said)


def _incident(one: dict[str, Any]) -> Iterator[str]:
    """When, whom and what; why, and what it was about.  Two lines on a terminal, one in a pipe."""
    facts = one["facts"]
    at = datetime.fromtimestamp(one["at"]).astimezone()
    ago = in_words(time.time() - one["at"])
    head = shown(f"{at:%Y-%m-%d %H:%M:%S}  {ago} ago  {one['session'] or 'stallkit'}  {one['event']}")
    body = shown(told_of(facts))
    if not sys.stdout.isatty():
        yield f"{head}  {body}".rstrip()
        return
    on = plain_console()
    yield from hanging(on, head, _INDENT)
    if body:
        yield from hanging(on, " " * _INDENT + body, _INDENT)


@click.command("release")
@click.argument("target", type=TARGET)
@click.pass_context
def release_command(ctx: click.Context, target: str) -> None:
    """Let stallkit help a session again that its limits stopped: reset its counts, remove its .auto-stop.

    Nothing else lifts a halt.  Look at it first (stallkit incidents TARGET): it was stopped because helping it did not
    help.  An .auto-stop that stallkit did not write for it stays, and holds its keys until it is removed.

    \b
    Exit codes: 0 released; 1 it was not stopped, or the notes cannot be written; 64 it was never watched.
    Example:    stallkit release tmux:worker1
    """
    with closing(Store(store_file())) as store:
        target = watched_as(target, known_to(store))
        released = release(store, target)
    if released is None:
        click.echo(shown(target, ": it was not stopped"), err=True)
        ctx.exit(Exit.ERROR)
    why, stop = released
    say(shown(target, f": released, after {why}"))
    if stop is not None:
        click.echo(shown(f"stallkit: {stop} was not written for it, and holds its keys until it is removed"), err=True)


# --- ``stallkit mute`` and ``unmute`` ---


@click.command("mute")
@click.argument("target", type=TARGET)
@click.option("--for", "for_s", type=Duration("m", above=True), help="For so long; a bare number is minutes.")
def mute_command(target: str, for_s: float | None) -> None:
    """Have a supervisor tell nobody of a session: of what it waits for now, or for some time whatever it does.

    Nothing else changes: it is watched, what a policy allows is done, and every prompt is in the event log.

    \b
    Exit codes: 0 muted; 1 the notes cannot be written; 64 no supervisor has watched TARGET.
    Example:    stallkit mute tmux:worker1 --for 90m
    """
    until = None if for_s is None else time.time() + for_s
    with closing(Store(store_file())) as store:
        target = watched_as(target, known_to(store))
        store.mute(target, until)
    till = "what it waits for now is over" if until is None else f"{datetime.fromtimestamp(until).astimezone():%H:%M}"
    say(shown(target, f": nobody is told of it until {till}"))


@click.command("unmute")
@click.argument("target", type=TARGET)
def unmute_command(target: str) -> None:
    """Have a supervisor tell of a session again.

    \b
    Exit codes: 0 it is told of; 1 the notes cannot be written; 64 no supervisor has watched TARGET.
    Example:    stallkit unmute tmux:worker1
    """
    with closing(Store(store_file())) as store:
        target = watched_as(target, known_to(store))
        store.unmute(target)
    say(shown(target, ": a person is told of it"))
