"""``stallkit sandbox routes``, ``egress`` and ``stuck triage``: what an operator does for an agent that is blocked."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import NoReturn

import click

from stallkit import private
from stallkit.cli.common import engine, print_json
from stallkit.cli.output import Exit, may_ask, no_input_option, shown
from stallkit.cli.verb_group import VerbGroup
from stallkit.config import audit_dir, proxies_file, queue_file, state_dir, stuck_dir
from stallkit.errors import StallkitError
from stallkit.jsonio import unstructure
from stallkit.probes.procfs import stat_of
from stallkit_operator.answering import Result, answer_item
from stallkit_operator.audit import AuditLog
from stallkit_operator.cli.stuck_commands import ItemRef, note, print_item, seen_of, who
from stallkit_operator.install import host_socket
from stallkit_operator.item import Category, NotAsShown
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.presets import REMEDIES, preset_of, proxy_of
from stallkit_operator.sandbox.remedy import Edit, Edited, Notice, Remedy, RemedyFiles, Step
from stallkit_operator.sandbox.sandbox_start import composer_of

_SANDBOX = click.argument("sandbox")
_REPLY = click.option(
    "--reply", type=(ItemRef(), str), metavar="ID TEXT", help="Answer this notice once the proxy serves the change."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/sandboxes.md).")
_Reply = tuple[tuple[int, int | None], str]  # the notice, and the text
KEPT_S = 7 * 86_400.0  # for the text of an edit that was refused
_RENEWED = "nothing was changed; reload the proxy, for a credential that you renewed?"


@click.group("routes", short_help="Edit what a sandbox reaches with credentials.", cls=VerbGroup)
def routes_command() -> None:
    """Edit the routes of a sandbox's credential proxy: what it reaches with credentials that it never sees.

    \b
    Example:    stallkit sandbox routes edit web
    """


@click.group("egress", short_help="Edit which hosts a sandbox reaches.", cls=VerbGroup)
def egress_command() -> None:
    """Edit the list of a sandbox's egress proxy: which hosts it reaches.

    \b
    Example:    stallkit sandbox egress edit web
    """


@routes_command.command("edit", short_help="Open the routes in $EDITOR; check, reload and try them.")
@_SANDBOX
@_REPLY
@no_input_option
@_JSON
@click.pass_context
def edit_routes_command(ctx: click.Context, sandbox: str, reply: _Reply | None, as_json: bool) -> None:
    """Open the routes in $EDITOR; after you save them, check, reload and try them.

    A mistake never reaches the proxy.  If it does not serve the new version, the old one is put back; an upstream
    that is down is noted.  Everything is audited, without secrets: stallkit sandbox audit show.

    \b
    Exit codes: 0 it serves what is new; 1 could not, or it serves neither;
                2 nothing was touched: refused, or unchanged; 3 rolled back;
                4 it serves what is new, the reply came too late.
    Example:    stallkit sandbox routes edit web --reply 4 'try again'
    """
    _edit(ctx, sandbox, "routes", reply, as_json)


@routes_command.command("reload", short_help="Reload the proxy after you renewed a token; try the routes.")
@_SANDBOX
@_REPLY
@_JSON
@click.pass_context
def reload_routes_command(ctx: click.Context, sandbox: str, reply: _Reply | None, as_json: bool) -> None:
    """Reload the credential proxy after you renewed a token in your own file.

    It is checked first, then reloaded, and each route is tried: one whose upstream is down or refuses its credential is
    noted.  It is audited: stallkit sandbox audit show.

    \b
    Exit codes: 0 reloaded; 1 could not, or it does not serve: look at the proxy; 2 refused, nothing was done;
                4 reloaded, the reply came too late.
    Example:    stallkit sandbox routes reload web --reply 4 'try again'
    """
    remedy, _ = _remedy(sandbox, "routes")
    _reload(ctx, sandbox, remedy, _notice(ctx, sandbox, reply, as_json), as_json)


@egress_command.command("edit", short_help="Open the list in $EDITOR; check, reload and try it.")
@_SANDBOX
@_REPLY
@no_input_option
@_JSON
@click.pass_context
def edit_egress_command(ctx: click.Context, sandbox: str, reply: _Reply | None, as_json: bool) -> None:
    """Open the list of hosts in $EDITOR; after you save it, check, reload and try it.

    A mistake never reaches the proxy.  If the proxy refuses the new version, the old one is put back; a host that is
    down is noted.  Everything is audited: stallkit sandbox audit show.

    \b
    Exit codes: 0 it serves what is new; 1 could not, or it serves neither;
                2 nothing was touched: refused, or unchanged; 3 rolled back;
                4 it serves what is new, the reply came too late.
    Example:    stallkit sandbox egress edit web --reply 4 'try again'
    """
    _edit(ctx, sandbox, "egress", reply, as_json)


pipelock_command = egress_command


@click.command("triage", short_help="Say what blocks an agent.")
@click.argument("id", type=click.IntRange(min=1), metavar="ID")
@click.argument("category", type=click.Choice([*map(str, Category), "none"]))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/stuck.md).")
def triage_command(id: int, category: str, as_json: bool) -> None:
    """Say what blocks an agent: the credential proxy, the egress proxy, or something missing in its sandbox.

    `list` and `show` show it; the agent does not see it.

    \b
    Exit codes: 0 noted; 1 the queue cannot be written, or has no such item.
    Example:    stallkit stuck triage 4 egress
    """
    with closing(Queue(queue_file())) as queue:
        item = queue.triage(id, None if category == "none" else Category(category))
    if as_json:
        print_json({"version": 1, "item": unstructure(item)})
        return
    click.echo(shown(f"{item.id} ", item.session, f": {item.category or 'no category'}"))


def _edit(ctx: click.Context, sandbox: str, kind: str, reply: _Reply | None, as_json: bool) -> NoReturn:
    remedy, path = _remedy(sandbox, kind)
    notice = _notice(ctx, sandbox, reply, as_json)
    before = remedy.text()
    copy = _copy(sandbox, kind, path, before)
    while True:
        try:
            _open_editor(copy)
        except StallkitError:
            if copy.read_text("utf-8") == before:
                shutil.rmtree(copy.parent)
            raise
        after = copy.read_text("utf-8")
        if after == before:
            shutil.rmtree(copy.parent)
            if kind == "routes" and may_ask() and click.confirm(_RENEWED, err=True):
                _reload(ctx, sandbox, remedy, notice, as_json)
            hint = (
                f"; for a credential that you renewed: stallkit sandbox routes reload {sandbox}"
                if kind == "routes"
                else ""
            )
            _leave(ctx, sandbox, None, f"nothing was changed{hint}", as_json)
        done = remedy.apply(Edit(before, after, who(f"{kind} edit"), notice))
        if done.end is not Step.REFUSED:
            break
        click.echo(shown(done.why), err=True)
        if not (may_ask() and click.confirm("edit again?", default=True, err=True)):
            break
    if done.end is Step.APPLIED:
        shutil.rmtree(copy.parent)
        _leave(ctx, sandbox, done, _answer(notice), as_json)
    _leave(ctx, sandbox, done, f"{done.why}; your text is in {copy}", as_json)


def _reload(ctx: click.Context, sandbox: str, remedy: Remedy, notice: Notice | None, as_json: bool) -> NoReturn:
    """Have the proxy read what no command of ours reads or writes, then answer the notice."""
    text = remedy.text()
    done = remedy.apply(Edit(text, text, who("routes reload"), notice, reload=True))
    late = _answer(notice) if done.end is Step.APPLIED else None
    _leave(ctx, sandbox, done, late or done.why or None, as_json)


def _remedy(sandbox: str, kind: str) -> tuple[Remedy, Path]:
    """The edits of that proxy, and the file that is edited."""
    proxy = proxy_of(proxies_file(), sandbox, kind)
    notify = str(host_socket(stuck_dir(), sandbox)) if proxy.notify is None else proxy.notify or None
    names = [proxy.rendered, proxy.file] if proxy.rendered else [proxy.file]
    files = RemedyFiles(tuple(Path(name) for name in names))
    lock = state_dir() / "edits" / f"{kind}-{sandbox}.lock"
    audit = AuditLog(audit_dir() / f"{REMEDIES[kind]}-{sandbox}.log")

    def tell(what: str) -> None:
        click.echo(shown(sandbox, f": {what}"), err=True)

    return Remedy(sandbox, files, preset_of(proxy, notify), audit, lock, tell), Path(proxy.file)


def _notice(ctx: click.Context, sandbox: str, reply: _Reply | None, as_json: bool) -> Notice | None:
    """The notice as it was shown, and its reply; one that cannot be answered is refused before anything is edited."""
    if reply is None:
        return None
    ref, text = reply
    with closing(Queue(queue_file())) as queue:
        item = queue.item(ref[0])
        if item.session != sandbox or item.source != "agent":
            raise click.UsageError(f"item {item.id} is no notice of the sandbox {sandbox!r}")
        if not item.open:
            raise click.UsageError(f"item {item.id} is {item.state} already")
        try:
            return Notice(item.as_shown(seen_of(queue, ref)), text)
        except NotAsShown as error:
            if not as_json:
                print_item(item)
                note(queue, [item])
            _leave(ctx, sandbox, None, f"{item.ref}: {error.why}", as_json)


def _copy(sandbox: str, kind: str, path: Path, text: str) -> Path:
    """The text in a file of one's own, named as the real one is, for the editor's sake."""
    folder = state_dir() / "edits" / f"{kind}-{sandbox}-{os.getpid()}"
    for old in folder.parent.glob("*-*-[0-9]*/"):  # of edits that were refused or killed
        with suppress(OSError, ValueError):
            late = old.stat().st_mtime < time.time() - KEPT_S
            if late and stat_of(int(old.name.rpartition("-")[2])) is None:
                shutil.rmtree(old)
    private.folder(folder)
    with os.fdopen(private.opened(folder / path.name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as file:
        file.write(text)
    return folder / path.name


def _open_editor(path: Path) -> None:
    words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    try:
        ended = subprocess.run([*words, str(path)], check=False).returncode
    except OSError as error:
        raise StallkitError("editor", words[0], str(error.strerror), "set EDITOR; nothing was touched") from error
    if ended:
        raise StallkitError("editor", words[0], f"it ended with {ended}", "nothing was touched; try again")


def _answer(notice: Notice | None) -> str | None:
    """Answer the notice; why that was too late, or more was asked meanwhile, else None."""
    if notice is None:
        return None
    item = notice.item
    with closing(Queue(queue_file())) as queue:
        done = answer_item(queue, item.id, notice.reply, who(), engine, composer_of, seen=item.revision)
    return None if done.result is Result.DONE else f"the reply was not given: {done.why}"


def _leave(ctx: click.Context, sandbox: str, done: Edited | None, why: str | None, as_json: bool) -> NoReturn:
    exits = {"applied": Exit.ENDED if why else Exit.OK, "rolled back": Exit.MAYBE, "broken": Exit.ERROR}
    end = str(done.end) if done else "unchanged"
    if as_json:
        found = {"diff": done.diff, "notes": list(done.notes)} if done else {"diff": "", "notes": []}
        print_json({"version": 1, "sandbox": sandbox, "result": end, "why": why, **found})
    else:
        for line in done.diff.splitlines() if done else []:
            click.echo(shown(line))
        click.echo(shown(sandbox, f": {end}{f', {why}' if why else ''}"))
    ctx.exit(exits.get(end, Exit.STALLED))
