"""``stallkit run`` and ``attach``: a command raced against its window, and looked at again in the background."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any, Iterator, NoReturn

import click
from rich.table import Table
from rich.text import Text
from stallkit_wrap.askpass.launcher import environment as askpass_environment
from stallkit_wrap.relay.driver import NOT_STARTED

from stallkit.cli.common import Duration, Name, env_options, must_be_there, print_json, variables
from stallkit.cli.output import Exit, may_ask, no_input_option, note, plain_console, progress, shown
from stallkit.distributions import offered
from stallkit.errors import SessionGone, TransportError, UnknownProgram
from stallkit.terminal.keys import Keys
from stallkit_sessions.runs import client as runs
from stallkit_sessions.runs.run import WINDOW_S

EXIT_STATUS_HELP = "Exit with the command's own status when it ended (128 + N after signal N)."
_EXITS = {"exited": Exit.OK, "waiting": Exit.STALLED, "maybe": Exit.MAYBE, "timeout": Exit.TIMEOUT}


def named_runs(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The runs in the background, for a shell that completes their names."""
    yield "last", "the latest"
    for run in runs.listing():
        yield run["id"], " ".join(map(str, run["command"]))


RUN = Name("run", "stallkit_sessions.cli.run_commands:named_runs")


class _Background(Exception):
    """The user pressed Ctrl-Z."""


