"""One simple command, or none: whatever a shell would do besides running it is a doubt."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallkit.detect.signature import simple_command


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("git status", "git status"),
        ("  git   status  -s ", "git status -s"),
        ("grep -r 'two words' src", "grep -r 'two words' src"),
        ('echo "a b"', "echo 'a b'"),
        ("./run.sh --level=3", "./run.sh --level=3"),
    ],
)
def test_a_simple_command_is_one(text: str, command: str) -> None:
    assert simple_command(text) == command


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "git status; rm -rf ~", "git status && rm x", "git status | sh", "git status &", "git status > /etc/x",
        "git status < x", "git $(rm x)", "git `rm x`", "git $HOME", "git status\nrm x", "git {a,b}",
        "git status \\\nrm", "(git status)", "git status # rm",
        "!!", "GIT_PAGER=x git log", "A+=b git log", "git 'status", "rm *", "ls ?",
        "ls [ab]", "cd ~", "git status …", "git status ...", "git \x1b[8mrm", "git\u202e status", "git\ttatus", "'' x",
    ],
)  # fmt: skip
def test_a_doubt_is_none(text: str) -> None:
    assert simple_command(text) is None


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20))
def test_the_shell_sees_the_same_words(text: str) -> None:
    command = simple_command(f"printf {text}")
    if command is not None:
        asked = f'set -f; printf() {{ for word; do command printf "%s\\0" "$word"; done; }}; printf {text}'
        done = subprocess.run(["bash", "--norc", "-c", asked], check=False, capture_output=True, text=True)
        assert shlex.split(command)[1:] == done.stdout.split("\0")[:-1]
