"""What the shell that started the program, and a progress bar, say of it: it corrects the screen and the kernel.

All of it comes from the same stream as the screen, so a program that prints a fake prompt can print the marks as well:
none of it removes a doubt about a prompt on the screen.
"""

from __future__ import annotations

from stallkit.core.facts import SHELLS
from stallkit.core.marks import Marks
from stallkit.core.signature import Certainty, State
from stallkit.core.verdict import Ended, Verdict

__all__ = ["by_marks", "reported"]

_SHELL = {
    "prompt": ("the shell draws its prompt", "ended"),
    "typing": ("the shell awaits a command", "ended"),
    "running": ("the shell runs a command", "that the program is still there"),
}


def reported(marks: Marks | None) -> list[tuple[str, str]]:
    """The shell's marks and the progress bar in words, and what each argues for."""
    rows = []
    if marks is not None and marks.shell is not None:
        doing, argues_for = _SHELL[marks.shell]
        rows.append((f"{doing} (OSC 133)", argues_for))
    if marks is not None and marks.progress is not None:
        rows.append((f"{_bar(marks)} (OSC 9;4)", "working" if _works(marks) else "nothing"))
    return rows


def by_marks(verdict: Verdict, marks: Marks | None, foreground: str | None, edits_commands: bool = False) -> Verdict:
    """The verdict, corrected by the progress bar and the shell's marks.

    `edits_commands`: a shell is known to be at its line editor.  An agent that is gone may have said that one runs.
    """
    if marks is None:
        return verdict
    stale = edits_commands and verdict.ended is Ended.AGENT
    if marks.shell == "running" and verdict.state is State.ENDED and not stale:
        return verdict.but("but the shell runs a command (OSC 133)", certainty=Certainty.MAYBE)
    if verdict.match is not None or verdict.certainty is Certainty.SURE:
        return verdict
    if marks.shell == "typing" and foreground in SHELLS:
        # A prompt without a signature; a program that fakes the marks is not a shell in the foreground.
        return verdict.but(f"{foreground} awaits a command (OSC 133)", state=State.ENDED, kind=None)
    if verdict.state is State.WAITING and _works(marks):
        return verdict.but(f"but {_bar(marks)} (OSC 9;4)", state=State.WORKING, kind=None)
    return verdict


def _works(marks: Marks) -> bool:
    return marks.progress is not None and marks.progress.state in ("normal", "busy")


def _bar(marks: Marks) -> str:
    assert marks.progress is not None  # the callers checked
    value = "" if marks.progress.value is None else f" {marks.progress.value} %"
    return f"the program shows progress: {marks.progress.state}{value}"
