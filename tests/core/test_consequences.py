"""What speaks against a key, in the languages that are known and in disguise; and what does not."""

from __future__ import annotations

import pytest
from core.consequence_sentences import NO_ZERO_COUNTS, WITH_CONSEQUENCE, WITHOUT, ZERO_COUNTS

from stallkit.core.consequences import consequence, is_shell_line

SHELL = [
    "user@host:~/x$ ./setup.sh",
    "[root@box ~]# make",
    "$ ./x",
    "bash-5.2$ ",
    "~/proj ❯ npm init",
    "➜  dir git:(main) ✗ cmd",
    "PS C:\\> x",
    "host% cmd",
    "dev@box:work$ read -p 'Press Enter to continue...'",
    "(venv) me@host:~$ pip install x",
    "root@3f2a:/# ",
    "me@host ~/src> make",
    "~/work $ ls",
    "C:\\Users\\ada> dir",
    "/home/dev/cases/here # gti status",
    "└─$ ls",
]
NO_SHELL = [
    "# Title",
    "## What is new",
    "$ 12.00",
    "$12",
    "100% done",
    "Progress: 40% complete",
    "INFO user@host connected",
    "2026-01-01 10:00:00 root@box: 3 files",
    "Continue? [y/N] ",
    "It costs 5 $ a month",
    "> quoted text",
    "All files in /home will be removed.",
    "",
    "  - item",
    "mail me at ada@example.org",
    "50% of all",
    "The price is in $ and it grows",
    "see C:\\ for more",
    "❯ 1. Yes",
    "❯ Name of the project · abc",
    "  $ an example, indented",
    "% of total",
    "➜ gemproj · git:(main) · fake-coder",
    "#",
]


@pytest.mark.parametrize("line", SHELL)
def test_a_shells_line_is_known(line: str) -> None:
    assert is_shell_line(line)


@pytest.mark.parametrize("line", NO_SHELL)
def test_other_lines_are_none(line: str) -> None:
    assert not is_shell_line(line)


@pytest.mark.parametrize("language", WITH_CONSEQUENCE)
def test_a_consequence_is_found(language: str) -> None:
    assert [text for text in WITH_CONSEQUENCE[language] if consequence(text) is None] == []


@pytest.mark.parametrize("text", WITHOUT)
def test_what_has_none_passes(text: str) -> None:
    assert consequence(text) is None


@pytest.mark.parametrize("text", ZERO_COUNTS)
def test_a_count_of_nothing_is_none(text: str) -> None:
    assert consequence(f"{text}\nContinue? [Y/n] ") is None


@pytest.mark.parametrize("text", NO_ZERO_COUNTS)
def test_a_count_of_something_is_one(text: str) -> None:
    assert consequence(f"{text}\nContinue? [Y/n] ") is not None
