"""``stallkit start --manifest``, ``stallkit stuck manifest`` and ``rebuild``: sandboxes, and how they are replaced."""

from __future__ import annotations

import getpass
import os
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, NoReturn

import click
from click.core import ParameterSource

from stallkit.cli.common import print_json, shown
from stallkit.config import sandboxes_file
from stallkit.errors import ConfigError
from stallkit.stuck.sandboxes import ManifestVersion, Sandbox, Sandboxes, changes

if TYPE_CHECKING:
    from stallkit.sessions.model import Session

__all__ = ["manifest_command", "start_from"]

# What goes with --manifest; all else is for the manifest to say.
_WITH = frozenset({"manifest", "replace", "size", "wait_s", "as_json", "socket_name", "socket_path"})


def start_from(ctx: click.Context, path: Path, size: tuple[int, int]) -> NoReturn:
    """Start the sandbox that a manifest describes, print so, and exit the command."""
    from stallkit.cli.press_commands import wait_for
    from stallkit.stuck.sandbox_start import Start, start_sandbox

    given, only = ctx.params, ctx.get_parameter_source
    other = [name for name in given if name not in _WITH and only(name) is not ParameterSource.DEFAULT and given[name]]
    if other:
        raise click.UsageError("with --manifest the file says all of that: leave out NAME, COMMAND and other options")
    how = Start(
        by=user(),
        tmux_socket_name=given["socket_name"],
        tmux_socket_path=given["socket_path"],
        size=size,
        replace=given["replace"],
        tell=lambda line: click.echo(f"stallkit: {shown(line)}", err=True),
    )
    with opened() as sandboxes:
        sandbox, session = start_sandbox(sandboxes, _text(path), str(path), how)
    if not given["as_json"]:
        for line in _started(sandbox, session):
            click.echo(shown(line))
    elif given["wait_s"] is None:
        print_json({"version": 1, "sandbox": _object(sandbox), "session": session.id, "sealed": session.sealed})
    ctx.exit(0 if given["wait_s"] is None else wait_for(sandbox.name, "careful", given["wait_s"], given["as_json"]))


@click.command("manifest")
@click.argument("name")
@click.option("--version", "number", type=click.IntRange(min=1), metavar="N", help="That version, not the current one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sandboxes.md).")
def manifest_command(name: str, number: int | None, as_json: bool) -> None:
    """Show what a sandbox was started from, and what changed in it: each version, by whom, when and why.

    \b
    Exit codes: 0 shown; 1 there is no such sandbox, or no such version.
    Example:    stallkit stuck manifest web
    """
    with opened() as sandboxes:
        sandbox, history = sandboxes.get(name), sandboxes.history(name)
    wanted = sandbox.version if number is None else number
    found = next((one for one in history if one.version == wanted), None)
    if found is None:
        last = history[-1].version
        raise ConfigError(f"manifest {name}", f"it has no version {wanted}", f"give one of 1 to {last}")
    if as_json:
        print_json({"version": 1, "sandbox": _object(sandbox), "text": found.text, "history": _history(history)})
        return
    for line in found.text.splitlines():
        click.echo(shown(line))
    before: ManifestVersion | None = None
    click.echo("")
    for one in history:
        mark = "  (now)" if one.version == sandbox.version else ""
        click.echo(shown(f"version {one.version}, {_when(one.at)}, by {one.by}: {one.why}{mark}"))
        for line in changes(before.text, one.text) if before is not None else ():
            click.echo(f"  {shown(line)}")
        before = one


@contextmanager
def opened() -> Iterator[Sandboxes]:
    """The sandboxes that were started from manifests."""
    found = Sandboxes(sandboxes_file())
    try:
        yield found
    finally:
        found.close()


def user() -> str:
    """Who calls."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user, in a container
        return str(os.getuid())


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(str(path), why, "name a manifest (docs/sandboxes.md)") from error


def _started(sandbox: Sandbox, session: Session) -> Iterator[str]:
    """What a person is told of a sandbox that just started."""
    from stallkit.daemon_client import listens
    from stallkit.stuck.sandbox_start import folders_of

    name = sandbox.name
    ports = f", ports {' '.join(map(str, session.ports))}" if session.ports else ""
    sealed = "sealed: no key goes in" if session.sealed else "interactive: keys go in"
    yield f"{name}: started from version {sandbox.version} of its manifest{ports}; {sealed}"
    if not listens(folders_of(name).socket / "notify.sock"):
        yield f"{name}: nobody takes its notices yet; stallkit stuck serve {name} does"


def _object(sandbox: Sandbox) -> dict[str, Any]:
    manifest = sandbox.manifest
    facts = {name: getattr(manifest, name) for name in ("branch", "repository", "pull_request", "engine", "image")}
    return {"name": sandbox.name, "version": sandbox.version, "directory": manifest.directory, **facts}


def _history(history: list[ManifestVersion]) -> list[dict[str, Any]]:
    texts = ["", *(one.text for one in history)]
    return [
        {
            "version": one.version,
            "at": _when(one.at),
            "by": one.by,
            "why": one.why,
            "item": one.item,
            "changes": changes(before, one.text) if before else [],
        }
        for before, one in zip(texts, history, strict=False)
    ]


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")
