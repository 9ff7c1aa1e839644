"""``stallkit watch``: many sessions at once, also as a service; ``config notify``: a test of where people hear."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import sys
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable
from urllib.parse import urlsplit

import click
from rich.table import Table
from rich.text import Text

from stallkit.cli.common import POLICY, TARGET, Duration, config_option, log_option, print_json, session_options
from stallkit.cli.output import Exit, plain_console, shown
from stallkit.config import FILE, event_log, store_file, user_config
from stallkit.daemon_socket import DaemonSilent
from stallkit.distributions import offered
from stallkit.errors import ConfigError, UnknownFile
from stallkit.jsonio import dump
from stallkit.press.events import Event
from stallkit.settings import checked_files
from stallkit.transports.base import Options
from stallkit_supervisor.cli.report_command import summarise
from stallkit_supervisor.cli.ssh_watch import refuse_what_is_local, watch_hosts, words_there
from stallkit_supervisor.cli.watch_table import LiveTable
from stallkit_supervisor.notify.channels import SHOWN, Channels, Shown, channels_of
from stallkit_supervisor.notify.notifier import cloud_event
from stallkit_supervisor.service import opened, serve
from stallkit_supervisor.settings import Overrides, Settings, load_settings
from stallkit_supervisor.sources import socket_of, sources_for
from stallkit_supervisor.store import Store
from stallkit_supervisor.supervisor import Supervisor
from stallkit_supervisor.supervisor_socket import statuses

_TIME = Duration(above=True)


@click.command("watch")
@click.argument("targets", nargs=-1, type=TARGET)
@click.option("--all", "everything", is_flag=True, help="Watch every pane of the tmux server, also new ones.")
@config_option
@click.option("--for", "for_s", type=_TIME, help="End after this long. [default: at Ctrl-C]")
@click.option("--summary", is_flag=True, help="Print what happened at the end, like `stallkit report`.")
@click.option("--policy", type=POLICY, help="careful (default), daemon, observe, or a policy file.")
@click.option("--interval", "interval_s", type=_TIME, help="Time between heartbeats.")
@click.option(
    "--stall-timeout",
    "stall_s",
    type=_TIME,
    help="Time at rest after which a stall is suspected. [env: STALLKIT_STALL_TIMEOUT; default: 3m]",
)
@click.option("--agent", "agents", multiple=True, metavar="PROCESS", help="Press only if it is in the foreground.")
@click.option("--dry-run", is_flag=True, help="Press nothing; report what would be pressed.")
@click.option("--exec", "hook", metavar="CMD", help="Run CMD for each escalation, with the event on its input.")
@click.option("--webhook", metavar="URL", help="Post each escalation to URL, as JSON.")
@click.option(
    "--notify",
    "shown_by",
    multiple=True,
    type=click.Choice(SHOWN),
    help="Show notices there; repeat it (docs/notify.md).",
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="[USER@]NAME",
    help="Watch the sessions of another machine instead, over ssh; repeat it.",
)
@click.option("--service", is_flag=True, help="Watch what the settings name, until SIGTERM, as lines of JSON.")
@click.option("--check", "only_check", is_flag=True, help="With --service: check the settings, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as a line of JSON (docs/watch.md).")
@log_option
@session_options
def watch_command(
    targets: tuple[str, ...],
    everything: bool,
    config: Path | None,
    for_s: float | None,
    summary: bool,
    policy: str | None,
    interval_s: float | None,
    stall_s: float | None,
    agents: tuple[str, ...],
    dry_run: bool,
    hook: str | None,
    webhook: str | None,
    shown_by: tuple[Shown, ...],
    hosts: tuple[str, ...],
    service: bool,
    only_check: bool,
    as_json: bool,
    log: Path | None,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Watch sessions, answer what the policy allows, and tell you the rest.

    TARGET is tmux:NAME, tmux:%PANE, or another transport's.  In a terminal a table shows every session; elsewhere, and
    with --json, each event is a line of JSON.  Ctrl-C or SIGTERM ends it, after the current action.

    With --host it watches the sessions of that machine over ssh, and none of this one.  It presses nothing there
    without --policy, which names a profile or a file there (docs/fleet.md).

    With --service the settings name the sessions: --config, else the user's own file and ./stallkit.toml, which wins if
    `stallkit config allow` let it.  SIGHUP reads them again; if they are invalid, the old ones stay.  Under systemd it
    reports when it is ready, and serves the watchdog (docs/watch.md has a unit).

    \b
    Exit codes: 0 ended as asked, or --check passed; 1 could not start, or the settings are invalid; 64 usage, or there
                are no settings, or they name no session.
    Example:    stallkit watch --all --policy observe
                stallkit watch --service --config stallkit.toml
    """
    if service and (targets or everything or hosts):
        raise click.UsageError("with --service the settings name the sessions: leave out TARGET, --all and --host")
    if service and summary:
        raise click.UsageError("--summary is for a person: leave it out with --service, and ask stallkit report")
    if only_check and not service:
        raise click.UsageError("--check needs --service")
    if hosts:
        refuse_what_is_local(click.get_current_context())
        watch_hosts(hosts, words_there(targets, policy, interval_s, stall_s, agents, everything), as_json, for_s)
        return
    flags = Overrides(policy, interval_s, stall_s, agents, dry_run, hook, webhook, shown_by)
    options = Options(socket_name, socket_path)
    if service:
        _serve(config, flags, only_check, options, log, for_s)
        return
    settings = load_settings(config, flags, os.environ)
    names = [*targets] or settings.watch.targets
    everything = everything or (settings.watch.all and not targets)
    if not names and not everything:
        raise click.UsageError("name a session, say --all, or give targets in stallkit.toml")
    begun = time.time()
    run_watch(settings, names, everything, options, as_json, log, for_s)
    if summary:
        summarise(event_log(log or settings.events.file), begun, stderr=True)


