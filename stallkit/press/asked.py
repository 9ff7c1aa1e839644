"""What a prompt asks, as a policy needs to know it: is it wholly understood, and how grave is an answer?  Pure."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Sequence

from stallkit.core.ambiguity import ambiguity, severity
from stallkit.core.ended_turn import EndedTurn
from stallkit.core.request import Request
from stallkit.core.signature import Certainty, Kind, Pack, Severity, Signature, State
from stallkit.core.values import evolve, frozen
from stallkit.core.verdict import Ended, Verdict

__all__ = ["Asked"]


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
        grave, doubt = severity(verdict.detection), ambiguity(verdict.detection)
        known = evolve(known, pack=match.pack, signature=match.signature, request=verdict.request)
        return evolve(known, severity=grave, ambiguity=doubt)

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


def _absolute(folder: str) -> PurePath | None:
    """The folder as an absolute path; None for one that is none, or that leads upwards."""
    try:
        path = Path(folder).expanduser()
    except RuntimeError:  # the home of an unknown user
        return None
    return path if path.is_absolute() and ".." not in path.parts else None
