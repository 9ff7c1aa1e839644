"""Results of runs read back from their plain values."""

from __future__ import annotations

from typing import Any, Mapping

from attrs import frozen

from stallkit.core.restored import of_version, structured, verdict_of
from stallkit.core.screen import Screen
from stallkit.core.verdict import Snapshot
from stallkit.press.read_back import OutcomeShape
from stallkit.runs.run import RunResult
from stallkit.runs.wait_limits import RunStatus

__all__ = ["run_of"]


@frozen
class _Run:
    id: str
    status: RunStatus
    why: str
    exit_status: int | None
    signal: str | None
    seconds: float
    screen: str
    fingerprint: str
    output: str
    output_lost: int
    answers: tuple[OutcomeShape, ...]
    next: dict[str, str | None] | None


def run_of(plain: Mapping[str, Any]) -> RunResult:
    """The result that ``run --json`` printed.  Raises ValueError, in one line, for anything else."""
    verdict = verdict_of(of_version(plain, "a run"))
    said = structured(plain, _Run, "a run")
    return RunResult(
        status=said.status,
        why=said.why,
        verdict=verdict,
        snapshot=Snapshot(Screen(tuple(said.screen.split("\n"))), target=f"pty:{said.id}"),
        output=said.output,
        output_lost=said.output_lost,
        seconds=said.seconds,
        exit_status=said.exit_status,
        signal=said.signal,
        answers=tuple(one.value for one in said.answers),
        next=said.next,
        told_fingerprint=said.fingerprint,
    )
