"""The commands that a distribution brings.

A distribution names its set in its pyproject.toml:

    [project.entry-points."stallkit.commands"]
    lab = "stallkit_lab.commands:COMMANDS"
"""

from __future__ import annotations

from typing import Mapping

import click
from attrs import field, frozen

from stallkit.distributions import brought, named


@frozen
class CommandSet:
    """What a distribution adds to the command line.  Nothing but this is imported before one of its verbs is called.

    `below` adds verbs to a group, which may be another distribution's: ``pack hello``.

    >>> CommandSet({"hello": ("acme.hello_command", "greet a session")}).verbs["hello"][1]
    'greet a session'
    """

    verbs: Mapping[str, tuple[str, str]] = field(factory=dict)  # the module with VERB_command, and its row in --help
    below: Mapping[str, str] = field(factory=dict)  # by group and verb, module:name of the command
    printed: str | None = None  # module:name of what these verbs print with --json, a `printed_json.Printed`
    offers: Mapping[str, str] = field(factory=dict)  # module:name of what other distributions use if it is there

    def command(self, verb: str) -> click.Command:
        """The command of this verb.  Raises whatever the import of its module raises."""
        found: click.Command = named(f"{self.verbs[verb][0]}:{verb.replace('-', '_')}_command")
        return found


def command_sets() -> tuple[CommandSet, ...]:
    """Those of the installed distributions, without stallkit's own."""
    return tuple(one for one in brought() if isinstance(one, CommandSet))
