"""``stallkit stuck``: what sessions and agents ask of a person, in one queue, and the person's answers."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import sys
import time
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Iterable, Iterator, NoReturn

import click
from rich.console import Console
from stallkit_sessions.cli import named_sessions
from stallkit_sessions.model import ExitRecord
from stallkit_supervisor.cli.watch_table import middle_cut

from stallkit.cli.common import Name, engine, print_json, reach
from stallkit.cli.output import Exit, hanging, plain_console, shown
from stallkit.cli.verb_group import VerbGroup
from stallkit.config import audit_dir, queue_file
from stallkit.errors import SessionGone, StoreError
from stallkit.jsonio import unstructure
from stallkit.probes.procfs import Process, boot_id
from stallkit.redact.redact import redact
from stallkit.terminal.text import cut, escaped
from stallkit.transports.base import Options, Transport
from stallkit.transports.targets import open_target
from stallkit_operator.answering import Answered, carry_out
from stallkit_operator.audit import AuditLog
from stallkit_operator.item import Delivery, Item, Source, Who
from stallkit_operator.orders import Order, Verb
from stallkit_operator.queue import Queue
from stallkit_operator.sandbox.sandbox_start import composer_of

if TYPE_CHECKING:
    _Ref = click.ParamType[tuple[int, int | None]]
else:
    _Ref = click.ParamType  # older ones take no type

_WORDS = 60  # columns of a row of the list
_NAME, _BESIDE = 20, 44  # columns of a terminal: for a name at least, and for all else
_EXITS = {
    "done": Exit.OK,
    "refused": Exit.STALLED,
    "changed": Exit.STALLED,
    "unseen": Exit.MAYBE,
    "over": Exit.ENDED,
}
_REMEDIES = {  # the commands that free an agent, by category: of an expired token, the second one
    "credential": (
        "sandbox routes edit {session} --reply {id} TEXT",
        "sandbox routes reload {session} --reply {id} TEXT",
    ),
    "egress": ("sandbox egress edit {session} --reply {id} TEXT",),
    "capability": ("sandbox rebuild {id}",),
}
_GIVEN = {  # what became of a reply that nobody waited for
    Delivery.KEPT: "is kept: for its composer, once it is at rest there, or its next stuck",
    Delivery.TYPED: "was typed into its composer",
    Delivery.PERHAPS: "was perhaps typed into its composer; its next stuck gets it, too",
}
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/stuck.md).")
_REF_FORM = re.compile(r"([1-9][0-9]{0,15})(?:@([1-9][0-9]{0,15}))?", re.ASCII)


# --- which item a command is about ---


class ItemRef(_Ref):
    """A number of the queue, alone or with the revision that is meant: 3, or 3@2."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int | None]:
        found = item_ref(str(value))
        if found is None:
            self.fail(f"{value!r} is not in stallkit stuck list: write 3, or 3@2", param, ctx)
        return found


def item_ref(text: str) -> tuple[int, int | None] | None:
    """The number and the revision in such a text; None if it is none.

    >>> item_ref("3@2"), item_ref("3"), item_ref("web")
    ((3, 2), (3, None), None)
    """
    found = _REF_FORM.fullmatch(text)
    return (int(found[1]), None if found[2] is None else int(found[2])) if found else None


def queue_items(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """What waits for a person, for a shell that completes its number."""
    if not queue_file().exists():
        return
    with closing(Queue(queue_file())) as queue:
        for item in queue.items():
            yield str(item.id), item.session


ITEM = Name("item", "stallkit_operator.cli.stuck_commands:queue_items")
_ID = click.argument("id", type=click.IntRange(min=1), metavar="ID", shell_complete=ITEM.shell_complete)
_REF = click.argument("ref", type=ItemRef(), metavar="ID", shell_complete=ITEM.shell_complete)


class _Verbs(VerbGroup):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, "reply" if cmd_name == "r" else cmd_name)


