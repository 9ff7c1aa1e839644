"""Many sessions at once: where looks come from, what is done after them, and what survives a kill -9.

>>> from stallkit_supervisor import Supervisor, WatchConfig

Each public name is loaded when it is first used, so that the command line costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stallkit_supervisor.session_state import WatchConfig as WatchConfig
    from stallkit_supervisor.supervisor import Supervisor as Supervisor

_HOME_OF = {"Supervisor": "stallkit_supervisor.supervisor", "WatchConfig": "stallkit_supervisor.session_state"}
__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'stallkit_supervisor' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
