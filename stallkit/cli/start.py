"""``stallkit start``: a program in a session of its own, whose end will be explained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import click

from stallkit.cli.common import print_json, session_options, shown
from stallkit.cli.wait_ready import wait_for
from stallkit.sessions.manager import Sessions
from stallkit.sessions.model import Session
from stallkit.transports.containers.runtime_call import BWRAP, DOCKER, PODMAN

__all__ = ["command"]

_SIZE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")


@click.command("start")
@click.argument("name")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option("--replace", is_flag=True, help="Stop a session of this name first.")
@click.option("--docker", metavar="IMAGE", help="Run it in a docker container.")
@click.option("--podman", metavar="IMAGE", help="Run it in a podman container.")
@click.option("--bwrap", is_flag=True, help="Run it in a bubblewrap sandbox.")
@click.option("--engine-option", "engine_options", multiple=True, metavar="WORD", help="A word for the engine's run.")
@click.option(
    "--cwd", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".", help="Where it runs."
)
@click.option("--port", "ports", multiple=True, type=click.IntRange(0, 65_535), metavar="N", help="Its own; 0: any.")
@click.option("--size", default="120x40", show_default=True, metavar="COLSxROWS", help="Of its terminal.")
@click.option("--wait-ready", "wait_s", type=click.FloatRange(min=0), metavar="S", help="Wait until it is ready.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sessions.md).")
@session_options
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    words: tuple[str, ...],
    replace: bool,
    docker: str | None,
    podman: str | None,
    bwrap: bool,
    engine_options: tuple[str, ...],
    cwd: Path,
    ports: tuple[int, ...],
    size: str,
    wait_s: float | None,
    as_json: bool,
    socket_name: str | None,
    socket_path: str | None,
) -> None:
    """Start COMMAND in a tmux session NAME, and explain its end whatever becomes of it.

    Its exit status, last screen, worktree and container are written down before anything of it is taken away:
    `stallkit postmortem NAME` shows them.  A port is handed to one session at a time; the program finds them in PORT
    and STALLKIT_PORTS.  What follows -- is run as it stands, by no shell.

    \b
    Exit codes: 0 started (with --wait-ready: ready); 1 could not, or the name or a port is taken; with --wait-ready
                also 2 a prompt needs a person, 4 it vanished, 6 time-out.
    Example:    stallkit start worker1 --cwd ~/project --port 0 -- claude
    """
    engine, image = _engine(docker, podman, bwrap)
    columns = _SIZE.fullmatch(size)
    if columns is None:
        _usage(f"{size!r} is no size: write COLSxROWS, as 120x40")
    with Sessions() as sessions:
        try:
            made = sessions.start(
                name,
                words,
                directory=cwd,
                engine=engine,
                image=image,
                engine_options=engine_options,
                ports=ports,
                size=(int(columns[1]), int(columns[2])),
                replace=replace,
                tmux_socket_name=socket_name,
                tmux_socket_path=socket_path,
                tell=lambda line: click.echo(f"stallkit: {shown(line)}", err=True),
            )
        except ValueError as error:
            _usage(str(error))
    if as_json and wait_s is None:
        print_json({"version": 1, "session": _as_object(made)})
    elif not as_json:
        ports_told = f", ports {' '.join(map(str, made.ports))}" if made.ports else ""
        click.echo(f"{name}: started{ports_told}; stallkit output {name} shows it")
    if wait_s is not None:
        ctx.exit(wait_for(name, "careful", wait_s, as_json, None))


def _engine(docker: str | None, podman: str | None, bwrap: bool) -> tuple[str | None, str | None]:
    given = [(name, image) for name, image in ((DOCKER, docker), (PODMAN, podman), (BWRAP, "" if bwrap else None))]
    chosen = [(name, image or None) for name, image in given if image is not None]
    if len(chosen) > 1:
        _usage("give one of --docker, --podman and --bwrap")
    return chosen[0] if chosen else (None, None)


def _as_object(session: Session) -> dict[str, object]:
    return {
        "name": session.name,
        "id": session.id,
        "identity": session.identity,
        "directory": session.directory,
        "engine": session.engine,
        "container": session.container,
        "ports": list(session.ports),
    }


def _usage(why: str) -> NoReturn:
    raise click.UsageError(why)
