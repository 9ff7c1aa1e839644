"""What --help says, of every command: its place, its width, an example, long names, and how help is reached."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Callable, Iterator, Sequence

import click
import pytest

from stallkit.cli import verb_group
from stallkit.cli.command_set import command_sets
from stallkit.cli.main import BROUGHT_BY, cli
from stallkit.cli.verb_group import GROUPS, OTHERS, dressed, grouped

COLUMNS = 80
NUMBERS = {"--tolerance", "--speed"}  # shares and factors, not times


def walk(ctx: click.Context) -> Iterator[click.Context]:
    yield ctx
    if isinstance(ctx.command, click.Group):
        for verb in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, verb)
            assert command is not None
            yield from walk(click.Context(dressed(command), info_name=verb, parent=ctx, max_content_width=COLUMNS))


ROOT = click.Context(dressed(cli), info_name="stallkit", **cli.context_settings)
ALL = [*walk(ROOT)]


def each(check: Callable[[click.Context], None]) -> Callable[[], None]:
    """A test that tries it on every command, and lists those at which it fails."""

    def tried() -> None:
        wrong = {}
        for ctx in ALL:
            try:
                check(ctx)
            except AssertionError as error:
                wrong[ctx.command_path] = str(error)
        assert not wrong

    return tried


def call(command: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command, *words], capture_output=True, text=True, check=False, timeout=60)


def ungrouped(verbs: Sequence[str]) -> list[str]:
    return [verb for title, group in grouped(verbs) if title == OTHERS for verb in group]


def test_every_verb_has_a_group() -> None:
    assert ungrouped(cli.list_commands(ROOT)) == [], "name it in stallkit.cli.verb_group.GROUPS"
    names = [verb for group in GROUPS.values() for verb in group]
    assert len(names) == len(set(names)) <= 25, "what a person meets first has to be few"


def test_a_verb_without_a_group_is_noticed_and_listed() -> None:
    assert ungrouped(["check", "fly"]) == ["fly"]


@each
def test_help_fits_eighty_columns(ctx: click.Context) -> None:
    wide = [line for line in ctx.get_help().splitlines() if len(line) > COLUMNS]
    assert wide == []


@each
def test_no_summary_is_cut(ctx: click.Context) -> None:
    if isinstance(ctx.command, click.Group):
        assert not re.search(r"^  .*\.\.\.$", ctx.get_help(), re.M)


@each
def test_each_has_an_example(ctx: click.Context) -> None:
    assert re.search(r"^\s*Examples?:", ctx.command.help or "", re.M)


@each
def test_each_says_its_exit_codes(ctx: click.Context) -> None:
    if not isinstance(ctx.command, click.Group):
        assert "Exit codes" in (ctx.command.help or "")


def has_long_forms(ctx: click.Context) -> None:
    for param in ctx.command.get_params(ctx):
        if isinstance(param, click.Option):
            assert any(name.startswith("--") for name in param.opts), param.opts


test_each_short_option_has_a_long_form = each(has_long_forms)


@each
def test_each_has_the_options_of_all(ctx: click.Context) -> None:
    names = {name for param in ctx.command.get_params(ctx) for name in param.opts}
    assert {"--quiet", "-q", "--no-color", "--help", "-h"} <= names


@each
def test_each_time_takes_a_unit(ctx: click.Context) -> None:
    floats = [param for param in ctx.command.params if isinstance(param.type, click.types.FloatParamType)]
    assert {name for param in floats for name in param.opts} <= NUMBERS


def test_a_short_option_alone_would_be_noticed() -> None:
    lonely = click.Command("x", params=[click.Option(["-x"])])
    with pytest.raises(AssertionError):
        has_long_forms(click.Context(lonely))


def test_help_of_a_command_is_what_its_option_says(stallkit_command: str) -> None:
    for words in ([], ["check"], ["stuck", "reply"]):
        asked, given = call(stallkit_command, "help", *words), call(stallkit_command, *words, "--help")
        assert asked.returncode == given.returncode == 0
        assert asked.stdout == given.stdout and asked.stdout.startswith("Usage: stallkit")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["chekc"], "stallkit: no command 'chekc', did you mean 'check'?; stallkit --help lists all\n"),
        (["help", "chekc"], "stallkit help: no command 'chekc', did you mean 'check'?; stallkit --help lists all\n"),
        (
            ["stuck", "lsit"],
            "stallkit stuck: no command 'lsit', did you mean 'list'?; stallkit stuck --help lists all\n",
        ),
        (["zzz"], "stallkit: no command 'zzz'; stallkit --help lists all\n"),
    ],
    ids=" ".join,
)
def test_a_mistyped_verb(stallkit_command: str, words: list[str], told: str) -> None:
    done = call(stallkit_command, *words)
    assert (done.returncode, done.stdout, done.stderr) == (64, "", told)


def test_a_mistake_is_one_line(stallkit_command: str) -> None:
    for words in (["check"], ["check", "--jsno", "x"], ["run"], ["stop", "--grace", "3y", "x"], ["eval", "/nope"]):
        done = call(stallkit_command, *words)
        assert done.returncode == 64 and done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith(f"stallkit {words[0]}: ") and f"see stallkit {words[0]} --help" in done.stderr


def test_codes_are_folded_between_words() -> None:
    line = "Exit codes: 0 " + "a word " * 20 + "; 1 not\n" + " " * 12 + "2 perhaps"
    folded = verb_group._folded(f"What.\n\n\b\n{line}\nExample:    stallkit x\n            stallkit y").splitlines()
    assert max(map(len, folded)) <= 76 and folded[-2:] == ["Example:    stallkit x", "            stallkit y"]
    assert " ".join(" ".join(folded[3:-2]).split()) == " ".join(line.split())


# --- commands of other distributions ---


def without_apps(*words: str) -> subprocess.CompletedProcess[str]:
    """The command line as it is if no other distribution brings a command."""
    code = """