def run_watch(
    settings: Settings,
    targets: list[str],
    everything: bool,
    options: Options,
    as_json: bool,
    log: Path | None,
    for_s: float | None = None,
    again: Callable[[], Settings] | None = None,
) -> None:
    """Watch until it ends; SIGHUP reads the settings by `again`."""
    say = _complain
    with ExitStack() as stack:
        store = Store(store_file())
        stack.callback(store.close)
        try:
            sources = sources_for(targets, options, everything, settings.watch.listen)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        _tell_who_watches(socket_of(options), targets, everything)
        open_escalations = offered("escalations")
        escalations = open_escalations(stack, options) if open_escalations else None
        supervisor = opened(stack, settings, store, say, sources, log, options, escalations)
        each = _printed if as_json or not sys.stdout.isatty() else _table(stack, supervisor)
        beside, file = offered("fleet_link"), event_log(log or settings.events.file)
        if beside is not None:
            beside = partial(beside, settings, file, options, lambda: supervisor.engine, tell=say)
        asyncio.run(serve(supervisor, each, settings, again, for_s, say, beside))


def _tell_who_watches(socket: str, targets: list[str], everything: bool) -> None:
    """Warn of a supervisor that watches some of these sessions already."""
    with suppress(DaemonSilent):
        for one in statuses():
            both = everything or {row["target"] for row in one["sessions"]} & {*targets}
            if socket in one.get("servers", ()) and both:
                by = f"process {one['pid']}, policy {one['policy']}"
                _complain(f"{by}, watches there already: each notice comes twice; end one of the two")


def _printed(event: Event) -> None:
    click.echo(json.dumps(dump(event)))


def _complain(line: str) -> None:
    print(f"stallkit: {shown(line)}", file=sys.stderr)  # click's echo would write into a table that is shown


def _table(stack: ExitStack, supervisor: Supervisor) -> Callable[[Event], None]:
    return stack.enter_context(LiveTable(supervisor)).event


# --- as a service ---


