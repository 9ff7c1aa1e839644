"""Whether a prompt is wholly understood, and how grave an answer is.  Pure.

A program's own dialog is understood where every row of it is recognised.  A prompt that any program may show, such as
"Continue? [y/N]", says little by itself: the rows above it are read as well, from where the screen's text begins.
"""

from __future__ import annotations

from itertools import takewhile

from stallkit.core import late
from stallkit.core.consequences import consequence, is_shell_line
from stallkit.core.engine import Detection
from stallkit.core.evidence import speaks_of_secret
from stallkit.core.reading import Reading, begins_in_sight
from stallkit.core.screen import Screen
from stallkit.core.signature import Severity

__all__ = ["ambiguity", "severity"]

_RIGHT_ABOVE = 5  # rows: what a question of usual length wraps to in a narrow terminal
_QUESTION = late.compile(r"\? +[^\s(\[]")  # in the middle of a row, or at its beginning as libraries mark theirs


def ambiguity(found: Detection) -> str | None:
    """The reason why the prompt is not wholly understood; None where it is."""
    match, reading = found.match, found.reading
    if match is None or reading is None:
        return "its signature does not describe the whole dialog"
    if not reading.whole:
        return f"not wholly recognised: {reading.doubt}"
    if match.pack.foreground:
        return None
    screen = found.screen
    if screen.gone_above is None and not screen.read_later and not begins_in_sight(screen):
        return "the beginning of the text above it is out of sight"
    if _asked_above(reading, screen):
        return "another question stands right above it, and this may be the rest of it"
    if screen.painted:
        return "words may be drawn on its rows with colours"
    text = _above(screen) + _down_to(reading, screen)
    return consequence(text) or ("it speaks of a secret" if speaks_of_secret(text) else None)


def severity(found: Detection) -> Severity | None:
    """What a wrong answer could cost: the signature's severity, and medium at least below somebody else's text.

    That text, which only matters to prompts that any program may show, is all but a shell's own lines.
    """
    match, reading = found.match, found.reading
    if match is None:
        return None
    given = match.signature.severity
    if given is not Severity.LOW or match.pack.foreground or reading is None:
        return given
    screen = found.screen
    above = (*(screen.gone_above or "").split("\n"), *screen.lines[: reading.first])
    return given if all(not line.strip() or is_shell_line(line) for line in above) else Severity.MEDIUM


def _asked_above(reading: Reading, screen: Screen) -> bool:
    """Whether another question begins in the rows right above the prompt, as where one wrapped, or was cut in two."""
    above = screen.lines[max(0, reading.first - _RIGHT_ABOVE) : reading.first]
    near = [*takewhile(str.strip, reversed(above))]
    return any(_QUESTION.search(row) for row in near)


def _above(screen: Screen) -> str:
    """The text that went out of sight above the screen, as far as it is known."""
    return f"{screen.gone_above}\n" if screen.gone_above else ""


def _down_to(reading: Reading, screen: Screen) -> str:
    """The text from the top of the screen to the prompt's last row."""
    return "\n".join(screen.lines[: reading.rows[-1].row + 1])
