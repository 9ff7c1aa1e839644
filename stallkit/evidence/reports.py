"""What the shell that started the program, and a progress bar, say of it, in words.

All of it comes from the same stream as the screen, so a program that prints a fake prompt can print the marks as well:
none of it removes a doubt about a prompt on the screen.
"""

from __future__ import annotations

from stallkit.terminal.marks import Marks

__all__ = ["bar", "reported", "shows_work"]

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
        rows.append((f"{bar(marks)} (OSC 9;4)", "working" if shows_work(marks) else "nothing"))
    return rows


def shows_work(marks: Marks) -> bool:
    """Whether a progress bar says that the program works."""
    return marks.progress is not None and marks.progress.state in ("normal", "busy")


def bar(marks: Marks) -> str:
    """The progress bar, in words."""
    assert marks.progress is not None  # the callers checked
    value = "" if marks.progress.value is None else f" {marks.progress.value} %"
    return f"the program shows progress: {marks.progress.state}{value}"
