"""What a prompt asks, as a policy needs to know it: is it wholly understood, and how grave is an answer?  Pure.

A program's own dialog is understood where every row of it is recognised.  A prompt that any program may show, such as
"Continue? [y/N]", says little by itself: the rows above it are read as well, from where the screen's text begins.
"""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path, PurePath
from typing import Sequence

from attrs import evolve, frozen

from stallkit.core import late
from stallkit.core.consequences import consequence, is_shell_line
from stallkit.core.ended_turn import EndedTurn
from stallkit.core.evidence import speaks_of_secret
from stallkit.core.reading import Reading, begins_in_sight
from stallkit.core.request import Request
from stallkit.core.screen import Screen
from stallkit.core.signature import Certainty, Kind, Pack, Severity, Signature, State
from stallkit.core.verdict import Ended, Verdict

__all__ = ["Asked", "ambiguity"]

_RIGHT_ABOVE = 5  # rows: what a question of usual length wraps to in a narrow terminal
_QUESTION = late.compile(r"\? +[^\s(\[]")  # in the middle of a row, or at its beginning as libraries mark theirs


@frozen
class Asked:
    """A verdict as a policy decides on it: its certainty is that of screen and kernel, without signals.

    `ambiguity` is why the prompt is not wholly understood, None where it is.
    """

    state: State
    certainty: Certainty
    kind: Kind | None
    reasons: tuple[str, ...]
    pack: Pack | None = None
    signature: Signature | None = None
    severity: Severity | None = None
    ambiguity: str | None = None
    request: Request | None = None
    turn: EndedTurn | None = None
    ended: Ended | None = None

    @classmethod
    def of(cls, verdict: Verdict | Asked) -> Asked:
        """What is asked by the verdict on a look."""
        if isinstance(verdict, Asked):
            return verdict
        certainty = Certainty.SURE if verdict.sure_by_screen else Certainty.MAYBE
        known = cls(
            verdict.state, certainty, verdict.kind, verdict.reasons, turn=verdict.ended_turn, ended=verdict.ended
        )
        match = verdict.match
        if match is None:
            return known
        severity, doubt = _severity(verdict), ambiguity(verdict)
        known = evolve(known, pack=match.pack, signature=match.signature, request=verdict.request)
        return evolve(known, severity=severity, ambiguity=doubt)

    @property
    def name(self) -> str | None:
        """``pack:signature``, None where no signature matched."""
        return f"{self.pack.name}:{self.signature.id}" if self.pack and self.signature else None

    def untrusted(self, trusted: Sequence[str]) -> str | None:
        """The reason why a question whether a folder is trusted is left to a person; None for another prompt.

        `trusted` are the folders that the operator named: each, and what is in it.
        """
        if self.signature is None or self.signature.kind is not Kind.TRUST:
            return None
        folders = self.request.paths("folder") if self.request else ()
        if not folders:
            return "it does not show which folder is to be trusted"
        named = [path for one in trusted if (path := _absolute(one))]
        for folder in folders:
            shown = _absolute(folder)
            if shown is None or not any(shown.is_relative_to(one) for one in named):
                return f"no operator named {folder} as trusted"
        return None


def ambiguity(verdict: Verdict) -> str | None:
    """The reason why the prompt is not wholly understood; None where it is."""
    match, reading = verdict.match, verdict.detection.reading
    if match is None or reading is None:
        return "its signature does not describe the whole dialog"
    if not reading.whole:
        return f"not wholly recognised: {reading.doubt}"
    if match.pack.foreground:
        return None
    screen = verdict.detection.screen
    if screen.gone_above is None and not screen.read_later and not begins_in_sight(screen):
        return "the beginning of the text above it is out of sight"
    if _asked_above(reading, screen):
        return "another question stands right above it, and this may be the rest of it"
    if screen.painted:
        return "words may be drawn on its rows with colours"
    text = _above(screen) + _down_to(reading, screen)
    return consequence(text) or ("it speaks of a secret" if speaks_of_secret(text) else None)


def _severity(verdict: Verdict) -> Severity | None:
    """What a wrong answer could cost: the signature's severity, and medium at least below somebody else's text.

    That text, which only matters to prompts that any program may show, is all but a shell's own lines.
    """
    match, reading = verdict.match, verdict.detection.reading
    if match is None:
        return None
    given = match.signature.severity
    if given is not Severity.LOW or match.pack.foreground or reading is None:
        return given
    screen = verdict.detection.screen
    above = (*(screen.gone_above or "").split("\n"), *screen.lines[: reading.first])
    return given if all(not line.strip() or is_shell_line(line) for line in above) else Severity.MEDIUM


def _absolute(folder: str) -> PurePath | None:
    """The folder as an absolute path; None for one that is none, or that leads upwards."""
    try:
        path = Path(folder).expanduser()
    except RuntimeError:  # the home of an unknown user
        return None
    return path if path.is_absolute() and ".." not in path.parts else None


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
