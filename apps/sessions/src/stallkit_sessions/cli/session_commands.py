"""``stallkit start``, ``list``, ``output``, ``postmortem`` and ``stop``: sessions, and how they ended."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterator, Sequence

import click
from rich.table import Table
from rich.text import Text

from stallkit.cli.check_commands import as_lines
from stallkit.cli.common import (
    Duration,
    engine,
    env_options,
    log_option,
    policy_option,
    print_json,
    session_options,
    variables,
)
from stallkit.cli.output import Exit, exit_of, hanging, page_table, say, shown, wide_console
from stallkit.cli.press_commands import wait_for
from stallkit.cli.states import look_of
from stallkit.config import event_log, sessions_file
from stallkit.distributions import offered
from stallkit.durations import in_words
from stallkit.errors import TransportError
from stallkit.jsonio import unstructure
from stallkit.press.check import CheckResult, check_session
from stallkit.press.events import EventLog
from stallkit.press.policy import Policy
from stallkit.redact.redact import redact_all
from stallkit.settings import configured_policy
from stallkit.terminal.text import escaped
from stallkit.transports.targets import open_target
from stallkit_sessions.cli.named_sessions import (
    SESSION,
    earlier_ends,
    found,
    leave,
    no_session,
    opened,
    reached,
    show_end,
)
from stallkit_sessions.cli.panel import as_json as end_object
from stallkit_sessions.cli.panel import ended, how, show
from stallkit_sessions.containers.runtime_call import BWRAP, DOCKER, PODMAN
from stallkit_sessions.end_facts import facts
from stallkit_sessions.explain import event_of, hints
from stallkit_sessions.lifecycle import GRACE_S, clear, stop
from stallkit_sessions.manager import Sessions
from stallkit_sessions.model import STOPPED, ExitRecord, Session
from stallkit_sessions.register import Register, RunningSession

# --- the sessions that stallkit started, as a table and as values ---


def print_table(rows: Sequence[RunningSession | ExitRecord]) -> None:
    """Print a row for each session; below the table why each of them died, and the command that recovers it."""
    made, table = wide_console(), Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for column in (*[""] * made.is_terminal, "session", "is", "for", "in", "ports"):
        table.add_column(column, overflow="ellipsis", no_wrap=True)
    table.add_column("command", overflow="ellipsis", no_wrap=True, ratio=1)  # the room that the others leave
    now, dead = time.time(), []
    for row in rows:
        session = row.session
        if isinstance(row, RunningSession):
            state, since = "running" if row.bound else "starting", now - session.started_at
            look = look_of(state)
        else:
            in_order = event_of(row) == STOPPED
            state, since, look = ended(row), now - row.ended_at, look_of("ended" if in_order else "failed")
            if not in_order:
                dead.append(row)
        table.add_row(
            *([Text(look.mark, look.colour)] if made.is_terminal else []),
            Text(shown(session.name)),
            Text(state, look.colour),
            in_words(since) if isinstance(row, RunningSession) else f"{in_words(since)} ago",
            Text(shown(session.engine or "")),
            " ".join(map(str, session.ports)),
            Text(shown(" ".join(session.command))),
        )
    if made.is_terminal:
        made.print(table)
    else:
        page_table(made, table)
    for why, more, todo in _lines(dead):
        if made.is_terminal:  # a command to copy has a line of its own
            lines = [*hanging(made, f"{shown(*why)} ({more})", 2), *[f"  {escaped(todo)}"] * bool(todo)]
        else:
            lines = [f"{shown(*why)}{'; ' * bool(todo)}{escaped(todo)} ({more})"]
        for line in lines:
            made.print(Text(line), soft_wrap=True)


def _lines(dead: list[ExitRecord]) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Why each of them ended, where to read more, and the one command that recovers it, if there is one.

    Sessions that died of the same cause at once are one entry.
    """
    together: dict[str, list[ExitRecord]] = defaultdict(list)
    for record in dead:
        together[record.incident or record.session.id].append(record)
    for records in together.values():
        names, first = [record.session.name for record in records], records[0]
        if len(names) > 1:
            why = f"incident {first.incident}: {first.why}; with it went {', '.join(names)}"
            yield (why,), "stallkit output --postmortem NAME", ""
        else:
            todo = next((command for command, _ in hints(first)), "")
            yield (names[0], f": {first.why}"), f"stallkit output --postmortem {escaped(names[0])}", todo


