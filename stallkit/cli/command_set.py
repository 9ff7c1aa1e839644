"""The commands that a distribution brings: those of stallkit itself, and of each that the entry points name.

A distribution names its set in its pyproject.toml:

    [project.entry-points."stallkit.commands"]
    lab = "stallkit_lab.commands:COMMANDS"
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Mapping

import click
from attrs import frozen

from stallkit.cli.json_shapes import Printed
from stallkit.entry_points import entry_points

__all__ = ["GROUP", "CommandSet", "brought"]

GROUP = "stallkit.commands"


@frozen
class CommandSet:
    """What a distribution adds to the command line.  Nothing but this is imported before one of its verbs is called.

    >>> CommandSet({"hello": ("acme.hello_command", "greet a session")}).verbs["hello"][1]
    'greet a session'
    """

    verbs: Mapping[
        str, tuple[str, str]
    ]  # the module that has VERB_command, and what --help says in a row of 80 columns
    printed: str | None = None  # module:name of what these verbs print with --json, a `Printed`

    def command(self, verb: str) -> click.Command:
        """The command of this verb.  Raises whatever the import of its module raises."""
        found: click.Command = getattr(import_module(self.verbs[verb][0]), f"{verb.replace('-', '_')}_command")
        return found

    def shapes(self) -> Printed:
        """What its commands print with --json.  Raises whatever the import of its module raises."""
        if self.printed is None:
            return Printed()
        module, _, name = self.printed.partition(":")
        found: Printed = getattr(import_module(module), name)
        return found


@cache
def brought() -> tuple[CommandSet, ...]:
    """The sets of the installed distributions; one that cannot be loaded is named on standard error, and left out."""
    found = []
    for one in entry_points(GROUP):
        try:
            found.append(one.load())
        except Exception as error:
            print(
                f"stallkit: the commands of {one.distribution} are left out: {error}; install it again", file=sys.stderr
            )
    return tuple(found)
