"""The command that stallkit-wrap brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet({"wrap": ("stallkit_wrap.wrap_command", "run a command here, and report its status")})