def row_object(register: Register, row: RunningSession | ExitRecord) -> dict[str, Any]:
    """A session for programs."""
    if isinstance(row, ExitRecord):
        return {"name": row.session.name, "state": "ended", "ended": end_object(row, earlier_ends(register, row))}
    session = unstructure(row.session)
    return {"name": row.session.name, "state": "running" if row.bound else "starting", "session": session}


@click.command("list")
@click.option("--living", is_flag=True, help="Leave out sessions that ended.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
def list_command(living: bool, as_json: bool) -> None:
    """List the sessions that stallkit started: which ones run, and why the others ended.

    \b
    Exit codes: 0; 1 the register cannot be read.
    Example:    stallkit list --json
    """
    rows: list[RunningSession | ExitRecord] = []
    objects: list[dict[str, Any]] = []
    if sessions_file().exists():
        with opened(or_copy=True) as register:
            rows = [one for one in register.listing() if isinstance(one, RunningSession) or not living]
            objects = [row_object(register, one) for one in rows if as_json]
    if as_json:
        print_json({"version": 1, "sessions": objects})
    elif rows:
        print_table(rows)
    else:
        none = "no session runs" if living else "no session was started yet"
        say(f"{none}: stallkit {'list' if living else 'start NAME -- COMMAND'}")


# --- start ---

_SIZE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")


@click.command("start")
@click.argument("name", required=False)
@click.argument("words", nargs=-1, metavar="-- COMMAND...")
@click.option(
    "--manifest", type=click.Path(path_type=Path), metavar="FILE", help="A sandbox's manifest (docs/sandboxes.md)."
)
@click.option("--replace", is_flag=True, help="Stop a session of this name first.")
@click.option("--docker", metavar="IMAGE", help="Run it in a docker container.")
@click.option("--podman", metavar="IMAGE", help="Run it in a podman container.")
@click.option("--bwrap", is_flag=True, help="Run it in a bubblewrap sandbox.")
@click.option("--engine-option", "engine_options", multiple=True, metavar="WORD", help="For docker's or podman's run.")
@click.option(
    "--cwd", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="Directory to run it in."
)
@click.option("--port", "ports", multiple=True, type=click.IntRange(0, 65_535), metavar="N", help="A port; 0: any.")
@env_options
@click.option("--size", default="120x40", show_default=True, metavar="COLSxROWS", help="Size of its terminal.")
@click.option("--askpass", is_flag=True, help="Let git, ssh and sudo in it ask through stallkit (docs/wrap.md).")
@click.option("--wrap", is_flag=True, help="Run it behind a relay that reports its status (docs/wrap.md).")
@click.option("--wait", "wait_s", type=Duration(), help="Wait until it is ready, at most this long.")
@policy_option
@click.option("--hooks", is_flag=True, help="Let an agent report more by its hooks (docs/signals.md).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@session_options
@click.pass_context
def start_command(
    ctx: click.Context,
    name: str | None,
    words: tuple[str, ...],
    manifest: Path | None,
    replace: bool,
    docker: str | None,
    podman: str | None,
    bwrap: bool,
    engine_options: tuple[str, ...],
    cwd: Path,
    ports: tuple[int, ...],
    env: tuple[str, ...],
    env_files: tuple[str, ...],
    size: str,
    askpass: bool,
    wrap: bool,
    wait_s: float | None,
    policy: str | None,
    hooks: bool,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Start COMMAND in a tmux session NAME, and record how it ends.

    The record has exit status, last screen, worktree and container: `stallkit output NAME` shows it.  A port belongs
    to one session at a time; the program finds its ports in PORT and STALLKIT_PORTS.  The words after -- run without a
    shell.  Values of --env and --env-file reach the program unseen, and are stored nowhere.  With --manifest a file
    says all that, and no key goes in unless it allows keys.

    \b
    Exit codes: 0 started (with --wait: ready); 1 could not, or the name or a port is taken; with --wait
                also 2 a prompt needs a person, 4 it vanished, 6 time-out; 64 usage, or there is no such program.
    Example:    stallkit start worker1 --cwd ~/project --port 0 -- my-agent
                stallkit start --manifest web.toml
    """
    columns = _SIZE.fullmatch(size)
    if columns is None:
        raise click.UsageError(f"{size!r} is not a size: write COLSxROWS, such as 120x40")
    if manifest is not None:
        start_manifest = offered("start_manifest")
        if start_manifest is None:
            raise click.UsageError("--manifest needs stallkit-operator; pip install stallkit-operator")
        start_manifest(ctx, manifest, (int(columns[1]), int(columns[2])))
    if name is None or not words:
        raise click.UsageError("give NAME -- COMMAND..., or --manifest FILE")
    runtime, image = _runtime(docker, podman, bwrap)
    with Sessions() as sessions:
        try:
            made = sessions.start(
                name,
                words,
                directory=cwd,
                engine=runtime,
                image=image,
                engine_options=engine_options,
                ports=ports,
                size=(int(columns[1]), int(columns[2])),
                replace=replace,
                hooks=hooks,
                askpass=askpass,
                relayed=wrap,
                env=variables(env, env_files),
                tmux_socket_name=socket_name,
                tmux_socket_path=socket_path,
                tell=lambda line: click.echo(f"stallkit: {shown(line)}", err=True),
            )
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    if as_json and wait_s is None:
        kept = ("name", "id", "identity", "directory", "engine", "container")
        session = {key: getattr(made, key) for key in kept}
        print_json({"version": 1, "session": {**session, "ports": list(made.ports)}})
    elif not as_json:
        ports_shown = f", ports {' '.join(map(str, made.ports))}" if made.ports else ""
        say(shown(name, f": started{ports_shown}; stallkit output {name} shows it"))
    if wait_s is not None:
        ctx.exit(wait_for(name, policy, wait_s, as_json, None))


def _runtime(docker: str | None, podman: str | None, bwrap: bool) -> tuple[str | None, str | None]:
    given = [(name, image) for name, image in ((DOCKER, docker), (PODMAN, podman), (BWRAP, "" if bwrap else None))]
    chosen = [(name, image or None) for name, image in given if image is not None]
    if len(chosen) > 1:
        raise click.UsageError("give one of --docker, --podman and --bwrap")
    return chosen[0] if chosen else (None, None)


# --- what one shows, how it ended, and its end ---


@click.command("output")
@click.argument("name", type=SESSION)
@click.option("--lines", type=click.IntRange(1, 10_000), default=40, show_default=True, metavar="N", help="How many.")
@click.option("--check-stall", is_flag=True, help="Judge whether it is stalled, and exit like `check`.")
@click.option(
    "--dismiss", "dismisses", is_flag=True,
    help="With --check-stall: press once what the policy allows.",
)  # fmt: skip
@policy_option
@click.option("--postmortem", is_flag=True, help="Instead: how it ended last, and why.")
@click.option("--all", "everything", is_flag=True, help="With --postmortem: every kept end of that name, oldest first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@log_option
@click.pass_context
def output_command(
    ctx: click.Context,
    name: str,
    lines: int,
    check_stall: bool,
    dismisses: bool,
    policy: str | None,
    postmortem: bool,
    everything: bool,
    as_json: bool,
    log: Path | None,
) -> None:
    """Print the last lines of a session, or how it ended.

    With --check-stall the result of `stallkit check` follows on standard error; the lines are from before any press.

    With --postmortem it says how a session ended: cause, time, exit code and its source, last screen, worktree,
    container, ports; also of one that was started again.

    \b
    Exit codes: 0; 1 could not look, or with --postmortem it never ended; 4 it ended; with --check-stall also 2 stalled,
                asks or failed, 3 maybe.
    Example:    stallkit output worker1 --check-stall
                stallkit output worker1 --postmortem --json
    """
    if everything and not postmortem:
        raise click.UsageError("--all needs --postmortem")
    if postmortem and (check_stall or dismisses):
        raise click.UsageError("--postmortem looks at no session: leave out --check-stall and --dismiss")
    if postmortem:
        _postmortem(ctx, name, everything, as_json)
        return
    if dismisses and not check_stall:
        raise click.UsageError("--dismiss needs --check-stall")
    if policy and not dismisses:
        raise click.UsageError("--policy needs --dismiss")
    allowed = configured_policy(policy) if dismisses else None
    session = found(name)
    if isinstance(session, ExitRecord):
        leave(ctx, session)
    look = facts(session.session, lines=lines)
    if look.facts.place != "there":
        raise click.ClickException(f"could not look at {name}: {look.why}; try again")
    checked = _checked(name, session.session, allowed, log) if check_stall else None
    if as_json:
        result = {"version": 1, "target": name, "status": None} | ({} if checked is None else unstructure(checked))
        print_json({**result, "lines": "\n".join(look.lines).split("\n")})
    else:
        for line in redact_all(look.lines):  # together: a secret may begin on one line and end on another
            click.echo(shown(line))
        for line in as_lines(checked) if checked is not None else ():
            click.echo(line, err=True)
    if checked is not None and checked.unlogged is not None:
        click.echo(f"stallkit: {shown(checked.unlogged)}", err=True)
    ctx.exit(Exit.OK if checked is None else exit_of(checked.status))


def _checked(name: str, session: Session, allowed: Policy | None, log: Path | None) -> CheckResult:
    transport = open_target(*reached(session))
    transport.target = name
    try:
        return check_session(transport, engine(), allowed, EventLog(event_log(log)), prove=True)
    finally:
        transport.close()


def _postmortem(ctx: click.Context, name: str, everything: bool, as_json: bool) -> None:
    """Print how a session ended: cause, time, exit code and its source, last screen, worktree, container, ports."""
    latest = found(name)
    with opened(settled=False) as register:
        records = register.records(name, limit=1_000 if everything else 1)
    if not records:
        click.echo(shown(name, " is running, and has never ended"), err=True)
        ctx.exit(Exit.ERROR)
    if as_json and everything:
        ends = [end_object(record, records[:number][::-1]) for number, record in enumerate(records)]
        print_json({"version": 1, "target": name, "ended": ends})
    elif everything:
        for record in records:
            show(record)
    else:
        show_end(records[0], as_json)
    if not isinstance(latest, ExitRecord):
        click.echo(shown(name, " was started again, and is running"), err=True)


@click.command("stop")
@click.argument("names", nargs=-1, metavar="NAME...", type=SESSION)
@click.option("--all", "everything", is_flag=True, help="Stop every running session.")
@click.option(
    "--grace", "grace_s", type=Duration(), default=f"{GRACE_S:g}s", show_default=True,
    help="Kill what has not ended after this time.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@click.pass_context
def stop_command(ctx: click.Context, names: tuple[str, ...], everything: bool, grace_s: float, as_json: bool) -> None:
    """Stop sessions: end the program, record how it ended, then remove its pane and container.

    For a session that has ended, this removes what is left of it; its record stays.

    \b
    Exit codes: 0 all of them ended; 1 one did not.
    Example:    stallkit stop worker1
    """
    if everything == bool(names):
        raise click.UsageError("name the sessions, or give --all")
    results, failed = [], False
    with opened() as register:
        if everything:
            names = tuple(one.session.name for one in register.living())
            if not names and not as_json:
                say("no session runs")
        for name in names:  # before any is stopped
            if register.latest(name) is None:
                raise click.UsageError(no_session(name))
        for name in names:
            try:
                record = _stopped(register, name, grace_s)
            except TransportError as error:
                failed = True
                results.append({"name": name, "error": str(error)})
                click.echo(f"stallkit: {shown(error)}", err=True)
                continue
            results.append({"name": name, "cause": str(record.cause), "why": record.why})
            if not as_json:
                say(shown(record.session.name, f": {record.cause}, {how(record)}"))
    if as_json:
        print_json({"version": 1, "sessions": results})
    ctx.exit(Exit.ERROR if failed else Exit.OK)


def _stopped(register: Register, name: str, grace_s: float) -> ExitRecord:
    session = register.latest(name)
    if session is None:
        raise TransportError(name, "its start failed meanwhile", "there is nothing to stop")
    if isinstance(session, RunningSession):
        return stop(register, session, grace_s=grace_s)
    clear(session, grace_s)
    return session
