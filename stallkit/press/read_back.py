"""Results of checks, and outcomes, read back from their plain values."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Mapping

from stallkit.core.keys import Keys
from stallkit.core.restored import of_version, structured, verdict_of
from stallkit.core.values import frozen
from stallkit.core.verdict import Snapshot
from stallkit.press.check import CheckResult, Status
from stallkit.press.gate import End, Outcome
from stallkit.signals.tool_call import AskedInside

__all__ = ["OutcomeShape", "check_of"]


@frozen
class OutcomeShape:
    """An outcome as JSON has it; that of an answer, which may be a secret, without its keys."""

    end: End
    why: str
    keys: str | None = None

    @property
    def value(self) -> Outcome:
        """It as an outcome.  Raises ValueError for what are no keys."""
        return Outcome(self.end, self.why, None if self.keys is None else Keys.parse(self.keys))


@frozen
class _Check:
    target: str
    status: Status
    resets_at: str | None
    outcome: OutcomeShape | None
    inside: tuple[AskedInside, ...]


def check_of(plain: Mapping[str, Any]) -> CheckResult:
    """The result that ``check --json`` printed.  Raises ValueError, in one line, for anything else."""
    verdict = verdict_of(of_version(plain, "a check"))
    said = structured(plain, _Check, "a check")
    return CheckResult(
        target=said.target,
        status=said.status,
        verdict=verdict,
        snapshot=Snapshot(verdict.detection.screen, target=said.target),
        outcome=said.outcome.value if said.outcome else None,
        resets_at=datetime.fromisoformat(said.resets_at) if said.resets_at else None,
        inside=said.inside,
    )
