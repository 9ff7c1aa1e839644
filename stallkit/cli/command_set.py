"""The commands that a distribution brings.

A distribution names its set in its pyproject.toml:

    [project.entry-points."stallkit.commands"]
    lab = "stallkit_lab.commands:COMMANDS"
"""

from __future__ import annotations

from importlib import import_module
from typing import Mapping

import click
from attrs import field, frozen

from stallkit.distributions import brought


@frozen
class CommandSet:
    """What a distribution adds to the command line.  Nothing but this is imported before one of its verbs is called.

    >>> CommandSet({"hello": ("acme.hello_command", "greet a session")}).verbs["hello"][1]
    'greet a session'
    """

    verbs: Mapping[str, tuple[str, str]]  # the module with VERB_command, and what --help says of it in a row
    printed: str | None = None  # module:name of what these verbs print with --json, a `printed_json.Printed`
    offers: Mapping[str, str] = field(factory=dict)  # module:name of what other distributions use if it is there

    def command(self, verb: str) -> click.Command:
        """The command of this verb.  Raises whatever the import of its module raises."""
        found: click.Command = getattr(import_module(self.verbs[verb][0]), f"{verb.replace('-', '_')}_command")
        return found


def command_sets() -> tuple[CommandSet, ...]:
    """Those of the installed distributions, without stallkit's own."""
    return tuple(one for one in brought() if isinstance(one, CommandSet))
