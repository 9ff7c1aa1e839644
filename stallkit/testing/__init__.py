"""The public test kit: checks for packs, transports and sources of signals.

A check needs no pytest: it raises AssertionError that lists every failure.  The strategies (`keys`, `near_misses`,
`packs`, `prompt_screens`, `screens`) need Hypothesis: ``pip install 'stallkit[testing]'``.  Each name is loaded when it
is first used, so that the pytest plug-in, which is here as well, costs nothing if there is no pack.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stallkit.testing.checks import Session, Stage, check_pack, check_signal, check_signature, check_transport
    from stallkit.testing.doubles import FakeClock, StandIn
    from stallkit.testing.example import Example, examples
    from stallkit.testing.lookalikes import FORMS
    from stallkit.testing.strategies import keys, near_misses, packs, prompt_screens, screens
    from stallkit.transports.memory import MemoryTransport

_HOMES = {
    "stallkit.testing.checks": "Session Stage check_pack check_signal check_signature check_transport",
    "stallkit.testing.doubles": "FakeClock StandIn",
    "stallkit.testing.example": "Example examples",
    "stallkit.testing.lookalikes": "FORMS",
    "stallkit.testing.strategies": "keys near_misses packs prompt_screens screens",
    "stallkit.transports.memory": "MemoryTransport",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [  # each is defined by __getattr__
    "Example",
    "FORMS",
    "FakeClock",
    "MemoryTransport",
    "Session",
    "Stage",
    "StandIn",
    "check_pack",
    "check_signal",
    "check_signature",
    "check_transport",
    "examples",
    "keys",
    "near_misses",
    "packs",
    "prompt_screens",
    "screens",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'stallkit.testing' has no attribute {name!r}")
    try:
        value = getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        message = f"stallkit.testing.{name} needs Hypothesis; install it with: pip install 'stallkit[testing]'"
        raise ImportError(message, name="hypothesis") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
