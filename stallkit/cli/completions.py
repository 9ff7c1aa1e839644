"""What a shell completes: the names that there are now, each with a word about it.

Only a shell asks, at each press of Tab: whatever fails here has no completions, and says nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Iterable, Iterator

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    add_completion_class,
    split_arg_string,
)

if TYPE_CHECKING:
    from stallkit.transports.base import Options

__all__ = ["ColonBash", "items", "packs", "policies", "queue_items", "runs", "sessions", "signatures", "targets"]

Find = Callable[[click.Context], Iterable[tuple[str, str]]]


def items(find: Find, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """The names that begin as what was typed."""
    try:
        found = [(name, about) for name, about in find(ctx) if name.startswith(incomplete)]
    except Exception:
        return []
    return [CompletionItem(name, help=about or None) for name, about in found if name.isprintable()]


def targets(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The sessions that stallkit started, and those of the tmux server that the line names."""
    from stallkit.transports.tmux.call import Server

    yield from sessions(ctx)
    shown = "#{session_name}\t#{pane_current_command}"
    for line in Server(_options(ctx)).run("tmux", ("list-sessions", "-F", shown)).splitlines():
        name, _, program = line.partition("\t")
        yield f"tmux:{name}", program


def sessions(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The sessions that stallkit started."""
    from stallkit.config import sessions_file
    from stallkit.sessions.model import ExitRecord
    from stallkit.sessions.register import Register

    if not sessions_file().exists():
        return
    register = Register(sessions_file(), or_copy=True)
    try:
        for one in register.listing():
            state = f"ended: {one.cause}" if isinstance(one, ExitRecord) else "running"
            yield one.session.name, state
    finally:
        register.close()


def packs(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The installed packs."""
    from stallkit.packs.registry import installed_engine

    for pack in installed_engine().packs:
        yield pack.name, ", ".join(sorted(pack.foreground)) or "any program"


def signatures(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The signatures of the installed packs."""
    from stallkit.packs.registry import installed_engine

    for rule in installed_engine().rules:
        yield rule.name, rule.signature.title


def policies(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The built-in policies, and the TOML files here."""
    from stallkit.press.policy_file import PROFILES

    yield from ((name, "built in") for name in PROFILES)
    yield from ((path.name, "a file") for path in sorted(Path().glob("*.toml")))


def runs(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """The runs in the background."""
    from stallkit.runs import client

    yield "last", "the latest"
    for run in client.listing():
        yield run["id"], " ".join(map(str, run["command"]))


def queue_items(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """What waits for a person."""
    from stallkit.config import queue_file
    from stallkit.stuck.queue import Queue

    if not queue_file().exists():
        return
    queue = Queue(queue_file())
    try:
        for item in queue.items(False):
            yield str(item.id), item.session
    finally:
        queue.close()


def _options(ctx: click.Context) -> Options:
    from stallkit.tmux_socket import chosen
    from stallkit.transports.base import Options

    socket = chosen(ctx.params.get("socket_name"), ctx.params.get("socket_path"), os.environ, tell=lambda line: None)
    return Options(socket.name, socket.path)


class ColonBash(BashComplete):
    """Bash takes a colon for the end of a word, and `tmux:w1` for three: so the line is read here, not its words."""

    source_template = r"""
%(complete_func)s() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            dir,*) compopt -o dirnames ;;
            file,*) compopt -o default ;;
            plain,*) COMPREPLY+=("${line#plain,}") ;;
        esac
    done < <(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def source(self) -> str:
        """The script.  Click would start bash first, to learn how old it is: what this needs came with 4.4, in 2016."""
        return ShellComplete.source(self)

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and what the last of them has so far."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])

    def format_completion(self, item: CompletionItem[str]) -> str:
        """The rest of the name, behind the last colon that was typed."""
        _, incomplete = self.get_completion_args()
        typed = incomplete.rpartition(":")[0] + ":" if ":" in incomplete else ""
        cut = ":" in os.environ.get("COMP_BREAKS", "") and item.value.startswith(typed)
        return f"{item.type},{item.value[len(typed) :] if cut else item.value}"


class WholeFish(FishComplete):
    """Fish shows a word about each name, and click's script would end that word at its first comma."""

    def source(self) -> str:
        """The script, in which a line has two parts."""
        return super().source().replace('string split ","', 'string split --max 1 ","')


add_completion_class(ColonBash)
add_completion_class(WholeFish)
