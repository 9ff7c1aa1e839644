"""``stallkit serve`` and ``stuck serve``: the ways in for programs, and for agents in sandboxes with their side."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import AbstractAsyncContextManager, ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Callable, cast

import click
from stallkit_supervisor.notify.channels import SHOWN, Shown, open_notifier
from stallkit_supervisor.settings import Overrides, load_settings

from stallkit import private
from stallkit.cli.common import Duration, config_option, engine, session_options
from stallkit.cli.output import shown
from stallkit.config import queue_file, sandboxes_file, state_dir, stuck_dir
from stallkit.errors import StallkitError
from stallkit.packs.registry import installed_engine
from stallkit.press.events import Event
from stallkit.press.policy_file import load_policy
from stallkit.terminal.text import escaped
from stallkit.transports.base import Options
from stallkit_operator.answering import typed_later
from stallkit_operator.cli.sandbox_commands import opened as opened_sandboxes
from stallkit_operator.cli.stuck_commands import manifests_log, open_session, opened_queue, user, who
from stallkit_operator.install import install
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.sandbox_start import composer_of
from stallkit_operator.serve.json_rpc import lines
from stallkit_operator.serve.methods import Services

if TYPE_CHECKING:
    from stallkit_operator.agent_server import Served


@click.command("serve", short_help="Take what sandboxed agents ask, and return your replies.")
@click.argument("sandboxes", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Serve each sandbox from a manifest too, also new ones.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Make each sandbox's directory there. [default: its own]"
)
@click.option(
    "--expires", "expires_s", type=Duration("h", above=True), default="7d", show_default=True,
    help="How long a message waits for its answer; a bare number is hours.",
)  # fmt: skip
@click.option("--listen", metavar="HOST:PORT", help="Listen on TCP too; needs --token-file and --allow-host.")
@click.option("--token-file", type=click.Path(path_type=Path), help="File with lines SANDBOX TOKEN, for --listen.")
@click.option("--allow-host", "hosts", multiple=True, metavar="HOST", help="Accept this Host header over TCP.")
@click.option("--allow-origin", "origins", multiple=True, metavar="ORIGIN", help="Accept web pages of this origin.")
@config_option
@click.option("--notify", "shown_by", multiple=True, metavar="PLACE", help="Show notices: desktop, terminal, tmux.")
@click.option("--exec", "hook", metavar="CMD", help="Run CMD for each notice, with the event on its input.")
@click.option("--webhook", metavar="URL", help="Post each notice to URL.")
def stuck_serve_command(
    sandboxes: tuple[str, ...],
    everything: bool,
    folder: Path | None,
    expires_s: float,
    listen: str | None,
    token_file: Path | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    config: Path | None,
    shown_by: tuple[str, ...],
    hook: str | None,
    webhook: str | None,
) -> None:
    """Take what sandboxed agents ask, hold their connections, and give them your replies, until SIGTERM or Ctrl-C.

    Each SANDBOX gets a directory with a unix socket; mount it into the sandbox, which needs nothing else.  Settings and
    options say where each notice is shown (docs/notify.md).  A reply for which no agent waits is typed into the
    composer of an interactive sandbox once its agent is at rest.  Needs the extra stallkit-operator[stuck].

    \b
    Exit codes: 0 ended as asked; 1 could not start, or another process serves a sandbox; 64 usage.
    Example:    stallkit sandbox serve web db
    """
    try:
        from stallkit_operator.agent_server import serve, sockets, tcp_at, tokens_of  # extra: stuck
    except ImportError as error:
        raise _missing("endpoint", "stuck", error) from error

    if everything:
        sandboxes = tuple(dict.fromkeys([*sandboxes, *_registered()]))
    elif not sandboxes and listen is None:
        raise click.UsageError("name a sandbox, or say --all")
    tcp = None
    if listen is not None:
        if token_file is None or not hosts:
            raise click.UsageError("--listen needs --token-file and --allow-host")
        tcp = tcp_at(listen, tokens_of(token_file), hosts, origins)
    place = folder or stuck_dir()

    def mounts(name: str) -> None:
        click.echo(shown(name, f": mount {(place / name).absolute()}"))

    def ready() -> None:
        for name in (one for one in sandboxes if one not in served.failed):
            mounts(name)
        if not sandboxes and everything:
            click.echo("no sandbox was started from a manifest yet: each is served once it starts")
        if tcp is not None:
            click.echo(f"listening at {tcp.host}:{tcp.port}")

    try:
        with closing(Queue(queue_file())) as queue, ExitStack() as stack:
            tell = _notifier(stack, config, shown_by, hook, webhook)
            served = stack.enter_context(sockets(place, sandboxes, tcp))
            _tell_unserved(served)
            more = _later(served, mounts) if everything else None
            serve(queue, served, ready, expires_s, tell, beside=[_typist(queue, served)], more=more)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _tell_unserved(served: Served) -> None:
    """Print which sandboxes are not served, and why."""
    for name, why in served.failed.items():
        click.echo(shown("stallkit: ", name, f" is not served: {why}"), err=True)


def _typist(queue: Queue, served: Served) -> AbstractAsyncContextManager[None]:
    """What types kept replies into the composers of these sandboxes."""
    return typed_later(queue, served.gate.sandboxes, installed_engine, composer_of)


def _later(served: Served, mounts: Callable[[str], None]) -> Callable[[], list[socket.socket]]:
    """What opens the sockets of sandboxes that were started since, and of those that could not be served."""
    failed = dict(served.failed)

    def more() -> list[socket.socket]:
        opened: list[socket.socket] = []
        try:
            names = _registered()
        except StallkitError:  # its disk is full, or another process holds it: the next time
            return opened
        for name in names:
            if name in served.gate.sandboxes():
                continue
            try:
                opened += served.add(name)
            except (StallkitError, OSError) as error:
                if failed.get(name) != str(error):
                    failed[name] = str(error)
                    click.echo(shown("stallkit: ", name, " is not served: ", error), err=True)
            else:
                mounts(name)
        return opened

    return more


def _registered() -> list[str]:
    if not sandboxes_file().exists():
        return []
    with opened_sandboxes() as sandboxes:
        return [one.name for one in sandboxes.listing()]


def _notifier(
    stack: ExitStack, config: Path | None, shown_by: tuple[str, ...], hook: str | None, webhook: str | None
) -> Callable[[Event], object]:
    """What tells a person.  Raises ConfigError, click.UsageError."""
    if not set(shown_by) <= set(SHOWN):
        raise click.UsageError(f"--notify is one of {', '.join(SHOWN)}")
    places = cast(tuple[Shown, ...], shown_by)
    flags = Overrides(command=hook, webhook=webhook, notify=places)
    settings = load_settings(config, flags, os.environ, ["events", "notify"])
    made = open_notifier(
        stack, settings.channels(Options()), lambda line: click.echo(f"stallkit: {shown(line)}", err=True)
    )
    return made or (lambda event: None)


@click.command("install", short_help="Write the files that an agent needs to ask.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--inside", metavar="PATH", help="DIR's path in the sandbox, if it differs.")
@click.option("--denied-hook", is_flag=True, help="Write a hook too that asks when a tool call is denied.")
def install_command(folder: Path, inside: str | None, denied_hook: bool) -> None:
    """Write into DIR what an agent needs to ask: `stuck` for a shell with curl, the same for Python, instructions.

    SKILL.md is a skill and commands/stuck.md a slash command, for agents that know these; STUCK.md is for others.  DIR
    can be the directory that `serve` made for the sandbox: `stuck` finds the socket beside itself.

    \b
    Exit codes: 0 written; 1 could not write.
    Example:    stallkit sandbox install ~/sandboxes/web --inside /run/stallkit
    """
    for path in install(folder, inside, denied_hook):
        click.echo(shown(path))


# --- for programs in other languages ---


@click.command("serve")
@click.argument("sandboxes", metavar="[SANDBOX...]", nargs=-1)
@click.option("--policy", metavar="NAME|FILE", help="Let programs reply as far as this policy allows. [default: no]")
@click.option("--mcp", is_flag=True, help="Speak only MCP, on standard input and output.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Make the sockets there. [default: serve in the state's]"
)
@click.option("--page", is_flag=True, help="Show a page for a phone, at --listen. [default: 127.0.0.1 and a free port]")
@click.option("--listen", metavar="HOST:PORT", help="Serve HTTP over TCP too; needs --token-file or --page.")
@click.option("--token-file", type=click.Path(path_type=Path), help="File with lines NAME TOKEN, for --listen.")
@click.option("--allow-host", "hosts", multiple=True, metavar="HOST", help="Accept this Host header over TCP.")
@session_options
def serve_command(
    sandboxes: tuple[str, ...],
    policy: str | None,
    mcp: bool,
    folder: Path | None,
    page: bool,
    listen: str | None,
    token_file: Path | None,
    hosts: tuple[str, ...],
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Answer programs of any language, until SIGTERM or Ctrl-C: who waits, why, and, with a policy, a reply.

    JSON-RPC 2.0, a request a line at the unix socket rpc.sock, and over HTTP (POST /rpc) at http.sock; only this user
    reaches them.  With SANDBOX it is `stallkit sandbox serve` as well, in one process.  With --page it prints the
    address of a page for a browser, with a token that is good until it ends.  Needs the extra stallkit-operator[serve].

    \b
    Exit codes: 0 ended as asked; 1 could not start, or another serves; 64 usage.
    Example:    stallkit serve --policy careful
                stallkit serve --page --policy careful --listen 127.0.0.1:8377
                stallkit serve --mcp
    """
    if listen is not None and token_file is None and not page:
        raise click.UsageError("--listen needs --token-file or --page")
    if mcp and (sandboxes or listen or folder or page):
        raise click.UsageError("--mcp uses standard input and output alone: leave sandboxes and the other ways in out")
    try:
        allowed = load_policy(policy) if policy else None
        engine()  # it says now what is wrong with the packs
        reach = partial(open_session, options=Options(socket_name, socket_path))
        services = Services(opened_queue, installed_engine, reach, allowed, manifests_log().append)
        if mcp:
            from stallkit_operator.serve.mcp_server import server  # extra: serve

            server(services, who("serve --mcp")).run("stdio")
        else:
            _sockets(services, sandboxes, folder, page, listen, token_file, hosts)
    except ImportError as error:
        raise _missing("serve", "serve", error) from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _sockets(
    services: Services,
    sandboxes: tuple[str, ...],
    folder: Path | None,
    page: bool,
    listen: str | None,
    token_file: Path | None,
    hosts: tuple[str, ...],
) -> None:
    from stallkit_operator.agent_server import Served, serve, sockets, tcp_at, tokens_of  # extra: serve
    from stallkit_operator.serve import page as phone  # extra: serve
    from stallkit_operator.serve.http_routes import opened, routes  # extra: serve

    tcp = None
    if page or listen is not None:
        listen = listen or "127.0.0.1:0"
        tokens = tokens_of(token_file) if token_file else {secrets.token_urlsafe(32): user()}
        served_at = {*hosts, listen, listen.replace("127.0.0.1", "localhost")} if page else hosts or {listen}
        tcp = tcp_at(listen, tokens, served_at, phone.origins(served_at) if page else ())
    place = (folder or state_dir() / "serve").absolute()
    private.folder(place)

    def ready() -> None:
        click.echo(shown(f"JSON-RPC lines: {place / 'rpc.sock'}"))
        over_tcp = f"; {gate.tcp.host}:{gate.tcp.port}" if gate.tcp else ""
        click.echo(shown(f"HTTP: {place / 'http.sock'}, POST /rpc{over_tcp}"))
        for name in (one for one in sandboxes if one not in served.failed):
            click.echo(shown(name, f": mount {(stuck_dir() / name).absolute()}"))
        for line in phone.ways(gate.tcp, hosts, token_file) if page and gate.tcp else ():
            click.echo(escaped(line))  # not redacted: the token is what it is printed for
        said = f"policy {services.policy.name}" if services.policy else "read-only: --policy lets programs reply"
        click.echo(shown(said))

    with closing(Queue(queue_file())) as queue, ExitStack() as stack:
        http, gate = stack.enter_context(opened(place, user(), tcp))
        served = stack.enter_context(sockets(stuck_dir(), sandboxes))
        _tell_unserved(served)
        beside = [lines(place / "rpc.sock", services, who("serve, lines")), _typist(queue, served)]
        tell = _notifier(stack, None, (), None, None) if sandboxes else lambda event: None
        serve(
            queue, Served([*served.sockets, *http], served.gate), ready, on_message=tell,
            routes=[*routes(services, gate), *([phone.route(gate)] if page else [])], beside=beside,
        )  # fmt: skip


def _missing(what: str, extra: str, error: ImportError) -> StallkitError:
    why = f"{error.name or 'a package'} is not installed"
    return StallkitError(what, "in this environment", why, f"pip install 'stallkit-operator[{extra}]'")
