"""Words of the version before do what they did, and say what they are called today."""

from __future__ import annotations

import subprocess
import sys

import click

from stallkit.cli.main import WORDS, cli

STALLKIT = [sys.executable, "-m", "stallkit"]


def said(*words: str) -> tuple[int, str]:
    done = subprocess.run([*STALLKIT, *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_an_old_word_does_what_todays_does() -> None:
    for old, today, option in (
        (("wait-ready", "nobody", "--timeout", "0.1"), ("wait", "nobody", "--timeout", "0.1"), "wait"),
        (("help", "wait-ready"), ("help", "wait"), "wait"),
        (("signature", "shell_yn:none"), ("pack", "show", "shell_yn:none"), "pack show"),
        (("stuck", "waivers", "--nothing"), ("sandbox", "waivers", "--nothing"), "sandbox waivers"),
        (("stuck", "answer", "1000", "2"), ("stuck", "reply", "1000", "2"), "stuck reply"),
        (("probe", "1", "--json"), ("explain", "--pid", "1", "--json"), "explain --pid"),
        (("incidents", "nobody"), ("report", "--incidents", "nobody"), "report --incidents"),
        (("postmortem", "nobody"), ("output", "--postmortem", "nobody"), "output --postmortem"),
        (("supervise", "--config", "none.toml"), ("watch", "--service", "--config", "none.toml"), "watch --service"),
        (("check", "nobody", "--hung-after=30"), ("check", "nobody", "--hang-timeout=30"), "--hang-timeout"),
        (("check", "nobody", "--watch-for", "0.1"), ("check", "nobody", "--for", "0.1"), "--for"),
    ):
        code, told = said(*old)
        note, _, rest = told.partition("\n")
        assert f"is called {option} now" in note and (code, rest) == said(*today), old


def test_each_old_word_has_one_of_today() -> None:
    top = click.Context(cli, info_name="stallkit")
    for old, new in WORDS.items():
        command: click.Command = cli
        for word in new.split():
            if word.startswith("-"):
                assert any(word in option.opts for option in command.params), old
            else:
                found = command.get_command(top, word) if isinstance(command, click.Group) else None
                assert found is not None, old
                command = found
        assert cli.get_command(top, old) is None, f"{old} is an old name, and is a command"


def test_what_stays_says_nothing() -> None:
    assert said("pipelock", "edit", "nobody") == said("sandbox", "egress", "edit", "nobody")
    assert said("stuck", "r", "1000", "x") == said("stuck", "reply", "1000", "x")


def test_a_word_that_is_no_option_there_stays_as_it_is() -> None:
    """Of a command that is started, of one that has no such option."""
    code, told = said("pack", "list", "--hung-after", "3")
    assert code == 64 and "no such option" in told.lower() and "is called" not in told
    code, told = said("run", "--", "echo", "--wait-ready", "wait-ready")
    assert code == 0 and "is called" not in told