@click.group("stuck", cls=_Verbs, elsewhere={"triage": "stallkit_operator.cli.remedy_commands:triage_command"})
def stuck_command() -> None:
    """Answer what sessions and agents ask of a person, from one queue.

    A supervisor puts in what it leaves to a person (stallkit watch), and agents in sandboxes what they ask (stallkit
    sandbox serve).  You answer what list or show printed last in this terminal, or ID@REVISION: if it has changed since
    then, nothing is done.  Secrets are never answered here.

    \b
    Exit codes of reply, approve, decline: 0 it was answered, or declined; 1 could not; 2 nothing was pressed,
                it is still open; 3 perhaps pressed, or without effect, it is still open; 4 it is over, or went away.
    Example:    stallkit stuck reply 3 'use the mirror'
    """


@stuck_command.command("list")
@click.option("--all", "over", is_flag=True, help="List what is over too.")
@_JSON
def list_command(over: bool, as_json: bool) -> None:
    """List what waits for you, the oldest first.

    \b
    Exit codes: 0 listed; 1 the queue cannot be read.
    Example:    stallkit stuck list
    """
    with opened_queue() as queue:
        items = queue.items(over)
        if as_json:
            print_json({"version": 1, "items": [unstructure(item) for item in items]})
        else:
            width = max((len(shown(item.session)) for item in items), default=0)
            for item in items:
                click.echo(_row(item, width))
            if not items:
                click.echo("nothing waits for a person")
        note(queue, items, as_json)
        for id in queue.unreadable():
            click.echo(
                f"stallkit: {id} cannot be read: it is not as stallkit writes it; see: stallkit stuck show {id}",
                err=True,
            )


@stuck_command.command("show")
@_ID
@_JSON
def show_command(id: int, as_json: bool) -> None:
    """Show all of what is asked, and how you can answer.

    \b
    Exit codes: 0 shown; 1 the queue cannot be read, or has no such item.
    Example:    stallkit stuck show 3
    """
    with opened_queue() as queue:
        item = queue.item(id)
        if as_json:
            print_json({"version": 1, "item": unstructure(item)})
        else:
            print_item(item)
        note(queue, [item], as_json)


def print_item(item: Item) -> None:
    """Print all of an item, and how it can be answered."""
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    for line in item_lines(item, shutil.get_terminal_size().columns if on_terminal else None):
        click.echo(line)


def note(queue: Queue, items: Iterable[Item], as_json: bool = False) -> None:
    """Note that these were printed here: an answer is to that.  What cannot be noted is refused when it is answered."""
    with suppress(StoreError):
        queue.note_shown(here(), items, as_json)


def seen_of(queue: Queue, ref: tuple[int, int | None]) -> int:
    """The revision that an answer is to: the one that is named, else the one that was printed here; 0: none was."""
    id, revision = ref
    return queue.revision_shown(here(), id) if revision is None else revision


def here() -> str:
    """The terminal session of this process, which a shell shares with all that is started in it."""
    leader = os.getsid(0)
    started = Process.of(leader) or Process(leader, 0)
    return f"{boot_id()} {started.pid} {started.started}"


def item_lines(item: Item, width: int | None = None, host: str = "") -> Iterator[str]:
    """All of an item, and how it can be answered, safe to print; `host`: of another machine of the fleet.

    On a terminal of `width` columns no part of what is asked begins where stallkit's own lines do, also of a long line.
    """
    on = plain_console(width=width) if width else None
    yield from _indented(_row(item, host=host), 4, on)
    for line in redact(item.words).split("\n"):
        yield from _indented(f"  {escaped(line)}", 2, on)
    for option in item.options if item.open and item.state != "auth_required" else ():
        kind = f"  ({option.kind})" if option.kind else "  (selected)" if option.selected else ""
        about = f": {option.about}" if option.about else ""
        told = f"{_verb(host)} reply {_ref(item, host)} {option.id:<6} {option.name}{about}{kind}"
        yield from _indented(shown(told), 4, on)
    yield from _ways(item, host)


