"""The commands that the lab brings."""

from __future__ import annotations

from stallkit.cli.command_set import CommandSet

COMMANDS = CommandSet(
    {
        "add-signature": ("stallkit_lab.add_signature", "propose a signature from screens of the same prompt"),
        "capture": ("stallkit_lab.capture", "save the screen of a session as an example"),
        "demo": ("stallkit_lab.demo", "see it work on real programs, in half a minute"),
        "eval": ("stallkit_lab.cli.eval_command", "count how right the packs are on labelled screens"),
        "lint": ("stallkit_lab.cli.lint_command", "check a pack"),
        "mark": ("stallkit_lab.cli.record_commands", "mark what is true from now on in a recording that runs"),
        "matrix": ("stallkit_lab.matrix", "show what the packs recognise, program by program"),
        "new-pack": ("stallkit_lab.new_pack", "make the directory of a new pack"),
        "record": ("stallkit_lab.cli.record_commands", "record a command, or a tmux pane"),
        "remove-signature": ("stallkit_lab.remove_signature", "take a signature out of a pack, with its examples"),
        "replay": ("stallkit_lab.record.replay", "play a recording, and show how the verdict changed"),
        "signature": ("stallkit_lab.portrait", "show one signature, and how it fares"),
        "try": ("stallkit_lab.try_pattern", "try a pattern on screens before it is in a pack"),
        "tune": ("stallkit_lab.cli.tune_command", "try to drop or loosen each clause of a signature"),
    },
    printed="stallkit_lab.printed:PRINTED",
)
