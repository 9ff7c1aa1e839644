"""Whether a shell runs a script, by its command line: doubt means that somebody types there."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from stallkit.evidence.facts import names_of, plain
from stallkit.probes.procfs import takes_commands


def takes(line: str) -> bool | None:
    words = shlex.split(line)
    return takes_commands(tuple(words), frozenset({plain(words[0].removeprefix("-").rpartition("/")[2])}))


SCRIPTS = [
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
]
TYPED_AT = [
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
]


def test_a_script_somebody_who_types_and_any_other_program_are_told_apart() -> None:
    assert [line for line in SCRIPTS if takes(line) is not False] == []
    assert [line for line in TYPED_AT if takes(line) is not True] == []
    assert [line for line in ("installer -i", "vim ask.sh", "npm install") if takes(line) is not None] == []
    assert takes_commands((), frozenset({"bash"})) is None
    assert takes_commands(("rm", "-i", "x"), names_of("rm", "rm", "busybox")) is None
    assert takes_commands(("python3", "/usr/bin/xonsh"), frozenset({"xonsh", "python"})) is True


@given(st.lists(st.sampled_from(["-o", "+O", "--rcfile", "-i", "-x", "--norc", "-l"]), max_size=4))
def test_a_shell_without_an_operand_has_no_script(options: list[str]) -> None:
    assert takes_commands(("bash", *options), frozenset({"bash"})) is True
