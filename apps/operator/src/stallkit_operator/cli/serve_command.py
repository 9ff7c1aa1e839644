"""``stallkit serve``: the way in for programs in other languages."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click
from stallkit_sessions.cli import named_sessions
from stallkit_sessions.model import ExitRecord

from stallkit import private
from stallkit.cli.common import session_options, shown
from stallkit.cli.installed import engine
from stallkit.config import queue_file, state_dir, stuck_dir
from stallkit.errors import SessionGone, StallkitError
from stallkit.packs.registry import installed_engine
from stallkit.press.policy_file import load_policy
from stallkit.transports.base import Options, Transport
from stallkit.transports.targets import open_target
from stallkit_operator.cli.stuck_commands import opened_queue, who
from stallkit_operator.cli.stuck_serve_command import address, notifier, tell_unserved, typist
from stallkit_operator.queue import Queue
from stallkit_operator.serve.line_socket import lines
from stallkit_operator.serve.methods import Services

__all__ = ["serve_command"]


@click.command("serve")
@click.argument("sandboxes", metavar="[SANDBOX...]", nargs=-1)
@click.option("--policy", metavar="NAME|FILE", help="Let programs reply, where this policy lets them. [default: no]")
@click.option("--mcp", is_flag=True, help="Speak MCP on standard input and output, and nothing else.")
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Make the sockets there. [default: serve in the state's]"
)
@click.option("--listen", metavar="HOST:PORT", help="HTTP over TCP as well; needs --token-file.")
@click.option("--token-file", type=click.Path(path_type=Path), help="Lines NAME TOKEN, for --listen.")
@click.option("--allow-host", "hosts", multiple=True, metavar="HOST", help="A Host header that is served over TCP.")
@session_options
def serve_command(
    sandboxes: tuple[str, ...],
    policy: str | None,
    mcp: bool,
    folder: Path | None,
    listen: str | None,
    token_file: Path | None,
    hosts: tuple[str, ...],
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Answer programs of any language, until SIGTERM or Ctrl-C: who waits, why, and, with a policy, a reply.

    JSON-RPC 2.0, a request a line at the unix socket rpc.sock, and over HTTP (POST /rpc) at http.sock; only this user
    reaches them.  With SANDBOX it is `stallkit stuck serve` as well, in one process.  Needs the extra
    stallkit-operator[serve].

    \b
    Exit codes: 0 ended as asked; 1 could not start, or another serves; 64 usage.
    Example:    stallkit serve --policy careful
                stallkit serve --mcp
    """
    if listen is not None and token_file is None:
        raise click.UsageError("--listen needs --token-file")
    if mcp and (sandboxes or listen or folder):
        raise click.UsageError("--mcp uses standard input and output alone: leave sandboxes, --dir and --listen out")
    try:
        services = _services(policy, socket_name, socket_path)
        if mcp:
            _mcp(services)
        else:
            _sockets(services, sandboxes, folder, listen, token_file, hosts)
    except ImportError as error:
        why = f"{error.name or 'a package'} is not installed"
        raise StallkitError("serve", "in this environment", why, "pip install 'stallkit-operator[serve]'") from error
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _services(policy: str | None, socket_name: str | None, socket_path: str | None) -> Services:
    allowed = load_policy(policy) if policy else None
    engine()  # it says now what is wrong with the packs
    return Services(opened_queue, installed_engine, partial(_reached, Options(socket_name, socket_path)), allowed)


def _reached(options: Options, target: str, server: str | None) -> Transport:
    """The session of a target, or of a name that stallkit started; `server` is the tmux server of an item.

    Raises ValueError, SessionGone.
    """
    if ":" in target:
        return open_target(target, Options(tmux_socket_path=server) if server else options)
    session = named_sessions.named(target)
    if session is None:
        raise ValueError(f"{target!r} is not a target, and no session of that name was started: write tmux:NAME")
    if isinstance(session, ExitRecord):
        raise SessionGone(target, session.why)
    transport = open_target(*named_sessions.reached(session.session))
    transport.target = target
    return transport


def _mcp(services: Services) -> None:
    from stallkit_operator.serve.mcp_server import server  # extra: serve

    server(services, who("serve --mcp")).run("stdio")


def _sockets(
    services: Services,
    sandboxes: tuple[str, ...],
    folder: Path | None,
    listen: str | None,
    token_file: Path | None,
    hosts: tuple[str, ...],
) -> None:
    from stallkit_operator.agent_server import Served, Tcp, read_tokens, serve, sockets  # extra: serve
    from stallkit_operator.serve.http_routes import opened, operator, routes  # extra: serve

    tcp = None
    if listen is not None and token_file is not None:
        host, port = address(listen)
        tcp = Tcp(host, port, read_tokens(token_file), frozenset(hosts or [listen]))
    place = (folder or state_dir() / "serve").absolute()
    private.folder(place)
    queue = Queue(queue_file())

    def ready() -> None:
        click.echo(shown(f"JSON-RPC lines: {place / 'rpc.sock'}"))
        click.echo(shown(f"HTTP: {place / 'http.sock'}, POST /rpc") + (f"; {listen}" if listen else ""))
        for name in (one for one in sandboxes if one not in served.failed):
            click.echo(shown(name, f": mount {(stuck_dir() / name).absolute()}"))
        said = f"policy {services.policy.name}" if services.policy else "read-only: --policy lets programs reply"
        click.echo(shown(said))

    try:
        with ExitStack() as stack:
            http, gate = stack.enter_context(opened(place, operator(), tcp))
            served = stack.enter_context(sockets(stuck_dir(), sandboxes))
            tell_unserved(served)
            beside = [lines(place / "rpc.sock", services, who("serve, lines")), typist(queue, served)]
            tell = notifier(stack, None, (), None, None) if sandboxes else lambda event: None
            serve(
                queue, Served([*served.sockets, *http], served.gate), ready, on_message=tell,
                routes=routes(services, gate), beside=beside,
            )  # fmt: skip
    finally:
        queue.close()
