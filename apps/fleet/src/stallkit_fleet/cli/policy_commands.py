"""``stallkit fleet policy``: hand out one signed policy to all hosts that take it, list its versions, roll back."""

from __future__ import annotations

import os
import time
from datetime import datetime
from pathlib import Path

import click
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import KeyNotFoundError, NoKeysError

from stallkit import private
from stallkit.cli.common import print_json
from stallkit.cli.output import say, shown
from stallkit.errors import ConfigError
from stallkit_fleet import bus, view
from stallkit_fleet.cli.common import CONFIG, JSON, fleet_of, on_bus, print_table
from stallkit_fleet.messages import POLICY
from stallkit_fleet.policies import PolicyRefused, PolicyVersion
from stallkit_fleet.settings import FleetSettings, secret
from stallkit_fleet.signing import new_key, sign

_KEY = click.option("--key", "key", required=True, type=click.Path(path_type=Path), help="The file of your secret key.")


@click.group("policy")
def policy_command() -> None:
    """Give one policy to all hosts that take it.

    A host takes it if its own settings name the key that signed it, and never lets it exceed their ceiling.

    \b
    Example:    stallkit fleet policy put night.toml --key ~/policy.key
    """


@policy_command.command("key")
@click.argument("file", type=click.Path(path_type=Path))
def key_command(file: Path) -> None:
    """Make a key for policies.

    The secret key goes into FILE, which only you can read; the public key is printed, for the hosts.

    \b
    Exit codes: 0 made; 1 the file is there already, or cannot be written.
    Example:    stallkit fleet policy key ~/policy.key
    """
    seed, public = new_key()
    try:
        handle = private.opened(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except OSError as error:
        raise ConfigError(str(file), error.strerror or str(error), "name a file that is not there yet") from error
    with os.fdopen(handle, "w") as out:
        out.write(seed + "\n")
    click.echo(public)


@policy_command.command("put")
@click.argument("file", type=click.Path(path_type=Path))
@_KEY
@click.option("--note", default="", help="A note for the list.")
@CONFIG
def put_command(file: Path, key: Path, note: str, config: Path | None) -> None:
    """Sign a policy file, and give it to the hosts.

    \b
    Exit codes: 0 the bus has it; 1 it is no policy, or the bus fails.
    Example:    stallkit fleet policy put night.toml --key ~/policy.key
    """
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            str(file), getattr(error, "strerror", None) or "it is no text", "name a policy file"
        ) from error
    _hand_out(fleet_of(config), text, key, note)


@policy_command.command("rollback")
@click.argument("version", type=click.IntRange(min=1))
@_KEY
@CONFIG
def rollback_command(version: int, key: Path, config: Path | None) -> None:
    """Give the hosts an earlier version again, as the next one.

    \b
    Exit codes: 0 the bus has it; 1 there is no such version, or the bus fails.
    Example:    stallkit fleet policy rollback 3 --key ~/policy.key
    """
    fleet = fleet_of(config)
    found = {one.version: one for one in on_bus(fleet, lambda client: _versions(_js(client)))}
    if version not in found:
        todo = "see: stallkit fleet policy list"
        raise ConfigError(f"version {version}", "the bus has no such version (it keeps 64)", todo)
    _hand_out(fleet, found[version].text, key, f"as version {version}")


def _hand_out(fleet: FleetSettings, text: str, key: Path, note: str) -> None:
    seed = secret(str(key))

    async def put(client: Client) -> int:
        js = _js(client)
        last = (await _versions(js))[-1:]
        number = last[0].version + 1 if last else 1
        made = PolicyVersion(number, text, fleet.person, time.time(), note)
        assert made.policy  # raises where it is none
        signed = PolicyVersion(number, text, made.by, made.at, note, sign(made.signed_part, seed))
        await bus.bucket(js, POLICY).put("policy", signed.dumped())
        return number

    try:
        number = on_bus(fleet, put)
    except ValueError as error:
        raise ConfigError(str(key), str(error), "name the file that stallkit fleet policy key made") from error
    say(f"version {number} is on the bus; stallkit fleet policy list shows which hosts run it")


@policy_command.command("list")
@CONFIG
@JSON
def list_command(config: Path | None, as_json: bool) -> None:
    """List the versions, and which one each host runs.

    \b
    Exit codes: 0 listed; 1 the bus fails.
    Example:    stallkit fleet policy list
    """
    from_bus = on_bus(fleet_of(config), lambda client: _with_hosts(_js(client)))
    versions, hosts = from_bus
    if as_json:
        rows = [
            {"version": one.version, "by": one.by, "at": one.at, "note": one.note, "text": one.text} for one in versions
        ]
        print_json({"version": 1, "versions": rows, "hosts": hosts})
        return
    if not versions:
        click.echo("no policy is on the bus: stallkit fleet policy put FILE --key FILE")
    else:
        cells = [
            [str(one.version), f"{datetime.fromtimestamp(one.at):%Y-%m-%d %H:%M}", one.by, one.note] for one in versions
        ]
        print_table(("version", "at", "by", "note"), cells)
    for name, facts in hosts.items():
        runs = f"runs version {facts['policy']}" if facts["policy"] else "runs its own policy"
        told = "" if facts["takes_policies"] else ", and takes none"
        click.echo(shown(f"{name}: {runs}{told}", f"; {facts['policy_refused']}" if facts["policy_refused"] else ""))


def _js(client: Client) -> JetStreamContext:
    return client.jetstream(timeout=bus.REPLY_S)


async def _versions(js: JetStreamContext) -> list[PolicyVersion]:
    """The versions in the bucket, the oldest first; what is none is left out."""
    found = []
    try:
        for entry in await bus.bucket(js, POLICY).history("policy"):
            try:
                found.append(PolicyVersion.loaded(entry.value or b""))
            except PolicyRefused:
                continue
    except (NoKeysError, KeyNotFoundError):
        return []
    return found


async def _with_hosts(js: JetStreamContext) -> tuple[list[PolicyVersion], dict[str, dict[str, object]]]:
    names = ("policy", "takes_policies", "policy_refused")
    hosts = (await view.read(js)).hosts()
    return await _versions(js), {name: {one: host.facts.get(one) for one in names} for name, host in hosts.items()}
