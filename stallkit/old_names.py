"""Names of the version before: they are what they were, and say once what they are called today."""

from __future__ import annotations

import json
import sys
import warnings
from functools import cache
from importlib import import_module
from typing import Any

_package: Any = sys.modules["stallkit"]  # which loads `dump` and `load` when they are used
_KINDS = {
    "stallkit.detect.engine": "Detection",
    "stallkit.judging.verdict": "Verdict",
    "stallkit.press.check": "CheckResult",
    "stallkit.press.events": "Event",
    "stallkit.transports.stream": "TerminalReport",
    "stallkit_sessions.runs.run": "RunResult",
    "stallkit_sessions.model": "ExitRecord",
}

_NOW = {
    "stallkit_sessions": "ExitRecord Observation Run RunResult RunStatus Sessions run run_async",
    "stallkit_supervisor": "Supervisor WatchConfig",
    "stallkit.cli.printed_json": "json_schema",
    "stallkit.detect.composer": "Composer",
    "stallkit.errors": "ContainerError",
    "stallkit.press.rules": "Scene",
}
MOVED = {name: module for module, names in _NOW.items() for name in names.split()}


@cache
def _say(old: str, new: str) -> None:
    warnings.warn(f"{old} is called {new} now, and goes with the next version", DeprecationWarning, stacklevel=3)


def _to_dict(self: object) -> Any:
    """The old name of `stallkit.dump`."""
    _say("to_dict()", "stallkit.dump(value)")
    return _package.dump(self)


def _to_json(self: object) -> str:
    """The old name of ``json.dumps(stallkit.dump(value))``."""
    _say("to_json()", "json.dumps(stallkit.dump(value))")
    return json.dumps(_package.dump(self))


def _from_dict(kind: type, plain: Any) -> Any:
    """The old name of `stallkit.load`."""
    _say("from_dict(plain)", "stallkit.load(kind, plain)")
    return _package.load(kind, plain)


def _from_json(kind: type, text: str | bytes) -> Any:
    """The old name of ``stallkit.load(kind, json.loads(text))``."""
    _say("from_json(text)", "stallkit.load(kind, json.loads(text))")
    return _package.load(kind, json.loads(text))


def give_back() -> None:
    """Give the old names to the classes of the modules that are imported so far."""
    for module, name in _KINDS.items():
        kind: Any = getattr(sys.modules.get(module), name, None)
        if kind is not None:
            kind.to_dict, kind.to_json = _to_dict, _to_json
            kind.from_dict, kind.from_json = classmethod(_from_dict), classmethod(_from_json)


def moved(name: str) -> Any:
    """A name of `stallkit` that another module has now.  Raises AttributeError if its distribution is not installed."""
    package = MOVED[name]
    try:
        value = getattr(import_module(package), name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        todo = f"pip install {package.replace('_', '-')}"
        raise AttributeError(f"stallkit.{name} is {package}.{name} now, which is not installed; {todo}") from error
    _say(f"stallkit.{name}", f"{package}.{name}")
    give_back()
    return value
