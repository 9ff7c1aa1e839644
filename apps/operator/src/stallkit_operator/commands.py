"""The commands that the operator's app brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet(
    {
        "dashboard": ("stallkit_operator.cli.dashboard_command", "sessions, sandboxes and the queue on one screen"),
        "sandbox": ("stallkit_operator.cli.sandbox_commands", "make sandboxes for agents, and change what they reach"),
        "serve": ("stallkit_operator.cli.serve_commands", "answer programs in other languages: JSON-RPC, HTTP, MCP"),
        "stuck": ("stallkit_operator.cli.stuck_commands", "list and answer what sessions and agents ask of you"),
    },
    printed="stallkit_operator.printed:PRINTED",
    offers={
        "escalations": "stallkit_operator.queue_sync:opened",
        "start_manifest": "stallkit_operator.cli.sandbox_commands:start_from",
    },
)
