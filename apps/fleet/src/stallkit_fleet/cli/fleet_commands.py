"""``stallkit fleet``: join and leave, what all hosts do, what happened, and what is wrong."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from nats.aio.client import Client
from nats.js.errors import NoStreamResponseError
from stallkit_operator.cli.stuck_commands import age
from stallkit_supervisor.cli.report_command import leave_by, print_report, since_when
from stallkit_supervisor.log_report import reported
from stallkit_supervisor.settings import Overrides, load_settings

from stallkit import private
from stallkit.cli.common import Duration, print_json
from stallkit.cli.output import note, plain_console, say, shown
from stallkit.cli.verb_group import VerbGroup
from stallkit.config import event_log, user_config
from stallkit.errors import ConfigError
from stallkit.press.policy_file import PROFILES, load_policy
from stallkit.toml_file import read_settings
from stallkit_fleet import bus, view
from stallkit_fleet.cli.common import COLOURS, CONFIG, JSON, fleet_of, on_bus, print_table, session_cells, session_json
from stallkit_fleet.doctor import findings
from stallkit_fleet.messages import ALIVE, STATE, VERSION, FleetEvent
from stallkit_fleet.outbox import Outbox
from stallkit_fleet.settings import FleetSettings, folder

_ANSWERS, _POLICIES = "stallkit_fleet.cli.answer_commands", "stallkit_fleet.cli.policy_commands"
_ELSEWHERE = {
    **{verb: f"{_ANSWERS}:{verb}_command" for verb in ("stuck", "show", "reply", "approve", "decline")},
    "policy": f"{_POLICIES}:policy_command",
}
_HEAD = ("host", "session", "state", "since", "asks")


@click.group("fleet", cls=VerbGroup, elsewhere=_ELSEWHERE)
def fleet_command() -> None:
    """Many machines: one list, one queue, one policy, over NATS JetStream (docs/fleet.md).

    Each machine that joins reports what its sessions do, and takes answers from the operators that it names.  If the
    bus fails, it works as before and reports later.

    \b
    Exit codes: 0; 1 the bus or a host fails, or the settings do; 2 nothing was pressed, something waits or is wrong;
                3 perhaps pressed; 4 it is over; 64 usage.
    Example:    stallkit fleet join nats://bus:4222 --host build-1 --answers ada
    """


@fleet_command.command("join")
@click.argument("url")
@click.option("--host", default="", metavar="NAME", help="This machine's name in the fleet. [default: its own]")
@click.option("--credentials", type=click.Path(path_type=Path), help="File with which this host logs in.")
@click.option("--operator", default="", metavar="NAME", help="Your name in the fleet. [default: your user's]")
@click.option("--operator-credentials", type=click.Path(path_type=Path), help="File with which you log in.")
@click.option("--ca", type=click.Path(path_type=Path), help="File with the certificates of the server's authority.")
@click.option("--answers", "operators", multiple=True, metavar="NAME", help="An operator who may answer this host.")
@click.option("--policy-key", metavar="KEY", help="Take policies signed with this public key.")
@click.option("--ceiling", default="careful", metavar="POLICY", help="Never let such a policy do more than this one.")
def join_command(
    url: str,
    host: str,
    credentials: Path | None,
    operator: str,
    operator_credentials: Path | None,
    ca: Path | None,
    operators: tuple[str, ...],
    policy_key: str | None,
    ceiling: str,
) -> None:
    """Make this machine a host of the fleet at URL.

    It tries the bus, then writes [fleet] to your own settings.  Restart `stallkit watch` afterwards: it reports to the
    bus.

    \b
    Exit codes: 0 joined; 1 the bus cannot be reached, or refuses, and nothing was written; 64 usage.
    Example:    stallkit fleet join tls://bus:4222 --credentials c.creds
    """
    logins = _path(credentials), operator, _path(operator_credentials), _path(ca)
    if ceiling not in PROFILES:
        ceiling = str(Path(ceiling).expanduser().absolute())  # not one that lies where a supervisor is started
    load_policy(ceiling)
    try:
        fleet = FleetSettings(url, host, *logins, list(operators), policy_key, ceiling)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    _try_as_host(fleet)
    with Outbox(_log(), folder(), fleet.name).only():
        pass  # from here on events are sent: what happened before stays here
    where = _write(fleet)
    say(f"{fleet.name} is a host of {url}, as written in {shown(where)}; restart stallkit watch")
    if not operators:
        note("nobody may answer from another machine: say who with --answers NAME")


def _log() -> Path:
    found = load_settings(None, Overrides(), os.environ, ["events"]).events.file
    return event_log(Path(found).expanduser() if found else None)


def _path(given: Path | None) -> str | None:
    return None if given is None else str(given.expanduser().absolute())


def _try_as_host(fleet: FleetSettings) -> None:
    """Connect as this host, make what is not there, and write a heartbeat.  Raises BusError."""

    async def tried(client: Client) -> None:
        js, body = client.jetstream(timeout=bus.REPLY_S), {"version": VERSION, "run": "joined"}
        beat = json.dumps({**body, "host": {"at": time.time(), "operators": fleet.operators}}).encode()
        try:
            await bus.bucket(js, STATE).put(f"{fleet.name}.host", beat)
        except NoStreamResponseError:  # this user may be the one who makes them
            try:
                await bus.create(js, str(fleet.url))
            except TimeoutError as error:  # so a server that refuses is heard
                todo = f"as a user who may: stallkit fleet create {fleet.url}"
                raise bus.BusError(str(fleet.url), "stallkit's buckets do not exist", todo) from error
            await bus.bucket(js, STATE).put(f"{fleet.name}.host", beat)
        await bus.check_version(js, str(fleet.url))

    on_bus(fleet, tried, as_host=True)


@fleet_command.command("create")
@click.argument("url")
@click.option("--credentials", type=click.Path(path_type=Path), help="File with which you log in.")
@click.option("--ca", type=click.Path(path_type=Path), help="File with the certificates of the server's authority.")
def create_command(url: str, credentials: Path | None, ca: Path | None) -> None:
    """Make the stream and the buckets of a fleet on a server.

    Log in as a user who may create them; existing ones stay.  On a server without users the first `join` does the same.

    \b
    Exit codes: 0 they exist; 1 the server cannot be reached, or refuses; 64 usage.
    Example:    stallkit fleet create tls://bus:4222 --credentials ~/admin.creds
    """
    try:
        fleet = FleetSettings(url, credentials=_path(credentials), ca=_path(ca), operator="admin")
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    on_bus(fleet, lambda client: bus.create(client.jetstream(timeout=bus.REPLY_S), url))
    say(f"{url} is ready for hosts: stallkit fleet join {url}, on each machine")


@fleet_command.command("leave")
def leave_command() -> None:
    """Take this machine out of its fleet.

    Remove [fleet] from your own settings, and this host from the list.

    \b
    Exit codes: 0 it left; 1 the settings cannot be written, or name no fleet.
    Example:    stallkit fleet leave
    """
    fleet = fleet_of(None)

    async def gone(client: Client) -> None:
        js = client.jetstream(timeout=bus.REPLY_S)
        await bus.bucket(js, ALIVE).delete(fleet.name)
        await bus.bucket(js, STATE).delete(f"{fleet.name}.host")

    where = _write(None)
    try:
        on_bus(fleet, gone, as_host=True)
    except bus.BusError as error:
        note(f"{error}; its last rows stay on the list for a week")
    say(f"{fleet.name} left {fleet.url}, as written in {shown(where)}; restart stallkit watch")


def _write(fleet: FleetSettings | None) -> str:
    """Write ``[fleet]`` instead of the one in the user's settings, or take it out; the file's name."""
    file = user_config()
    before = read_settings(file).text if file.exists() else ""
    kept, inside = [], False
    for line in before.splitlines():
        inside = line.strip() == "[fleet]" if line.lstrip().startswith("[") else inside
        if not inside:
            kept.append(line)
    text = "\n".join(kept).rstrip()
    if fleet is not None:
        plain = {one: getattr(fleet, one) for one in FleetSettings.__match_args__}
        lines = [f"{name} = {json.dumps(value)}" for name, value in plain.items() if value not in (None, "", [])]
        text = "\n".join([*([text, ""] if text else []), "[fleet]", *lines])
    try:
        private.folder(file.parent)
        new = file.with_suffix(".new")
        with os.fdopen(private.opened(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as out:
            out.write(f"{text}\n" if text else "")
        new.replace(file)
    except OSError as error:
        raise ConfigError(str(file), error.strerror or str(error), "make it writable; nothing was changed") from error
    return str(file)


@fleet_command.command("list")
@CONFIG
@JSON
def list_command(config: Path | None, as_json: bool) -> None:
    """List the sessions of all hosts.

    Those that need you come first.  A silent host is listed as unreachable, whatever its sessions did last.

    \b
    Exit codes: 0 listed; 1 the bus fails, or this machine is in no fleet.
    Example:    stallkit fleet list
    """
    found = on_bus(fleet_of(config), lambda client: view.read(client.jetstream(timeout=bus.REPLY_S)))
    if as_json:
        hosts = [
            {"host": one.name, "alive": one.alive, "heard": one.heard, **one.facts} for one in found.hosts().values()
        ]
        print_json({"version": 1, "hosts": hosts, "sessions": [session_json(one) for one in found.sessions()]})
        return
    print_list(found)


def print_list(found: view.FleetView) -> None:
    """Print the sessions, and the hosts that have none."""
    at, rows = time.time(), found.sessions()
    cells = [session_cells(row, at) for row in rows]
    for host in found.hosts().values():
        if host.name not in {row.host.name for row in rows}:
            state = "no session" if host.alive else host.silence
            since = "" if host.alive else age(at - host.heard)
            cells.append([host.name, "-", state, since, ""])
    if cells:
        print_table(_HEAD, cells, COLOURS)
    else:
        click.echo("no host has joined: stallkit fleet join URL")


@fleet_command.command("watch")
@click.option("--for", "for_s", type=Duration(above=True), help="End after this long. [default: at Ctrl-C]")
@CONFIG
@JSON
def watch_command(for_s: float | None, config: Path | None, as_json: bool) -> None:
    """Print what happens on all hosts, as it happens.

    Each event is printed once, and in order within a session.

    \b
    Exit codes: 0 ended as asked; 1 the bus fails, or this machine is in no fleet.
    Example:    stallkit fleet watch
    """
    end = None if for_s is None else time.monotonic() + for_s

    async def told(client: Client) -> None:
        async for one in view.events(client.jetstream(timeout=bus.REPLY_S)):
            if one is not None and (as_json or one.event["event"] != "detection"):
                click.echo(_line(one, as_json))
            if end is not None and time.monotonic() >= end:
                return

    with suppress(KeyboardInterrupt):
        on_bus(fleet_of(config), told)


def _line(one: FleetEvent, as_json: bool) -> str:
    if as_json:
        return json.dumps({**one.event, "host": one.host, "sequence": one.sequence})
    with suppress(ValueError):
        at = datetime.fromisoformat(str(one.event.get("time"))).astimezone()
        why = one.event.get("why") or one.event.get("kind") or ""
        return shown(f"{at:%H:%M:%S} ", f"{one.host}/{one.target} {one.event['event']}", f": {why}" if why else "")
    return shown(f"{one.host}/{one.target} {one.event['event']}")


@fleet_command.command("report")
@click.argument("where", required=False, metavar="[HOST[/SESSION]]")
@click.option("--since", default="12h", show_default=True, metavar="WHEN", help="A span, 22:00, or a date and time.")
@click.option("--all", "everything", is_flag=True, help="Every session, also those to which nothing happened.")
@CONFIG
@JSON
def report_command(where: str | None, since: str, everything: bool, config: Path | None, as_json: bool) -> None:
    """Report what happened on all hosts, on one, or to one session.

    It says what `stallkit report` says of one machine.

    \b
    Exit codes: 0 nothing waits; 1 the bus fails; 2 something still waits, as far as the bus knows; 64 usage.
    Example:    stallkit fleet report build-1/web --since 22:00
    """
    begin = since_when(since, datetime.now().astimezone())
    host, _, session = (where or "").partition("/")

    async def read(client: Client) -> list[dict[str, Any]]:
        found = []
        async for one in view.events(client.jetstream(timeout=bus.REPLY_S), begin, host or "*"):
            if one is None:
                break
            name = one.target.removeprefix("tmux:")
            if not session or session in (name, one.target):
                found.append({**one.event, "target": f"{one.host}/{name}" if name else ""})
        return found

    report = reported(on_bus(fleet_of(config), read), begin)
    print_report(report, 0, everything, as_json)
    leave_by(report)


@fleet_command.command("doctor")
@CONFIG
@JSON
@click.pass_context
def doctor_command(ctx: click.Context, config: Path | None, as_json: bool) -> None:
    """Say what is wrong between here and each host.

    It checks clock, version, rights, lag and policy, and says what to do.

    \b
    Exit codes: 0 nothing is wrong; 1 the settings name no fleet; 2 something is wrong.
    Example:    stallkit fleet doctor
    """
    found = findings(fleet_of(config))
    if as_json:
        print_json(
            {"version": 1, "findings": [{"where": one.where, "why": one.why, "todo": one.todo} for one in found]}
        )
    for one in () if as_json else found:
        plain_console(width=None).print(shown(f"{one.where}: {one.why}; {one.todo}"), soft_wrap=True, highlight=False)
    if not found and not as_json:
        say("nothing is wrong")
    ctx.exit(2 if found else 0)
