"""What the program, and the shell that started it, report of themselves: it corrects the screen and the kernel.

All of it comes from the same stream as the screen, so a program that prints a fake prompt can print the marks as well:
none of it removes a doubt about a prompt on the screen.
"""

from __future__ import annotations

from stallkit.core.facts import SHELLS
from stallkit.core.marks import Marks
from stallkit.core.signature import Certainty, Kind, State, Tier
from stallkit.core.status import Status, StatusKind, StatusState
from stallkit.core.verdict import Verdict

__all__ = ["by_marks", "reported"]

# From a program's own report (OSC 7501): what the session is doing, and what it waits for.
_REPORTED = {
    StatusState.BLOCKED: State.WAITING,
    StatusState.WORKING: State.WORKING,
    StatusState.IDLE: State.IDLE,
    StatusState.DONE: State.IDLE,
    StatusState.ERROR: State.IDLE,
}
_KIND_REPORTED = {
    StatusKind.PERMISSION: Kind.PERMISSION,
    StatusKind.QUESTION: Kind.QUESTION,
    StatusKind.AUTH: Kind.LOGIN,
}
_OUTLIVE = (StatusState.IDLE, StatusState.DONE, StatusState.ERROR)  # these records outlive their program
_SHELL = {
    "prompt": ("the shell draws its prompt", "ended"),
    "typing": ("the shell awaits a command", "ended"),
    "running": ("the shell runs a command", "that the program is still there"),
}


def reported(marks: Marks | None) -> list[tuple[str, str]]:
    """Each mark in words, and what it argues for; unknown marks are listed as unknown."""
    status = marks.strongest if marks else None
    rows = [(f"OSC 7501: {status.state if status else 'none'}", _REPORTED[status.state] if status else "nothing")]
    if marks is not None and marks.shell is not None:
        doing, argues_for = _SHELL[marks.shell]
        rows.append((f"{doing} (OSC 133)", argues_for))
    if marks is not None and marks.progress is not None:
        rows.append((f"{_bar(marks)} (OSC 9;4)", "working" if _works(marks) else "nothing"))
    return rows


def by_marks(verdict: Verdict, marks: Marks | None, foreground: str | None) -> Verdict:
    """The verdict, corrected by the program's report first, else by its progress bar and the shell's marks."""
    if marks is None:
        return verdict
    if marks.strongest is not None:
        return _by_report(verdict, marks.strongest)
    if marks.shell == "running" and verdict.state is State.ENDED:
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


def _by_report(verdict: Verdict, status: Status) -> Verdict:
    """*blocked* means waiting; all other reports rank below a dialog and a usage limit.

    At a shell's prompt, or on a stopped terminal, a report is stale, and only makes the verdict doubtful.
    """
    who = "a relay around the program says" if status.judged else "the program reports"
    report = f"{who} {status.state} (OSC 7501)" + (f": {status.msg}" if status.msg else "")
    state = _REPORTED[status.state]
    signature = verdict.match.signature if verdict.match else None
    if verdict.state in (State.ENDED, State.UNKNOWN):
        return verdict if status.state in _OUTLIVE else verdict.but(f"but {report}", certainty=Certainty.MAYBE)
    if state is State.WAITING:
        seen = signature is not None and signature.state is State.WAITING
        asked = _KIND_REPORTED[status.kind] if status.kind else None
        kind = verdict.kind if seen or asked is None else asked
        return verdict.but(report, state=state, certainty=verdict.certainty if seen else Certainty.SURE, kind=kind)
    if signature is not None and signature.tier in (Tier.DIALOG, Tier.QUOTA) and verdict.state is signature.state:
        return verdict.but(report)
    return verdict.but(report, state=state, certainty=Certainty.SURE, kind=None)