import stallkit.distributions
stallkit.distributions.entry_points = lambda group: []
from stallkit.cli.main import main
main()
"""
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


def test_a_command_that_is_not_installed_names_its_distribution() -> None:
    for words, named, by in (
        (("pack", "lint", "--all"), "pack lint", "stallkit-lab"),
        (("eval", "x"), "eval", "stallkit-lab"),
        (("stuck", "list"), "stuck", "stallkit-operator"),
    ):
        missing = without_apps(*words)
        assert missing.returncode == 64
        why = f"{named} is a command of {by}, which is not installed; pip install {by}"
        assert missing.stderr == f"stallkit: {why}; see stallkit --help\n"
    help = without_apps("--help")
    assert help.returncode == 0 and "  check " in help.stdout and "  eval " not in help.stdout
    assert "no pack is installed" in without_apps("pack", "list").stderr


def test_each_command_of_an_app_is_known_to_the_library() -> None:
    installed = {verb for one in command_sets() for verb in (*one.verbs, *one.below)}
    assert installed and installed == {verb for verbs in BROUGHT_BY.values() for verb in verbs}


# The modules of the extras that a command may use.
EXTRAS = {
    "ahocorasick_rs",
    "apprise",
    "deno",
    "distributed",
    "jeepney",
    "mcp",
    "opentelemetry",
    "pexpect",
    "prometheus_client",
    "pyghostty",
}
EXTRAS |= {"redos_linter", "starlette", "textual", "uvicorn"}


def test_each_command_shows_its_help_without_the_extras() -> None:
    """What needs an extra is imported when it is used: manual pages are made where none is installed."""
    code = f"""
import sys
sys.modules |= dict.fromkeys({sorted(EXTRAS)!r})
from stallkit.cli.manual import pages
from stallkit.cli.command_set import command_sets
from stallkit.cli.main import OWN
print(sum(1 for one in (OWN, *command_sets()) for _ in pages("", one)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr.splitlines()[-1]
    assert int(done.stdout) > 70