@click.command("run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True)
@click.option("--timeout", type=Duration(), help="Wait at most this long; exit code 6.")
@click.option("--kill", is_flag=True, help="End the command after --timeout; without this it runs on.")
@click.option(
    "--window", type=Duration(), default=f"{WINDOW_S / 60:g}m", show_default=True,
    help="After this long say that it may be waiting; exit code 3.",
)  # fmt: skip
@click.option("--background", is_flag=True, help="Do not wait; exit code 5.")
@click.option(
    "--abandoned", type=Duration(above=True), default=f"{runs.KEPT_S / 86_400:g}d", show_default=True,
    help="End it after nobody has looked at it for this long.",
)  # fmt: skip
@click.option("--answer", "answers", multiple=True, metavar="TEXT", help="Answer the next prompt that surely waits.")
@click.option("--cwd", type=click.Path(exists=True, file_okay=False), metavar="DIR", help="Directory to run it in.")
@env_options
@click.option("--askpass", is_flag=True, help="Let git, ssh and sudo in it ask through stallkit (docs/wrap.md).")
@click.option("--size", default="80x24", show_default=True, metavar="WxH", help="Columns and rows of its terminal.")
@click.option("--wrap", is_flag=True, help="Run it behind a relay that reports its status (docs/wrap.md).")
@click.option("--hooks", is_flag=True, help="Let an agent report more by its hooks (docs/signals.md).")
@click.option("--exec", "hook", metavar="CMD", help="Run CMD for each event of the run, with the event on its input.")
@click.option("--webhook", metavar="URL", help="Post each event of the run to URL, as JSON.")
@click.option("--exit-status", "passes", is_flag=True, help=EXIT_STATUS_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/command-line.md).")
@click.pass_context
def run_command(
    ctx: click.Context,
    words: tuple[str, ...],
    timeout: float | None,
    kill: bool,
    window: float,
    background: bool,
    abandoned: float,
    answers: tuple[str, ...],
    cwd: str | None,
    env: tuple[str, ...],
    env_files: tuple[str, ...],
    askpass: bool,
    size: str,
    wrap: bool,
    hooks: bool,
    hook: str | None,
    webhook: str | None,
    passes: bool,
    as_json: bool,
) -> None:
    """Run a command on a terminal of its own until it ends or needs input; it never waits forever.

    A command that has not ended runs on in the background: `stallkit attach ID` looks again, waits, answers or stops
    it.  It is ended after nobody has looked at it for a week (--abandoned).  Ctrl-Z sends it to the background, Ctrl-C
    ends it.  --answer never answers a prompt for a secret or a login.

    \b
    Exit codes: 0 it ended; 2 it waits for input; 3 it may; 5 in the background; 6 time-out; 1 it could not be started;
                64 there is no such program (with --exit-status 127, as in a shell).
    Example:    stallkit run --timeout 600 --answer y -- npm init
    """
    environment = _environment(env, env_files, askpass)
    settings = {
        "cwd": cwd,
        "env": environment,
        "size": _size(size),
        "window_s": window,
        "abandoned_s": abandoned,
        "answers": list(map(_line, answers)),
    }
    settings |= {"askpass": True} if askpass else {}
    try:
        id = runs.start(words, events=_events(hook, webhook), wrap=wrap, hooks=hooks, **settings)
    except TransportError as error:
        _not_started(error, words[0], cwd, (environment or os.environ).get("PATH"), passes)
    signal.signal(signal.SIGTSTP, _suspended)
    try:
        if background:
            raise _Background
        with progress(words[0]) as shown_progress:
            asked = {"do": "wait", "timeout": timeout, "window": window, "kill": kill}
            result = runs.request(id, asked, shown_progress)
    except _Background:
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # a second press has no further effect
        result = {**runs.request(id, {"do": "poll"}), "why": "it continues in the background"}
        if result["status"] != "exited":
            result["status"] = "background"
    except KeyboardInterrupt:
        runs.request(id, {"do": "stop"})
        raise
    conclude(ctx, result, passes, as_json)


def _not_started(error: TransportError, program: str, cwd: str | None, path: str | None, passes: bool) -> NoReturn:
    """Raise why a command was not started; if the exit code is the command's own, exit as a shell does."""
    try:
        must_be_there(program, cwd, path)  # says it better where that is the cause
    except UnknownProgram as better:
        error = better
    if not passes:
        raise error
    click.echo(f"stallkit: {shown(error)}", err=True)
    raise click.exceptions.Exit(NOT_STARTED)


def conclude(ctx: click.Context, result: dict[str, Any], passes: bool, as_json: bool) -> None:
    """Print the outcome of a wait and exit: screen or output on standard output, the rest on standard error."""
    result = {"next": None, **result}  # a result that the previous version kept has none
    status = result["status"]
    if as_json:
        print_json(result)
    else:
        text = result["output"] if status == "exited" else result["screen"]
        for line in text.rstrip().splitlines():
            click.echo(shown(line))
        for line in _lines(result):
            note(shown(line))
    if passes and status == "exited":
        ctx.exit(result["exit_status"] if result["signal"] is None else 128 + _number(result["signal"]))
    ctx.exit(_EXITS.get(status, Exit.BACKGROUND))


def _number(name: str) -> int:
    """The number of a signal by its name; those without one are called "signal 36"."""
    return int(getattr(signal, name, 0)) or int(name.rpartition(" ")[2])


def _lines(result: dict[str, Any]) -> list[str]:
    """The outcome for a person, a line each."""
    seconds = f"{result['seconds']:.1f} s"
    if result["status"] == "exited":
        ended = f"status {result['exit_status']}" if result["signal"] is None else result["signal"]
        return [f"stallkit: it ended with {ended} after {seconds}"]
    asks = f", asks for {result['kind']}" if result["kind"] else ""
    lines = [f"stallkit: {result['why']} ({result['state']}{asks}, {result['certainty']}; {seconds})"]
    lines += [f"  because {reason}" for reason in result["reasons"]]
    lines += [f"  not answered: {answer['why']}" for answer in result["answers"] if answer["end"] == "refused"]
    commands = result["next"] or {}
    labels = {"poll": "look again:", "wait": "wait on:", "answer": "answer it:", "stop": "stop it:"}
    return lines + [f"  {labels[name]:<13}{command}" for name, command in commands.items() if command]


def _events(hook: str | None, webhook: str | None) -> dict[str, str]:
    """Where the run's events go, by these flags and the settings.  Raises ConfigError for invalid ones."""
    choose = offered("run_events")
    if choose is not None:
        named: dict[str, str] = choose(hook, webhook)
        return named
    if hook or webhook:
        raise click.UsageError("stallkit-supervisor passes events on, and is not installed")
    return {}


def _environment(env: tuple[str, ...], env_files: tuple[str, ...], askpass: bool) -> dict[str, str] | None:
    """The environment with what was added, that of the askpass program first; None: as it is."""
    if not (env or env_files or askpass):
        return None
    added = variables(env, env_files).values
    return {**os.environ, **(askpass_environment() if askpass else {}), **added}


def _size(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    if not (columns.isdecimal() and rows.isdecimal()):
        raise click.UsageError(f"--size {text!r}: write COLUMNSxROWS, such as 120x40")
    return int(columns), int(rows)


def _suspended(number: int, frame: FrameType | None) -> None:
    raise _Background


@click.command("attach")
@click.argument("id", required=False, type=RUN)
@click.option("--wait", "waits", is_flag=True, help="Wait until it ends or needs input.")
@click.option("--timeout", type=Duration(), help="With --wait: at most this long.")
@click.option(
    "--window", type=Duration(), default=f"{WINDOW_S / 60:g}m", show_default=True,
    help="With --wait: after this long say that it may be waiting.",
)  # fmt: skip
@click.option("--answer", metavar="TEXT", help="Choose or type TEXT, with Enter if needed; then wait.")
@click.option("--keys", metavar="KEYS", help="Press keys by name, such as 'Down Enter'; then wait.")
@click.option("--secret", is_flag=True, help="Answer a prompt for a secret: type it here, or pipe it in.")
@no_input_option
@click.option("--seen", metavar="FINGERPRINT", help="Answer only the screen with this `fingerprint` of --json.")
@click.option("--stop", is_flag=True, help="End it: SIGHUP, SIGTERM, SIGKILL.")
@click.option("--exit-status", "passes", is_flag=True, help=EXIT_STATUS_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/command-line.md).")
@click.pass_context
def attach_command(
    ctx: click.Context,
    id: str | None,
    waits: bool,
    timeout: float | None,
    window: float,
    answer: str | None,
    keys: str | None,
    secret: bool,
    seen: str | None,
    stop: bool,
    passes: bool,
    as_json: bool,
) -> None:
    """Look at a run in the background: the `last` one, or that of an ID.  Without either, list all.

    \b
    Exit codes: 0 it ended; 2 it waits for input; 3 it may; 5 it runs on; 6 time-out; 4 it is gone; 1 not answered.
    Example:    stallkit attach r1a2b3 --answer y
    """
    if sum((answer is not None, keys is not None, secret, stop)) > 1:
        raise click.UsageError("--answer, --keys, --secret and --stop exclude each other")
    if id is None:
        if waits or stop or secret or answer is not None or keys is not None:
            raise click.UsageError("which run? `stallkit attach` lists them")
        _list(as_json)
        return
    try:
        id = runs.latest() if id == "last" else id
        asked = _answer(answer, keys, secret)
        if asked is not None:
            outcome = runs.request(id, {"do": "answer", "seen": seen, **asked})
            if outcome.get("end") == "refused":
                click.echo(
                    f"stallkit: not answered: {shown(outcome['why'])}; look again with stallkit attach {id}", err=True
                )
                ctx.exit(Exit.ERROR)
        if stop:
            result = runs.request(id, {"do": "stop"})
        elif waits or asked is not None:
            with progress(id) as shown_progress:
                result = runs.request(id, {"do": "wait", "timeout": timeout, "window": window}, shown_progress)
        else:
            result = runs.request(id, {"do": "poll"})
    except SessionGone as error:
        click.echo(f"stallkit: {shown(error)}", err=True)
        ctx.exit(Exit.ENDED)
    conclude(ctx, result, passes, as_json)


def _answer(answer: str | None, keys: str | None, secret: bool) -> dict[str, Any] | None:
    """The request to the background process, or None.  Raises click.UsageError for unknown keys."""
    if keys is not None:
        try:
            return {"keys": str(Keys.parse(keys))}
        except ValueError as error:
            raise click.UsageError(f"--keys: {error}") from error
    if secret:
        if may_ask():
            return {"text": click.prompt("Secret", hide_input=True, default="", show_default=False), "secret": True}
        return {"text": sys.stdin.readline().rstrip("\n") if sys.stdin is not None else "", "secret": True}
    if answer is None:
        return None
    return {"text": _line(answer)}


def _line(answer: str) -> str:
    """The answer.  Raises click.UsageError if it is not one line."""
    try:
        Keys.line(answer)
    except ValueError as error:
        raise click.UsageError(f"--answer: {error}") from error
    return answer


def _list(as_json: bool) -> None:
    found = runs.listing()
    if as_json:
        print_json({"version": 1, "runs": found})
        return
    if not found:
        click.echo("no run in the background; stallkit run starts one")
        return

    table = Table(box=None, pad_edge=False)
    for column in ("run", "status", "started", "command"):
        table.add_column(column, overflow="fold", no_wrap=column != "command")
    for run in found:
        ended = f" {run['exit_status']}" if run["exit_status"] is not None else ""
        words = " ".join(map(str, run["command"]))
        table.add_row(
            *(Text(shown(text)) for text in (run["id"], f"{run['status']}{ended}", run["started"][:19], words))
        )
    plain_console().print(table)
