"""What a prompt asks, as a policy needs to know it.  Pure."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Mapping, Sequence

from attrs import evolve, field, frozen

from stallkit.detect.dialog_parser import Option
from stallkit.detect.menu import menu_of
from stallkit.detect.request import Request
from stallkit.detect.signature import Certainty, Kind, Pack, Severity, Signature, State
from stallkit.evidence.agents import Ended
from stallkit.evidence.ended_turn import EndedTurn
from stallkit.judging.verdict import Verdict
from stallkit.press.affirmative import affirmative
from stallkit.terminal.keys import Keys

__all__ = ["Asked"]


@frozen
class Asked:
    """A verdict as a policy decides on it: its certainty is that of screen and kernel, without signals.

    `ambiguity` is why the prompt is not wholly recognised, None if it is.  `programs` are the agents that packs know,
    each with the patterns of its executables.
    """

    state: State
    certainty: Certainty
    kind: Kind | None
    reasons: tuple[str, ...]
    pack: Pack | None = None
    signature: Signature | None = None
    ambiguity: str | None = None
    request: Request | None = None
    line: str = ""
    labels: tuple[str, ...] = ()  # of the options, of any menu whose rows can be read
    hides: bool = False  # a row of it has characters that show nothing, so that a label may be another one
    rows: tuple[str, ...] = ()  # of the screen, if any program may show this prompt
    turn: EndedTurn | None = None
    ended: Ended | None = None
    programs: Mapping[str, Sequence[str]] = field(factory=dict, repr=False, hash=False)

    @classmethod
    def of(cls, verdict: Verdict | Asked) -> Asked:
        """What is asked by the verdict on a look."""
        if isinstance(verdict, Asked):
            return verdict
        found, match = verdict.detection, verdict.match
        certainty = Certainty.SURE if verdict.sure_by_screen else Certainty.MAYBE
        known = cls(
            verdict.state,
            certainty,
            verdict.kind,
            verdict.reasons,
            turn=verdict.ended_turn,
            ended=verdict.ended,
            programs=found.executables,
        )
        if match is None:
            return known
        menu, reading = menu_of(found), found.reading
        rows = {row.row for row in reading.rows} if reading and reading.whole else set(range(len(found.screen.lines)))
        return evolve(
            known,
            pack=match.pack,
            signature=match.signature,
            ambiguity=found.ambiguity,
            request=verdict.request,
            line=match.line,
            labels=tuple(one.text for one in menu.options) if menu else (),
            hides=not found.screen.hiding.isdisjoint(rows),
            rows=() if match.pack.own else found.screen.lines,
        )

    @property
    def name(self) -> str | None:
        """``pack:signature``, None if no signature matched."""
        return f"{self.pack.name}:{self.signature.id}" if self.pack and self.signature else None

    @property
    def severity(self) -> Severity | None:
        """What a wrong answer could cost, as the signature says it."""
        return self.signature.severity if self.signature else None

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of a dialog that was wholly recognised."""
        return self.request.options if self.request else ()

    @property
    def keys(self) -> Keys | None:
        """The keys that answer it: those of its signature, a yes as the prompt itself spells it; None if unknown."""
        dismissal = self.signature.dismissal if self.signature else None
        if dismissal is None or not dismissal.affirmative:
            return dismissal.keys if dismissal else None
        word = affirmative(self.line)
        return Keys((*Keys.typed(word).sequence, *dismissal.keys.sequence[1:])) if word else None

    def untrusted(self, trusted: Sequence[str], cwd: str | None) -> str | None:
        """Why a question whether a folder is trusted is left to a person; None if an operator named the folder.

        `trusted` are the folders that the operator named: each, and what is in it.  `cwd` is the working directory of
        the process that asks, which has to be the folder on the screen, to the letter.
        """
        folders = self.request.paths("folder") if self.request else ()
        if not folders:
            return "it does not show which folder is to be trusted"
        if cwd is None or cwd not in folders:
            return f"it shows {folders[0]!r}, and runs in {cwd!r}" if cwd else "which folder it runs in is unknown"
        named = [path for one in trusted if (path := _absolute(one))]
        if any(PurePath(cwd).is_relative_to(one) for one in named):
            return None
        return f"no operator named {cwd} as trusted: add it to trust, in [policy] of the settings"


def _absolute(folder: str) -> PurePath | None:
    """The folder as an absolute path; None for one that is none, or that leads upwards."""
    try:
        path = Path(folder).expanduser()
    except RuntimeError:  # the home of an unknown user
        return None
    return path if path.is_absolute() and ".." not in path.parts else None
