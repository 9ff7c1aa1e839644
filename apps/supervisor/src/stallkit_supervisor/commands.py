"""The commands that the supervisor brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet(
    {
        "incidents": ("stallkit_supervisor.cli.status_commands", "list the latest incidents, newest last"),
        "mute": ("stallkit_supervisor.cli.status_commands", "tell nobody of a session for a while"),
        "notify": ("stallkit_supervisor.cli.watch_commands", "send a test notice to each place that is set"),
        "release": ("stallkit_supervisor.cli.status_commands", "help a session again that its limits halted"),
        "report": ("stallkit_supervisor.cli.report_command", "tell what happened to the watched sessions"),
        "status": ("stallkit_supervisor.cli.status_commands", "show what the watched sessions do"),
        "supervise": ("stallkit_supervisor.cli.watch_commands", "watch the sessions that a file names, as a service"),
        "unmute": ("stallkit_supervisor.cli.status_commands", "tell of a session again"),
        "watch": ("stallkit_supervisor.cli.watch_commands", "watch sessions, answer what is allowed, tell the rest"),
    },
    printed="stallkit_supervisor.printed:PRINTED",
    offers={
        "run_events": "stallkit_supervisor.settings:chosen_for_run",
        "run_outlet": "stallkit_supervisor.settings:outlet_of_run",
        "settings": "stallkit_supervisor.settings:Settings",
    },
)
