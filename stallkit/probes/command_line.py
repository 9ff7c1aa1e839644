"""What a shell or an interpreter runs, by its command line: a script, or what whoever types says.  Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath
from typing import Iterator

from stallkit.detect.families import INTERPRETERS, SHELLS
from stallkit.evidence.facts import plain

__all__ = ["HARMLESS", "script_in", "script_path", "takes_commands"]

_POSIX = frozenset({"ash", "bash", "busybox", "dash", "ksh", "mksh", "sh", "zsh"})
_FLAGS = frozenset("abefhklmnpruvxBEHPT")  # they take no value, and leave a script a script
_VALUES = frozenset({"--init-file", "--rcfile", "-O", "+O", "-o", "+o"})
_REPLS = frozenset({"bun", "deno", "node", "php", "python"})
_REPL_VALUES = frozenset({"-C", "-W", "-X", "-r", "--conditions", "--import", "--require"})
_WITH_VALUE = re.compile(r"--[^=]+=.*")  # options that bring their value along
_ALONE = re.compile(r"-[BEIOPRSbdsuvx]+")  # Python's without a value, which a script's first row may have
# Options of Node.js that load and run nothing else than the script.
HARMLESS = re.compile(
    r"--(?:max-(?:old|semi)-space-size=\d+|stack-size=\d+|no-warnings|no-deprecation|enable-source-maps)"
)
_TYPED = ("/dev/", "/proc/")  # a script that is a terminal, or may be one


@lru_cache(maxsize=4096)  # a process has one command line, and is looked at every second
def takes_commands(words: tuple[str, ...], names: frozenset[str]) -> bool | None:
    """Whether a shell or interpreter with this command line reads commands; None for other programs, or unknown.

    Known as False only where a script, or a command as an argument, stands there, in a form that is understood.

    >>> bash, python = frozenset({"bash"}), frozenset({"python"})
    >>> takes_commands(("bash", "-c", "read -n1"), bash), takes_commands(("-bash",), bash)
    (False, True)
    >>> takes_commands(("bash", "-o", "vi"), bash), takes_commands(("python3", "ask.py"), python)
    (True, False)
    """
    if not words:
        return None
    shell = SHELLS.intersection(names)
    if not shell:
        return not _has_program(iter(words[1:])) if plain(words[0].rpartition("/")[2]) in _REPLS else None
    arguments, called = list(words[1:]), plain(words[0].removeprefix("-").rpartition("/")[2])
    if called not in SHELLS:  # a shell in Python is what the interpreter runs
        return True
    if called == "busybox":
        arguments = arguments[1:]
    if not _POSIX.isdisjoint(shell):
        return not _has_script(iter(arguments))
    first = arguments[0] if arguments else ""  # fish, csh, nu, pwsh, ...: only the plainest form is understood
    return first != "-c" and (first.startswith("-") or not _is_script(first))


@lru_cache(maxsize=4096)
def script_in(words: tuple[str, ...]) -> str:
    """The name of the script in an interpreter's command line, without its suffix; or "".

    >>> script_in(("node", "--max-old-space-size=4096", "/usr/bin/acme")), script_in(("bash", "acme"))
    ('acme', '')
    """
    called = PurePath(words[0]).name.rstrip("0123456789.") if words else ""
    return PurePath(script_path(words, alone=False)).stem if called in INTERPRETERS else ""


@lru_cache(maxsize=4096)
def script_path(words: tuple[str, ...], *, alone: bool = True) -> str:
    """The script in the command line of an interpreter or a shell, as it is written there; or "".

    `alone`: none where an option may have it run something else, before the script or in its place.

    >>> script_path(("node", "/usr/lib/acme/cli.js")), script_path(("bash", "-c", "read")), script_path(("acme",))
    ('/usr/lib/acme/cli.js', '', '')
    """
    called = plain(PurePath(words[0].removeprefix("-")).name) if words else ""
    if called not in INTERPRETERS | SHELLS:
        return ""
    first = next((word for word in words[1:] if word), "")
    options = _ALONE if called == "python" else HARMLESS if alone else _WITH_VALUE
    while options.fullmatch(first):
        words = words[1:]
        first = next((word for word in words[1:] if word), "")
    return "" if first.startswith(("-", "+", *_TYPED)) else first


def _has_script(arguments: Iterator[str]) -> bool:
    for word in arguments:
        if word in ("-", "--"):
            return _is_script(next(arguments, ""))
        if not word.startswith(("-", "+")):
            return _is_script(word)
        if word in _VALUES:
            next(arguments, None)
        elif word.startswith("--"):
            if word not in ("--norc", "--noprofile", "--posix", "--login", "--restricted", "--verbose"):
                return False
        elif word.startswith("-") and "c" in word:
            return _FLAGS.issuperset(word[1:].replace("c", "")) and next(arguments, None) is not None
        elif not _FLAGS.issuperset(word[1:]):
            return False
    return False


def _has_program(arguments: Iterator[str]) -> bool:
    for word in arguments:
        if word in _REPL_VALUES:
            next(arguments, None)
        elif not word.startswith("-"):
            return _is_script(word)
        elif ("i" in word and not word.startswith("--")) or word == "--interactive":
            return False
    return False


def _is_script(word: str) -> bool:
    return bool(word) and not word.startswith(_TYPED)
