"""Sessions and runs that stallkit starts: how they ended, and why.

>>> from stallkit_sessions import Sessions, run

Each public name is loaded when it is first used, so that the command line costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stallkit_sessions.manager import Sessions as Sessions
    from stallkit_sessions.model import ExitRecord as ExitRecord
    from stallkit_sessions.runs.run import Run as Run
    from stallkit_sessions.runs.run import RunResult as RunResult
    from stallkit_sessions.runs.run import run as run
    from stallkit_sessions.runs.run import run_async as run_async
    from stallkit_sessions.runs.wait_limits import Observation as Observation
    from stallkit_sessions.runs.wait_limits import RunStatus as RunStatus

_HOMES = {
    "stallkit_sessions.manager": "Sessions",
    "stallkit_sessions.model": "ExitRecord",
    "stallkit_sessions.runs.run": "Run RunResult run run_async",
    "stallkit_sessions.runs.wait_limits": "Observation RunStatus",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'stallkit_sessions' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
