"""Is a text one simple command of a shell, with nothing that the shell would do besides running it?  Pure."""

from __future__ import annotations

import re
import shlex

__all__ = ["simple_command"]

# What a shell acts on: lists, pipes, jobs, redirections, substitutions, groups, history, comments, escapes, file name
# patterns, braces, a home directory, and what is cut off.  Quoted or not: a doubt is no match.
_ACTIVE = re.compile(r"[;&|<>$`(){}!#\\*?\[\]~…\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


def simple_command(text: str) -> str | None:
    """The command with its words quoted as the shell needs it; None where it is not one simple command.

    None as well for a command that sets a variable for itself, for one with letters that cannot be printed, and for one
    that is cut off.

    >>> simple_command("git   status -s")
    'git status -s'
    >>> simple_command("grep 'a b' notes.txt")
    "grep 'a b' notes.txt"
    >>> simple_command("git status; rm -rf ~") is None
    True
    """
    if not text.strip() or not text.isprintable() or _ACTIVE.search(text) or "..." in text:
        return None
    try:
        words = shlex.split(text)
    except ValueError:  # a quote is not closed
        return None
    if not words or not words[0] or _ASSIGNMENT.match(words[0]):
        return None
    return shlex.join(words)
