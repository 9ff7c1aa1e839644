"""The commands that the lab brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet(
    {
        "demo": ("stallkit_lab.demo", "see it work on real programs, in ten seconds"),
        "eval": ("stallkit_lab.cli.eval_command", "count how right the packs are on labelled screens"),
        "record": ("stallkit_lab.cli.record_commands", "record a command, or a tmux pane, and play it"),
    },
    {
        "pack add": "stallkit_lab.add_signature:add_command",
        "pack capture": "stallkit_lab.capture:capture_command",
        "pack lint": "stallkit_lab.cli.lint_command:lint_command",
        "pack matrix": "stallkit_lab.matrix:matrix_command",
        "pack new": "stallkit_lab.new_pack:new_command",
        "pack remove": "stallkit_lab.remove_signature:remove_command",
        "pack show": "stallkit_lab.portrait:show_command",
        "pack try": "stallkit_lab.try_pattern:try_command",
        "pack tune": "stallkit_lab.cli.tune_command:tune_command",
        "record replay": "stallkit_lab.record.replay:replay_command",
    },
    printed="stallkit_lab.printed:PRINTED",
)
