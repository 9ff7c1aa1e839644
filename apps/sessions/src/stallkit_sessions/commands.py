"""The commands that the app of sessions brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet(
    {
        "attach": ("stallkit_sessions.cli.run_commands", "look at a run in the background, or answer it"),
        "list": ("stallkit_sessions.cli.session_commands", "list the sessions that stallkit started"),
        "output": ("stallkit_sessions.cli.session_commands", "print the last lines of a session, or how it ended"),
        "run": ("stallkit_sessions.cli.run_commands", "run a command until it ends or needs input"),
        "start": ("stallkit_sessions.cli.session_commands", "start a command in a tmux session, and record its end"),
        "stop": ("stallkit_sessions.cli.session_commands", "end sessions, and record how they ended"),
    },
    printed="stallkit_sessions.printed:PRINTED",
    offers={"sessions": "stallkit_sessions.cli.named_sessions:STARTED"},
)
