"""What the shell that started the program claims (OSC 133), and a progress bar (OSC 9;4)."""

from __future__ import annotations

from stallkit.detect.families import SHELLS
from stallkit.detect.signature import State
from stallkit.evidence.claim import Claim, Sign, Source, Weight
from stallkit.evidence.look import Look
from stallkit.evidence.reports import bar, shows_work

__all__ = ["progress_claim", "shell_claim"]


def shell_claim(look: Look) -> Claim | None:
    """That the shell runs a command, or awaits one: where it is in the foreground, since any program can print that.

    Where an agent was and a shell is at its line editor, the agent said the former and is gone.
    """
    marks, foreground = look.snapshot.marks, look.snapshot.foreground
    if marks is None:
        return None
    if marks.shell == "running" and not (look.facts.edits_commands and look.agent_seen is not None):
        return Claim(Source.SHELL, Sign.RUNNING, State.WORKING, why=("but the shell runs a command (OSC 133)",))
    if marks.shell == "typing" and foreground in SHELLS:
        why = f"{foreground} awaits a command (OSC 133)"
        return Claim(Source.SHELL, Sign.AWAITS, State.ENDED, weight=Weight.SIGN, why=(why,))
    return None


def progress_claim(look: Look) -> Claim | None:
    """That the program shows progress."""
    marks = look.snapshot.marks
    if marks is None or not shows_work(marks):
        return None
    return Claim(Source.PROGRESS, Sign.BAR, State.WORKING, weight=Weight.SIGN, why=(f"but {bar(marks)} (OSC 9;4)",))
