"""The commands that the fleet brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet(
    {"fleet": ("stallkit_fleet.cli.fleet_commands", "one list, one queue, one policy for many machines")},
    printed="stallkit_fleet.printed:PRINTED",
    offers={
        "settings": "stallkit_fleet.settings:Settings",
        "fleet_link": "stallkit_fleet.settings:linked",
        "fleet_desk": "stallkit_fleet.desk:fleet_desk",
    },
)
