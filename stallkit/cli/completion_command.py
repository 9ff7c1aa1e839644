"""``stallkit config completion``: the script by which a shell completes commands, options and names.

bash and fish ask in click's own ways, with what these shells do to a colon and a comma.
"""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

# --- the shells ---


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


# --- the command ---


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell: commands, options, targets, sessions, packs, signatures, policies.

    The shell asks stallkit at each press of Tab, so the script never gets old.

    \b
    Exit codes: 0 printed.
    Example:    eval "$(stallkit config completion bash)"     # in ~/.bashrc
                eval "$(stallkit config completion zsh)"      # below compinit
                stallkit config completion fish | source      # in config.fish
    """
    kind = ColonBash if shell == "bash" else get_completion_class(shell)
    assert kind is not None  # click has one for each of the three
    root = ctx.find_root()
    click.echo(kind(root.command, {}, "stallkit", "_STALLKIT_COMPLETE").source())
