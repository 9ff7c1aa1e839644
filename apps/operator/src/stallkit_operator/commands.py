"""The commands that the operator's app brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet(
    {
        "audit": ("stallkit_operator.cli.audit_commands", "show what persons changed, and prove that it is all there"),
        "dashboard": ("stallkit_operator.cli.dashboard_command", "sessions, sandboxes and the queue on one screen"),
        "egress": ("stallkit_operator.cli.remedy_commands", "edit which hosts a sandbox reaches"),
        "pipelock": ("stallkit_operator.cli.remedy_commands", "the same as egress"),
        "routes": ("stallkit_operator.cli.remedy_commands", "edit what a sandbox reaches with credentials"),
        "sandbox": ("stallkit_operator.cli.sandbox_commands", "make a sandbox for an agent, with its proxies"),
        "serve": ("stallkit_operator.cli.serve_commands", "answer programs in other languages: JSON-RPC, HTTP, MCP"),
        "stuck": ("stallkit_operator.cli.stuck_commands", "answer what sessions and agents ask of a person"),
    },
    printed="stallkit_operator.printed:PRINTED",
    offers={
        "escalations": "stallkit_operator.queue_sync:opened",
        "start_manifest": "stallkit_operator.cli.sandbox_commands:start_from",
    },
)