def _verb(host: str) -> str:
    return "stallkit fleet" if host else "stallkit stuck"


def _ref(item: Item, host: str) -> str:
    return f"{host}/{item.id}" if host else str(item.id)


def _indented(line: str, indent: int, on: Console | None) -> list[str]:
    return [line] if on is None else hanging(on, line, indent)


@stuck_command.command("reply", short_help="Answer with an option or a text; short: r.")
@_REF
@click.argument("text", nargs=-1, required=True)
@_JSON
@click.pass_context
def reply_command(ctx: click.Context, ref: tuple[int, int | None], text: tuple[str, ...], as_json: bool) -> None:
    """Answer with one of the options that `show` lists, by its id or name, or with a text.  Short: r.

    An agent gets a text as it is; at a prompt it is typed.  TEXT may be - for standard input.

    \b
    Exit codes: 0 answered; 1 could not; 2 nothing was pressed; 3 perhaps pressed, or without effect; 4 it is over.
    Example:    stallkit stuck reply 3 2
                stallkit stuck r 3 use the mirror
    """
    given = sys.stdin.read().rstrip("\n") if text == ("-",) else " ".join(text)
    _answer(ctx, Verb.REPLY, ref, given, as_json)


@stuck_command.command("approve", short_help="Allow it this once.")
@_REF
@_JSON
@click.pass_context
def approve_command(ctx: click.Context, ref: tuple[int, int | None], as_json: bool) -> None:
    """Allow it this once, by the only option that does; an agent gets "approved".

    \b
    Exit codes: 0 answered; 1 could not; 2 nothing was pressed; 3 perhaps pressed, or without effect; 4 it is over.
    Example:    stallkit stuck approve 3
    """
    _answer(ctx, Verb.APPROVE, ref, "", as_json)


@stuck_command.command("decline", short_help="Reject it, or take it off the list.")
@_REF
@click.argument("why", nargs=-1)
@_JSON
@click.pass_context
def decline_command(ctx: click.Context, ref: tuple[int, int | None], why: tuple[str, ...], as_json: bool) -> None:
    """Reject it, by the only option that does; an agent gets WHY.  Anything else leaves the list.

    \b
    Exit codes: 0 declined; 1 could not; 2 nothing was pressed; 3 perhaps pressed, or without effect; 4 it is over.
    Example:    stallkit stuck decline 3 not on this branch
    """
    _answer(ctx, Verb.DECLINE, ref, " ".join(why), as_json)


def _answer(ctx: click.Context, verb: Verb, ref: tuple[int, int | None], text: str, as_json: bool) -> NoReturn:
    with opened_queue() as queue:
        order, seen = Order(verb, ref[0], text), seen_of(queue, ref)
        try:
            done = carry_out(queue, order, who(), engine, _reached, seen, manifests_log().append)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        if as_json:
            print_json({"version": 1, "result": str(done.result), "why": done.why, "item": unstructure(done.item)})
        else:
            print_outcome(done)
        if done.result == "changed":
            note(queue, [done.item], as_json)
    ctx.exit(_EXITS[done.result])


def print_outcome(done: Answered) -> None:
    """Print what became of an answer, and the item if it is not the one that it was an answer to."""
    if done.result != "changed":
        click.echo(outcome(done))
        return
    click.echo(f"{outcome(done)}.  It is {done.item.ref} now:")
    print_item(done.item)


def outcome(done: Answered) -> str:
    """What became of an answer, on one line."""
    plainly = done.why in ("answered", "declined")
    told = done.why if done.result != "done" else str(done.item.state) + ("" if plainly else f", {done.why}")
    return shown(f"{done.item.id} ", done.item.session, f": {told}")


def manifests_log() -> AuditLog:
    """The log of what persons decided about manifests."""
    return AuditLog(audit_dir() / "manifests.log")


def _reached(item: Item) -> Transport | None:
    if item.source is Source.AGENT:
        return composer_of(item)
    scheme = item.session.partition(":")[0]
    return reach(item.session, None, item.server if scheme == "tmux" else None)


