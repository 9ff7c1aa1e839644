"""What to do about a verdict: the one place that decides, and it is pure.

Packs state facts, such as which keys would answer and what a wrong answer could cost; a policy decides.
"""

from __future__ import annotations

from typing import Iterable

from attrs import field, frozen

from stallkit.core.keys import Keys
from stallkit.core.signature import NEVER_ANSWERED, Certainty, Severity, Signature, State
from stallkit.core.verdict import Verdict

__all__ = [
    "CAREFUL",
    "DAEMON",
    "OBSERVE",
    "PROFILES",
    "Decision",
    "Escalate",
    "Ignore",
    "Policy",
    "Press",
    "Restart",
    "Wait",
]


@frozen
class Press:
    """Press the keys that the signature gives, once, and verify."""

    signature: Signature

    @property
    def keys(self) -> Keys:
        assert self.signature.dismissal is not None  # Policy.decide made sure
        return self.signature.dismissal.keys


@frozen
class Escalate:
    """Tell a person: `why` says what keeps a machine from answering."""

    why: str


@frozen
class Wait:
    """Time mends it."""

    why: str


@frozen
class Restart:
    """The program ended and may be started again."""

    why: str


@frozen
class Ignore:
    """Nothing is wrong."""


Decision = Press | Escalate | Wait | Restart | Ignore


def _severities(values: Iterable[Severity | str]) -> frozenset[Severity]:
    if isinstance(values, str):
        raise TypeError(f"presses is a set of severities, not the text {values!r}")
    severities = frozenset(map(Severity, values))
    if Severity.HIGH in severities:
        raise ValueError("no policy presses at severity high: that is what it says")
    return severities


@frozen
class Policy:
    """Which severities a machine may answer, and whether it may restart what ended.

    Whatever a policy says: only sure verdicts, only keys that the signature gives, never a secret or a login, never at
    severity high (raises ValueError).
    """

    name: str
    presses: frozenset[Severity] = field(default=frozenset(), converter=_severities)
    restarts: bool = False

    def decide(self, verdict: Verdict) -> Decision:
        """What to do about one verdict."""
        match verdict.state:
            case State.WORKING | State.IDLE:
                return Ignore()
            case State.QUOTA:
                return Wait("a limit of use holds it up")
            case State.ENDED if self.restarts and verdict.certainty is Certainty.SURE:
                return Restart("a shell's prompt where the program was")
            case State.ENDED | State.GONE | State.UNKNOWN:
                return Escalate(f"the session is {verdict.state}")
        return self._answer(verdict)

    def _answer(self, verdict: Verdict) -> Decision:
        if verdict.match is None:
            return Escalate("no signature says what is asked")
        signature = verdict.match.signature
        if verdict.kind in NEVER_ANSWERED or signature.kind in NEVER_ANSWERED:
            return Escalate(f"a machine never answers a {verdict.kind}")
        if signature.dismissal is None:
            return Escalate("no safe answer is known")
        if verdict.certainty is not Certainty.SURE:
            return Escalate("doubtful: " + "; ".join(verdict.reasons[1:]))
        if signature.severity not in self.presses:
            return Escalate(f"severity {signature.severity}: policy {self.name} leaves it to a person")
        return Press(signature)


CAREFUL = Policy("careful", presses=frozenset({Severity.LOW}))
DAEMON = Policy("daemon", presses=frozenset({Severity.LOW, Severity.MEDIUM}), restarts=True)  # requirement D4
OBSERVE = Policy("observe")
PROFILES = {policy.name: policy for policy in (CAREFUL, DAEMON, OBSERVE)}
