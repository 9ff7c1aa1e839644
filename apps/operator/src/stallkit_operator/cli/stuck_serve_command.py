"""``stallkit stuck serve`` and ``install``: where agents in sandboxes ask a person, and what they ask with."""

from __future__ import annotations

import os
import socket
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Callable, cast

import click
from stallkit_supervisor.notify.channels import SHOWN, Shown, open_notifier
from stallkit_supervisor.settings import Overrides, load_settings

from stallkit.cli.common import Duration, config_option, shown
from stallkit.config import queue_file, sandboxes_file, stuck_dir
from stallkit.errors import ConfigError, StallkitError
from stallkit.packs.registry import installed_engine
from stallkit.press.events import Event
from stallkit.transports.base import Options
from stallkit_operator.cli.sandbox_commands import opened
from stallkit_operator.deferred_replies import typed_later
from stallkit_operator.install import install
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.sandbox_start import composer_of

if TYPE_CHECKING:
    from stallkit_operator.agent_server import Served

__all__ = ["address", "install_command", "notifier", "serve_command", "tell_unserved", "typist"]


@click.command("serve", short_help="Take what agents ask, and hold their connections.")
@click.argument("sandboxes", nargs=-1)
@click.option(
    "--all", "everything", is_flag=True, help="Also each sandbox that was started from a manifest, or is later."
)
@click.option(
    "--dir", "folder", type=click.Path(path_type=Path), help="Make each sandbox's directory there. [default: its own]"
)
@click.option(
    "--expires", "expires_s", type=Duration("h", above=True), default="7d", show_default=True,
    help="How long a message waits for its answer; a bare number is hours.",
)  # fmt: skip
@click.option("--listen", metavar="HOST:PORT", help="Over TCP as well; needs --token-file and --allow-host.")
@click.option("--token-file", type=click.Path(path_type=Path), help="Lines SANDBOX TOKEN, for --listen.")
@click.option("--allow-host", "hosts", multiple=True, metavar="HOST", help="A Host header that is served over TCP.")
@click.option("--allow-origin", "origins", multiple=True, metavar="ORIGIN", help="A web page's origin that may ask.")
@config_option
@click.option("--notify", "shown_by", multiple=True, metavar="PLACE", help="Tell of notices: desktop, terminal, tmux.")
@click.option("--exec", "hook", metavar="CMD", help="Run CMD for each notice, the event on its input.")
@click.option("--webhook", metavar="URL", help="Post each notice there.")
def serve_command(
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
    """Take what agents ask, hold their connections, and give them a person's reply, until SIGTERM or Ctrl-C.

    Each SANDBOX gets a directory with a unix socket; mount that directory into the sandbox, and nothing else is needed
    there.  A person is told of each notice where the settings and these options say (docs/notify.md).  A reply that
    nobody waits for is typed into the composer of an interactive sandbox, once its agent is at rest.  Needs the extra
    stallkit-operator[stuck].

    \b
    Exit codes: 0 ended as asked; 1 could not start, or another process serves a sandbox; 64 usage.
    Example:    stallkit stuck serve web db
    """
    try:
        from stallkit_operator.agent_server import Tcp, read_tokens, serve, sockets  # extra: stuck
    except ImportError as error:
        why = f"{error.name or 'a package'} is not installed"
        raise StallkitError("endpoint", "in this environment", why, "pip install 'stallkit-operator[stuck]'") from error

    if everything:
        sandboxes = tuple(dict.fromkeys([*sandboxes, *_registered()]))
    elif not sandboxes and listen is None:
        raise click.UsageError("name a sandbox, or say --all")
    tcp = None
    if listen is not None:
        if token_file is None or not hosts:
            raise click.UsageError("--listen needs --token-file and --allow-host")
        host, port = address(listen)
        tcp = Tcp(host, port, read_tokens(token_file), frozenset(hosts), frozenset(origins))
    place = folder or stuck_dir()

    def mounts(name: str) -> None:
        click.echo(shown(name, f": mount {(place / name).absolute()}"))

    def ready() -> None:
        for name in (one for one in sandboxes if one not in served.failed):
            mounts(name)
        if not sandboxes and everything:
            click.echo("no sandbox was started from a manifest yet: each that is will be served")
        if tcp is not None:
            click.echo(f"listening at {tcp.host}:{tcp.port}")

    queue = Queue(queue_file())
    try:
        with ExitStack() as stack:
            tell = notifier(stack, config, shown_by, hook, webhook)
            served = stack.enter_context(sockets(place, sandboxes, tcp))
            tell_unserved(served)
            more = _later(served, mounts) if everything else None
            serve(queue, served, ready, expires_s, tell, beside=[typist(queue, served)], more=more)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    finally:
        queue.close()


def tell_unserved(served: Served) -> None:
    """Print which sandboxes are not served, and why."""
    for name, why in served.failed.items():
        click.echo(shown("stallkit: ", name, f" is not served: {why}"), err=True)


def typist(queue: Queue, served: Served) -> AbstractAsyncContextManager[None]:
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
    with opened() as sandboxes:
        return [one.name for one in sandboxes.listing()]


def notifier(
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


def address(text: str) -> tuple[str, int]:
    """Host and port.  Raises ConfigError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError("--listen", f"{text!r} is no address", "write it as 127.0.0.1:8377")
    return host.strip("[]"), int(port)


@click.command("install", short_help="Write the agent's side into a directory.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--inside", metavar="PATH", help="Where DIR is in the sandbox, if that is another path.")
@click.option("--denied-hook", is_flag=True, help="Also a hook that asks when a tool call of the agent is denied.")
def install_command(folder: Path, inside: str | None, denied_hook: bool) -> None:
    """Write the agent's side into DIR: the command `stuck` for a shell with curl, the same for Python, instructions.

    SKILL.md is a skill and commands/stuck.md a slash command for agents that know these; STUCK.md is for others.  DIR
    may be the directory that `serve` made for the sandbox: `stuck` finds the socket beside itself.

    \b
    Exit codes: 0 written; 1 could not write.
    Example:    stallkit stuck install ~/sandboxes/web --inside /run/stallkit
    """
    for path in install(folder, inside, denied_hook):
        click.echo(shown(path))
