"""No import runs upwards: docs/architecture.md draws the floors, this reads the imports."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Iterator

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "stallkit"

# Rooms from the ground up; a room imports those before it on its own floor, and all on lower floors.
FLOORS = [
    ["errors", "core"],
    ["config", "database", "daemon", "daemon_socket", "jsonlog", "probes", "packs"],
    ["transports"],
    ["press", "testing"],
    ["sessions", "notify", "runs", "lab"],
    ["supervise"],
    ["cli"],
]
HEIGHT = {room: (floor, place) for floor, rooms in enumerate(FLOORS) for place, room in enumerate(rooms)}

# What the core does without, so that it stays a set of values and pure functions.
IMPURE = {"os", "subprocess", "socket", "time", "pathlib", "threading", "asyncio", "random", "datetime", "tempfile"}
CORE_MAY_USE = set(sys.stdlib_module_names) - IMPURE | {"attrs", "regex", "ahocorasick_rs", "stallkit"}


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a module imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def violations(path: Path, source: str) -> list[str]:
    """Every import of one module that breaks a rule, as file:line and the rule."""
    room = path.parts[1].removesuffix(".py")
    found = []
    for line, name in imports(source):
        parts = name.split(".")
        ours = parts[0] == "stallkit" and len(parts) > 1 and parts[1] != room
        if ours and HEIGHT.get(parts[1], (0, 0)) >= HEIGHT[room]:
            found.append(f"{path}:{line}: {room} may not import {parts[1]}, which is not below it")
        if room in ("core", "errors") and parts[0] not in CORE_MAY_USE:
            found.append(f"{path}:{line}: {room} may not import {parts[0]}: it does I/O, keeps time, or is not allowed")
    return found


def test_no_import_runs_upwards() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(ROOT)
        if relative.parts[1] != "__init__.py":
            assert relative.parts[1].removesuffix(".py") in HEIGHT, f"{relative}: draw its room in FLOORS"
            found += violations(relative, path.read_text())
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "source", "rule"),
    [
        ("stallkit/core/engine.py", "from stallkit.packs.registry import Engine", "core may not import packs"),
        ("stallkit/transports/tmux/pane.py", "import stallkit.press.check", "transports may not import press"),
        ("stallkit/core/text.py", "import os", "core may not import os"),
        ("stallkit/core/text.py", "def f():\n    import pexpect", "core may not import pexpect"),
        ("stallkit/press/check.py", "from stallkit.testing import check_pack", "press may not import testing"),
    ],
)
def test_the_gate_can_fail(module: str, source: str, rule: str) -> None:
    assert any(rule in found for found in violations(Path(module), source))


def test_modules_stay_readable() -> None:
    """A module over 500 lines holds more than one idea."""
    long = {str(path): n for path in PACKAGE.rglob("*.py") if (n := len(path.read_text().splitlines())) > 500}
    assert not long
