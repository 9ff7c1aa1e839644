"""The commands that the supervisor brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet(
    {
        "report": ("stallkit_supervisor.cli.report_command", "say what happened to the watched sessions"),
        "status": ("stallkit_supervisor.cli.status_commands", "show what the watched sessions do"),
        "watch": ("stallkit_supervisor.cli.watch_commands", "watch sessions, answer what is allowed, report the rest"),
    },
    {
        "config notify": "stallkit_supervisor.cli.watch_commands:notify_command",
        "stuck mute": "stallkit_supervisor.cli.status_commands:mute_command",
        "stuck release": "stallkit_supervisor.cli.status_commands:release_command",
        "stuck unmute": "stallkit_supervisor.cli.status_commands:unmute_command",
    },
    printed="stallkit_supervisor.printed:PRINTED",
    offers={
        "run_events": "stallkit_supervisor.settings:chosen_for_run",
        "run_outlet": "stallkit_supervisor.settings:outlet_of_run",
        "settings": "stallkit_supervisor.settings:Settings",
    },
)