def open_session(target: str, server: str | None, options: Options) -> Transport:
    """The screen of a session: of a target, on the tmux server of an item if that is known, or of a name.

    Raises ValueError for what is no target, SessionGone as `place_of`.
    """
    transport = open_target(*place_of(target, server, options))
    if ":" not in target:
        transport.target = target
    return transport


def place_of(target: str, server: str | None, options: Options) -> tuple[str, Options]:
    """The target and the options that reach it.  Raises SessionGone if no session of that name runs."""
    if ":" in target:
        return target, Options(tmux_socket_path=server) if server else options
    session = named_sessions.named(target)
    if session is None:
        raise SessionGone(target, "no session of that name was started; a target is written tmux:NAME")
    if isinstance(session, ExitRecord):
        raise SessionGone(target, session.why)
    return named_sessions.reached(session.session)


def user() -> str:
    """Who calls."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no such user, in a container
        return str(os.getuid())


def who(verb: str = "stuck") -> Who:
    """This user, at this terminal."""
    terminal = os.ttyname(0) if sys.stdin is not None and sys.stdin.isatty() else "no terminal"
    return Who(user(), f"stallkit {verb}, {terminal}")


@contextmanager
def opened_queue() -> Iterator[Queue]:
    """The queue, without what nobody answered in time."""
    with closing(Queue(queue_file())) as queue:
        queue.expire()
        queue.bury()
        yield queue


def _row(item: Item, width: int = 0, host: str = "") -> str:
    """A row of a list whose longest name has that width, else all of one item.

    In the list of a narrow terminal a long name is shortened, and what is asked begins a second line.
    """
    columns = shutil.get_terminal_size().columns if width and sys.stdout.isatty() else None
    name, words, room = shown(item.session), shown(item.line), _WORDS
    state = "" if item.state == "input_required" else f"  {item.state}"
    kind = shown(f"{item.kind or 'notice'}{f' [{item.category}]' if item.category else ''}{state}")
    if columns is not None:
        width = min(width, max(_NAME, columns - _BESIDE))
        name = middle_cut(name, width, width // 2)
    head = f"{_ref(item, host):>4}  {age(time.time() - item.created):>5}  {name:<{width}}"
    line = f"{head}  {kind:<12}"
    if columns is not None:
        room = columns - len(line) - 2
        if room < _NAME // 2:
            return f"{head.rstrip()}\n{'':6}{cut(f'{kind}  {words}', columns - 6)}".rstrip()
    return f"{line}  {cut(words, room)}".rstrip()


def age(seconds: float) -> str:
    """How long ago, in a word: 12s, 3min, 2h, 5d."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"


def _ways(item: Item, host: str) -> Iterator[str]:
    """How it can be answered besides its options, or how it was."""
    if not item.open:
        text = f": {redact(item.text)}" if item.text else ""
        when = datetime.fromtimestamp(item.at or 0).astimezone()
        yield shown(f"{item.state}{item.how}, at {when:%Y-%m-%d %H:%M:%S}{text}")
        if given := _GIVEN.get(item.delivery):
            yield f"the reply {given}"
        return
    if item.state == "auth_required":
        yield f"it asks for a secret or a login: answer it at its own terminal, {shown(item.session)}"
        return
    if item.kind == "editor":
        yield shown(f"it is an editor, which no text answers: go to its own terminal, {item.session}")
    elif not item.options:
        yield f"{_verb(host)} reply {_ref(item, host)} TEXT"
    if item.delivery is Delivery.LATER:
        yield "nobody waits for the reply: it is typed into its composer, or kept for its next stuck"
    remedies = _REMEDIES.get(item.category or "", ())
    there = f"on {host}: " if host else ""
    yield from (shown(f"{there}stallkit {one.format(session=item.session, id=item.id)}") for one in remedies)
    if not remedies and item.source is Source.AGENT:
        yield f"{there}stallkit stuck triage {item.id} {'|'.join(_REMEDIES)}"
