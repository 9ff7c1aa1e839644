"""Whether a shell runs a script, by its command line: doubt means that somebody types there."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.evidence.snapshot import names_of, plain
from stallkit.probes.procfs import takes_commands


def takes(line: str) -> bool | None:
    words = shlex.split(line)
    return takes_commands(tuple(words), frozenset({plain(words[0].removeprefix("-").rpartition("/")[2])}))


@pytest.mark.parametrize(
    "line",
    [
        "bash -c 'read x'",
        "/bin/bash ./ask.sh -i",
        "bash -eu -o pipefail ask.sh",
        "bash --norc --noprofile -c 'read x'",
        "sh -ec 'read x'",
        "dash -- ask.sh",
        "busybox sh ask.sh",
        "zsh -f ask.zsh",
        "fish ask.fish",
        "fish -c read",
        "python3 ask.py -i",
        "python3.11 -I -c 'input()'",
        "python3 -W error -m acme",
        "node -r ./hook ask.js",
        "node -e 'process.stdin'",
    ],
)
def test_a_script(line: str) -> None:
    assert takes(line) is False


@pytest.mark.parametrize(
    "line",
    [
        "bash",
        "-bash",
        "bash -i",
        "bash -ic 'read x'",
        "bash --norc -i",
        "bash -o vi",
        "bash --rcfile ask.sh",
        "bash --init-file ask.sh",
        "bash +O extglob",
        "bash -s x",
        "bash -c",
        "bash --",
        "bash /dev/stdin",
        "sh - /dev/tty",
        "busybox sh",
        "bash --unheard-of ask.sh",
        "zsh -Z ask.zsh",
        "fish -C 'echo hi'",
        "fish --init-command x",
        "pwsh -NoExit -File ask.ps1",
        "python3",
        "python3 -q",
        "python3 -i ask.py",
        "python3 -W error",
        "python3 -",
        "node",
        "node -r ./hook",
    ],
)
def test_somebody_types(line: str) -> None:
    assert takes(line) is True


def test_what_runs_a_shell_runs_no_script() -> None:
    assert takes_commands(("python3", "/usr/bin/xonsh"), frozenset({"xonsh", "python"})) is True
    assert takes_commands(("rm", "-i", "x"), names_of("rm", "rm", "busybox")) is None


@pytest.mark.parametrize("line", ["installer -i", "vim ask.sh", "npm install"])
def test_any_other_program(line: str) -> None:
    assert takes(line) is None
    assert takes_commands((), frozenset({"bash"})) is None


@given(st.lists(st.sampled_from(["-o", "+O", "--rcfile", "-i", "-x", "--norc", "-l"]), max_size=4))
def test_a_shell_without_an_operand_has_no_script(options: list[str]) -> None:
    assert takes_commands(("bash", *options), frozenset({"bash"})) is True
