"""``stallkit start --manifest`` and ``stallkit sandbox``: sandboxes, and how they are replaced."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, Iterator, NoReturn

import click
from click.core import ParameterSource
from stallkit_sessions.manifest import TOOLS, read_manifest
from stallkit_sessions.model import Session
from stallkit_sessions.ports import any_free

from stallkit import private
from stallkit.cli.common import engine, print_json
from stallkit.cli.output import Exit, may_ask, no_input_option, shown
from stallkit.cli.press_commands import wait_for
from stallkit.cli.verb_group import VerbGroup
from stallkit.config import proxies_file, queue_file, sandboxes_file, stuck_dir
from stallkit.daemon_socket import listens
from stallkit.errors import ConfigError, UnknownFile, UnknownName
from stallkit_operator.answering import not_answered
from stallkit_operator.cli.stuck_commands import item_ref, manifests_log, note, print_outcome, seen_of, user
from stallkit_operator.install import mounted_socket
from stallkit_operator.item import Item, NotAsShown, Who
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.presets import read_proxies
from stallkit_operator.sandbox.rebuild import Runner
from stallkit_operator.sandbox.rebuild_plan import (
    Outcome,
    Proposal,
    RebuildRows,
    Step,
    StepState,
    approve,
    edited,
    propose,
    reject,
    to_edit,
)
from stallkit_operator.sandbox.sandbox_start import Start, first_files, start_sandbox
from stallkit_operator.sandbox.sandboxes import ManifestVersion, Sandbox, Sandboxes, changes

# What goes with --manifest; all else is for the manifest to say.
_WITH = frozenset({"manifest", "replace", "size", "wait_s", "policy", "as_json", "socket_name", "socket_path"})


def start_from(ctx: click.Context, path: Path, size: tuple[int, int]) -> NoReturn:
    """Start the sandbox that a manifest describes, print so, and exit the command."""
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
    if given["wait_s"] is None:
        ctx.exit(0)
    ctx.exit(wait_for(sandbox.name, given["policy"], given["wait_s"], given["as_json"]))


_ELSEWHERE = {
    verb: f"stallkit_operator.cli.{module}:{verb}_command"
    for module, verbs in {
        "audit_commands": "audit",
        "remedy_commands": "egress routes",
        "serve_commands": "install",
        "waiver_commands": "gate unwaive waive waived waivers",
    }.items()
    for verb in verbs.split()
} | {"serve": "stallkit_operator.cli.serve_commands:stuck_serve_command"}  # beside `stallkit serve`


@click.group("sandbox", cls=VerbGroup, elsewhere=_ELSEWHERE)
def sandbox_command() -> None:
    """Make a sandbox for an agent, with proxies that are all it reaches; serve it, change it, rebuild it.

    \b
    Example:    stallkit sandbox init web -- my-agent
    """


@sandbox_command.command("init", short_help="Write the five files of a new sandbox.")
@click.argument("name")
@click.argument("command", nargs=-1, required=True)
@click.option(
    "--directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    default=".",
    metavar="DIR",
    help="The work tree. [default: this directory]",
)
def init_command(name: str, command: tuple[str, ...], directory: Path) -> None:
    """Write the five files of a new bubblewrap sandbox, whose agent reaches only its two proxies.

    They are its manifest, nginx.conf and credentials.conf (what it reaches with credentials), tinyproxy.conf (which
    hosts it reaches), and its entries in proxies.toml.  They allow nothing yet.  No file is overwritten, and nothing is
    started.

    \b
    Exit codes: 0 written; 1 could not; 64 usage, or one of them exists.
    Example:    stallkit sandbox init web -- my-agent
    """
    proxies = proxies_file()
    folder = proxies.parent / "sandboxes" / name
    found = shutil.which(command[0])
    path = Path(found) if found and not found.startswith(("/usr/bin/", "/bin/")) else None
    words = (f"{TOOLS}/{path.name}", *command[1:]) if path else command
    ports = any_free(count=2)
    served = user() if os.geteuid() == 0 else None
    texts = first_files(name, folder, proxies, directory, words, [path] if path else [], (ports[0], ports[1]), served)
    manifest = folder / f"{name}.toml"
    read_manifest(texts[manifest], str(manifest))  # its name, as a manifest has it
    there = [str(one) for one in texts if one != proxies and one.exists()]
    there += [f"[{name}] of {proxies}"] if proxies.exists() and name in read_proxies(proxies) else []
    if there:
        raise click.UsageError(f"{there[0]} exists already: move it away, or give another name")
    for one in (proxies.parent, folder.parent, folder, folder / "tmp"):
        private.folder(one)
    for one, text in texts.items():
        flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if one == proxies else os.O_EXCL)
        with os.fdopen(private.opened(one, flags), "a", encoding="utf-8") as file:
            file.write(text)
    for one in [*texts][:5]:
        click.echo(shown(f"wrote {one}"))
    for line in (f"nginx -e stderr -c {folder}/nginx.conf", f"tinyproxy -c {folder}/tinyproxy.conf"):
        click.echo(shown(line))
    click.echo(shown(f"stallkit start --manifest {manifest}"))
    for verb in ("serve", "routes edit", "egress edit"):
        click.echo(shown(f"stallkit sandbox {verb} {name}"))


@sandbox_command.command("manifest", short_help="Show what a sandbox was started from.")
@click.argument("name")
@click.option("--version", "number", type=click.IntRange(min=1), metavar="N", help="This version, not the current one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sandboxes.md).")
def manifest_command(name: str, number: int | None, as_json: bool) -> None:
    """Show a sandbox's manifest, and its versions: who changed what, when and why.

    \b
    Exit codes: 0 shown; 64 there is no such sandbox, or no such version.
    Example:    stallkit sandbox manifest web
    """
    with opened() as sandboxes:
        sandbox, history = sandboxes.get(name), sandboxes.history(name)
    wanted = sandbox.version if number is None else number
    found = next((one for one in history if one.version == wanted), None)
    if found is None:
        last = history[-1].version
        raise UnknownName("manifest", name, f"it has no version {wanted}", f"give one of 1 to {last}")
    if as_json:
        print_json({"version": 1, "sandbox": _object(sandbox), "text": found.text, "history": _history(history)})
        return
    for line in manifest_lines(sandbox, history, found):
        click.echo(line)


def manifest_lines(
    sandbox: Sandbox, history: list[ManifestVersion], found: ManifestVersion | None = None
) -> Iterator[str]:
    """A version of its manifest, the current one unless another is given, and what changed in each."""
    yield from map(shown, (found or sandbox.latest).text.splitlines())
    before: ManifestVersion | None = None
    yield ""
    for one in history:
        mark = "  (now)" if one.version == sandbox.version else ""
        yield shown(f"version {one.version}, {_when(one.at)}, by {one.by}: {one.why}{mark}")
        for line in changes(before.text, one.text) if before is not None else ():
            yield f"  {shown(line)}"
        before = one


@sandbox_command.command("rebuild", short_help="Replace a sandbox by one with a changed manifest.")
@click.argument("what", metavar="ID|NAME")
@click.option(
    "--manifest", type=click.Path(path_type=Path), metavar="FILE", help="The changed manifest; otherwise $EDITOR opens."
)
@click.option("--why", default="", metavar="TEXT", help="Your reason, for the replacement and the pull request.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@no_input_option
@click.option("--decline", metavar="WHY", help="Refuse to rebuild it; the agent gets WHY.")
@click.pass_context
def rebuild_command(
    ctx: click.Context, what: str, manifest: Path | None, why: str, yes: bool, decline: str | None
) -> None:
    """Replace a sandbox by one with a changed manifest, on the same branch, with all its work.

    ID is the notice that asks for it, NAME a sandbox.  The manifest opens in $EDITOR below the agent's words; you see
    what changed before anything is done.  The work tree is pushed, and read back, before anything is torn down.  After
    an interruption, call it again: it continues where it stopped.

    \b
    Exit codes: 0 the replacement runs; 1 could not, and nothing was torn down, or it was started again as it was, or it
                goes on when called again; 2 not approved, or another item than was shown; 4 what asked is over.
    Example:    stallkit sandbox rebuild 3 --why 'it may use the mirror now'
    """
    with opened() as sandboxes, closing(Queue(queue_file())) as queue:
        ref = item_ref(what)
        item = queue.item(ref[0]) if ref is not None else None
        name = item.session.removeprefix("tmux:") if item is not None else what
        sandbox = sandboxes.get(name)
        if RebuildRows(sandboxes).unfinished(name) is not None:
            if manifest is not None or decline is not None:
                raise click.UsageError(f"a rebuild of {name} is under way: go on with it alone")
        elif item is not None and not item.open:
            click.echo(shown(f"{item.id} ", item.session, f": it is {item.state} already"))
            ctx.exit(Exit.ENDED)
        elif decline is not None:
            ctx.exit(_declined(queue, sandbox, item, ref, decline))
        else:
            proposal = _proposed(sandbox, item, manifest)
            if item is not None:
                note(queue, [item])  # the editor has shown it as well
            if not yes and not (may_ask() and click.confirm(f"Rebuild {name}?")):
                it = name if item is None else item.id
                click.echo(f"nothing was done; to say why not: stallkit sandbox rebuild {it} --decline WHY")
                ctx.exit(Exit.STALLED)
            told = why or (f"number {item.id} asked for it" if item is not None else "a person wanted it")
            approve(sandboxes, proposal, user(), told, manifests_log().append)
        ctx.exit(_carried_out(sandboxes, queue, name))


def _declined(queue: Queue, sandbox: Sandbox, item: Item | None, ref: tuple[int, int | None] | None, why: str) -> Exit:
    """Nothing is rebuilt; what asked for it gets the reason, if the person was shown it as it is."""
    try:
        if item is not None and ref is not None:
            item.as_shown(seen_of(queue, ref))
    except NotAsShown as error:
        print_outcome(not_answered(error))
        note(queue, [error.item])
        return Exit.STALLED
    proposal = Proposal(sandbox, sandbox.latest.text, item)
    done = reject(queue, proposal, Who(user(), "stallkit stuck"), why, manifests_log().append)
    if done is not None and done.result != "done":
        click.echo(shown(done.why))
        return Exit.STALLED if done.result == "changed" else Exit.ENDED
    click.echo(shown(f"{sandbox.name}: declined; {'the agent gets the reason' if done else 'nothing had asked'}"))
    return Exit.OK


def _proposed(sandbox: Sandbox, item: Item | None, path: Path | None) -> Proposal:
    """The changed manifest, of a file or of the editor; a person is shown what asks for it, and what changes."""
    if path is None:
        came = click.edit(to_edit(sandbox, item), extension=".toml", require_save=False)
        text = sandbox.latest.text if came is None else edited(came)
    else:
        text = _text(path)
    proposal = propose(sandbox, text, item, str(path or ""))
    if item is not None and path is not None:
        for line in item.words.splitlines():
            click.echo(shown(f"  {line}"))
    for line in proposal.diff or ["(no change of its manifest)"]:
        click.echo(shown(line))
    return proposal


def _carried_out(sandboxes: Sandboxes, queue: Queue, name: str) -> Exit:
    def told(step: Step, state: StepState, why: str) -> None:
        if state is not StepState.BEGUN:
            click.echo(shown(name, f": {step} {state}{f': {why}' if why else ''}"))

    done = Runner(sandboxes, queue, told, engine, manifests_log().append).rebuild(name)
    if done.outcome is Outcome.REPLACED:
        click.echo(shown(name, f": rebuilt, version {sandboxes.get(name).version} of its manifest runs"))
        return Exit.OK
    how = f"it is as it was ({done.why})"
    if done.outcome is None:
        how = f"not over: {done.why}; go on with it: stallkit sandbox rebuild {name}"
    click.echo(shown("stallkit: ", name, f": {how}"), err=True)
    return Exit.ERROR


def opened() -> closing[Sandboxes]:
    """The sandboxes that were started from manifests."""
    return closing(Sandboxes(sandboxes_file()))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise UnknownFile(str(path), "there is no such file", "name a manifest (docs/sandboxes.md)") from error
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(str(path), why, "name a manifest (docs/sandboxes.md)") from error


def _started(sandbox: Sandbox, session: Session) -> Iterator[str]:
    """What a person hears of a sandbox that just started."""
    name = sandbox.name
    ports = f", ports {' '.join(map(str, session.ports))}" if session.ports else ""
    sealed = "sealed: no key goes in" if session.sealed else "interactive: keys go in"
    yield f"{name}: started from version {sandbox.version} of its manifest{ports}; {sealed}"
    if not listens(mounted_socket(stuck_dir(), name)):
        yield f"{name}: nobody takes its notices yet; stallkit sandbox serve {name} does, or one with --all in a moment"


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
