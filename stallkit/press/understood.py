"""Is what a prompt asks wholly understood?  What speaks against a machine's answer, and how grave one is.  Pure.

A program's own dialog is understood where every row of it is recognised.  A prompt that any program may show, such as
"Continue? [y/N]", says little by itself: the rows above it are read as well, from where the screen's text begins.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Sequence

from stallkit.core.consequences import consequence, is_shell_line
from stallkit.core.reading import Reading, begins_in_sight
from stallkit.core.screen import Screen
from stallkit.core.signature import Kind, Severity
from stallkit.core.verdict import Verdict

__all__ = ["ambiguity", "severity_of", "untrusted"]


def ambiguity(verdict: Verdict) -> str | None:
    """The reason why the prompt is not wholly understood; None where it is."""
    match, reading = verdict.match, verdict.detection.reading
    if match is None or reading is None:
        return "its signature does not describe the whole dialog"
    if not reading.whole:
        return f"not wholly recognised: {reading.doubt}"
    if match.pack.foreground:
        return None
    if not begins_in_sight(verdict.detection.screen):
        return "the beginning of the text above it is out of sight"
    return consequence(_down_to(reading, verdict.detection.screen))


def severity_of(verdict: Verdict) -> Severity:
    """What a wrong answer could cost: the signature's severity, and medium at least below somebody else's text.

    That text, which only matters to prompts that any program may show, is all but a shell's own lines.
    """
    match, reading = verdict.match, verdict.detection.reading
    assert match is not None  # only a match has a severity
    given = match.signature.severity
    if given is not Severity.LOW or match.pack.foreground or reading is None:
        return given
    above = verdict.detection.screen.lines[: reading.first]
    return given if all(not line.strip() or is_shell_line(line) for line in above) else Severity.MEDIUM


def untrusted(verdict: Verdict, trusted: Sequence[str]) -> str | None:
    """The reason why an agent's question whether a folder is trusted is left to a person; None for another prompt.

    `trusted` are the folders that the operator named: each, and what is in it.
    """
    if verdict.match is None or verdict.match.signature.kind is not Kind.TRUST:
        return None
    reading = verdict.detection.reading
    folder = reading.fields.get("folder", "") if reading else ""
    if not folder:
        return "it does not show which folder is to be trusted"
    shown = _absolute(folder)
    if shown is not None and any(shown.is_relative_to(named) for one in trusted if (named := _absolute(one))):
        return None
    return f"no operator named {folder} as trusted"


def _absolute(folder: str) -> PurePath | None:
    """The folder as an absolute path; None for one that is none, or that leads upwards."""
    try:
        path = Path(folder).expanduser()
    except RuntimeError:  # the home of an unknown user
        return None
    return path if path.is_absolute() and ".." not in path.parts else None


def _down_to(reading: Reading, screen: Screen) -> str:
    """The text from the top of the screen to the prompt's last row."""
    return "\n".join(screen.lines[: reading.rows[-1].row + 1])