def _serve(
    config: Path | None, flags: Overrides, only_check: bool, options: Options, log: Path | None, for_s: float | None
) -> None:
    """Watch the sessions that the settings name; print each event as a line of JSON."""
    settings = load_settings(config, flags, os.environ)
    files = " and ".join(found.file.path for found in checked_files(config))
    if not files:
        todo = "write one (docs/watch.md), or name it with --config"
        raise UnknownFile(FILE, f"none here counts, and there is no {user_config()}", todo)
    if not settings.watch.targets and not settings.watch.all:
        raise click.UsageError(f"{files} names no session: set targets, or all = true, in [watch]")
    if only_check:
        _check(settings, files, options.tmux_socket_name or options.tmux_socket_path)
        return
    watch, allowed = settings.watch, any(found.allowed for found in checked_files(config))

    def again() -> Settings:
        if allowed and not any(found.allowed for found in checked_files(config)):
            todo = f"stallkit config allow {shlex.quote(str(Path.cwd()))}"
            raise ConfigError(FILE, "it changed since it was allowed", todo)
        return load_settings(config, flags, os.environ)

    run_watch(settings, watch.targets, watch.all, options, True, log, for_s, again)


def _check(settings: Settings, files: str, socket: str | None) -> None:
    """Open everything that a start would open, and close it; look at no session, and call no webhook."""
    try:
        sources = sources_for(settings.watch.targets)
    except ValueError as error:
        raise ConfigError(files, str(error), "correct [watch] targets") from error
    with ExitStack() as stack:
        opened(stack, settings, None, lambda line: None, sources)
    stall_s, events = settings.config.schedule.stall_timeout_s, settings.events
    program = shlex.split(events.exec)[0] if events.exec else None
    if program and shutil.which(program) is None:
        raise ConfigError(
            files, f"no program {program!r} is there for [events] exec", "correct its path, or install it"
        )
    click.echo(f"{shown(files)}: policy {settings.policy.name}, a stall is suspected after {stall_s:g} s")
    if socket:
        click.echo(f"tmux: the server at {shown(socket)}")
    if events.webhook:
        host = urlsplit(events.webhook).hostname  # the rest of it may hold a token
        click.echo(f"webhook: an address of {host}, which was not called")
    if events.metrics:
        click.echo(f"metrics: {events.metrics} can be served")
    if events.otlp:
        click.echo(f"otlp: figures can be sent to {urlsplit(events.otlp).hostname}, which was not called")


# --- ``stallkit config notify``: a test notice to each place where people are told ---

_TEST = Event("test", "", {"why": "nobody has to do anything"})


@click.command("notify", short_help="Send a test notice to each place that is set.")
@config_option
@click.option("--notify", "shown_by", multiple=True, type=click.Choice(SHOWN), help="This place too; repeat it.")
@click.option("--exec", "hook", metavar="CMD", help="Run CMD, with the event on its input.")
@click.option("--webhook", metavar="URL", help="Post the event to URL.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/notify.md).")
@session_options
@click.pass_context
def notify_command(
    ctx: click.Context,
    config: Path | None,
    shown_by: tuple[Shown, ...],
    hook: str | None,
    webhook: str | None,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Send a test notice to each place in the settings and these options, and say whether it arrived.

    The places are those of `watch`: desktop, terminal, tmux (the clients of -L or -S), a command, a webhook.  Limits
    and quiet hours do not apply.

    \b
    Exit codes: 0 each place got it; 1 one did not; 64 usage, or no place is named.
    Example:    stallkit config notify --notify desktop --notify tmux
    """
    flags = Overrides(command=hook, webhook=webhook, notify=shown_by)
    settings = load_settings(config, flags, os.environ, ["events", "notify"])
    rows = _told(settings.channels(Options(socket_name, socket_path)))
    if not rows:
        raise click.UsageError("no place is named: give --notify, --exec, --webhook, or settings (docs/notify.md)")
    if as_json:
        print_json({"version": 1, "places": rows})
    else:
        _print(rows)
    ctx.exit(Exit.OK if all(row["told"] for row in rows) else Exit.ERROR)


def _told(chosen: Channels) -> list[dict[str, Any]]:
    """Each place, whether the test reached it, and what happened."""
    rows = []
    for channel in channels_of(chosen):
        try:
            told, what = True, channel.deliver(cloud_event(_TEST))
        except OSError as error:
            told, what = False, str(error)
        rows.append({"place": channel.name, "told": told, "what": what})
        channel.close()
    return rows


def _print(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        told = Text("told") if row["told"] else Text("not told", "red")
        table.add_row(shown(row["place"]), told, shown(row["what"]))
    plain_console().print(table)
