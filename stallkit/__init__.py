"""stallkit tells a terminal session that waits for a key from one that works, and says which prompt it is.

>>> from stallkit import Engine, Screen
>>> detection = Engine.default().detect(Screen.from_text("Proceed? [y/N] "))
>>> detection.match.signature.kind
<Kind.CONFIRM: 'confirm'>

These names are the public interface; each is loaded when it is first used, so that importing stallkit costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stallkit.core.engine import Detection, Match
    from stallkit.core.judge import judge
    from stallkit.core.keys import Keys
    from stallkit.core.screen import Screen
    from stallkit.core.signature import Clause, Dismissal, Kind, Pack, Severity, Signature, State
    from stallkit.core.verdict import ProcessFacts, Snapshot, Verdict
    from stallkit.errors import PackError, SessionGone, StallkitError, TransportError
    from stallkit.packs.file import load_pack
    from stallkit.packs.hookspecs import hookimpl
    from stallkit.packs.registry import Engine
    from stallkit.press.check import CheckResult, check
    from stallkit.press.gate import Outcome
    from stallkit.press.policy import Policy
    from stallkit.press.ready import wait_until_ready
    from stallkit.runs.run import Run, run, run_async
    from stallkit.runs.run_process import RunResult
    from stallkit.sessions.manager import Sessions
    from stallkit.sessions.model import ExitRecord
    from stallkit.supervise.supervisor import Supervisor
    from stallkit.transports.base import Transport, open_target

_HOMES = {
    "stallkit.core.engine": ("Detection", "Match"),
    "stallkit.core.keys": ("Keys",),
    "stallkit.core.screen": ("Screen",),
    "stallkit.core.signature": ("Clause", "Dismissal", "Kind", "Pack", "Severity", "Signature", "State"),
    "stallkit.core.judge": ("judge",),
    "stallkit.core.verdict": ("ProcessFacts", "Snapshot", "Verdict"),
    "stallkit.errors": ("PackError", "SessionGone", "StallkitError", "TransportError"),
    "stallkit.packs.file": ("load_pack",),
    "stallkit.packs.hookspecs": ("hookimpl",),
    "stallkit.packs.registry": ("Engine",),
    "stallkit.transports.base": ("Transport", "open_target"),
    "stallkit.press.check": ("CheckResult", "check"),
    "stallkit.runs.run_process": ("RunResult",),
    "stallkit.press.policy": ("Policy",),
    "stallkit.press.gate": ("Outcome",),
    "stallkit.press.ready": ("wait_until_ready",),
    "stallkit.runs.run": ("Run", "run", "run_async"),
    "stallkit.sessions.model": ("ExitRecord",),
    "stallkit.sessions.manager": ("Sessions",),
    "stallkit.supervise.supervisor": ("Supervisor",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # each is defined by __getattr__
    "CheckResult",
    "Clause",
    "Detection",
    "Dismissal",
    "Engine",
    "ExitRecord",
    "Keys",
    "Kind",
    "Match",
    "Outcome",
    "Pack",
    "PackError",
    "Policy",
    "ProcessFacts",
    "Run",
    "RunResult",
    "Screen",
    "SessionGone",
    "Sessions",
    "Severity",
    "Signature",
    "Snapshot",
    "StallkitError",
    "State",
    "Supervisor",
    "Transport",
    "TransportError",
    "Verdict",
    "check",
    "hookimpl",
    "judge",
    "load_pack",
    "open_target",
    "run",
    "run_async",
    "wait_until_ready",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'stallkit' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
