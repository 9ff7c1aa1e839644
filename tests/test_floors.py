"""No import runs upwards: docs/architecture.md draws the floors, this reads the imports."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import Iterable, Iterator, Mapping

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "stallkit"

# Rooms from the ground up; a room imports those before it on its own floor, and all on lower floors.
FLOORS = [
    ["errors", "core"],
    [
        *(
            "config",
            "durations",
            "class_schema",
            "strict_converter",
            "jsonio",
            "old_names",
            "private",
            "cache",
            "entry_points",
            "database",
            "daemon_client",
            "daemon",
        ),
        *("daemon_socket", "jsonlog", "toml_file", "settings_files", "tmux_socket"),
        *("variables", "probes", "signals", "packs"),
    ],
    ["transports"],
    ["press", "testing"],
    ["askpass", "sessions", "notify", "runs", "lab"],
    ["supervise", "stuck", "serve"],
    ["cli", "__main__"],
]
HEIGHT = {room: (floor, place) for floor, rooms in enumerate(FLOORS) for place, room in enumerate(rooms)}

# What the core does without, so that it stays a set of values and pure functions.
IMPURE = {"os", "subprocess", "socket", "time", "pathlib", "threading", "asyncio", "random", "datetime", "tempfile"}
CORE_MAY_USE = set(sys.stdlib_module_names) - IMPURE | {"attrs", "cattrs", "regex", "ahocorasick_rs", "stallkit"}


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
    """A module over 700 lines holds more than one idea."""
    long = {str(path): n for path in PACKAGE.rglob("*.py") if (n := len(path.read_text().splitlines())) > 700}
    assert not long


def twins(paths: Iterable[Path]) -> set[str]:
    """The names that two modules share."""
    counts = Counter(path.stem for path in paths if path.stem != "__init__")
    return {name for name, count in counts.items() if count > 1}


def test_no_two_modules_share_a_name() -> None:
    assert not twins(PACKAGE.rglob("*.py"))


def test_twins_are_found() -> None:
    assert twins([Path("stallkit/cli/run.py"), Path("stallkit/runs/run.py")]) == {"run"}


def circles(imported: Mapping[str, set[str]]) -> set[str]:
    """The modules that import themselves, over others or not."""
    found = set()
    for begin in imported:
        reached: set[str] = set()
        ahead = set(imported[begin])
        while ahead:
            module = ahead.pop()
            if module not in reached:
                reached.add(module)
                ahead |= imported.get(module, set())
        if begin in reached:
            found.add(begin)
    return found


def test_no_module_imports_itself_over_others() -> None:
    """Imports at the top of modules; what a function imports when it is called is no circle."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    imported = {name: at_the_top(path) & modules.keys() for name, path in modules.items()}
    assert not circles(imported)


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == {"b", "c"}


def at_the_top(path: Path) -> set[str]:
    """The full names of what a module imports when it is imported itself, modules and what is in them."""
    body = ast.parse(path.read_text()).body
    froms = [node for node in body if isinstance(node, ast.ImportFrom) and node.module]
    return {str(node.module) for node in froms} | {
        f"{node.module}.{name.name}" for node in froms for name in node.names
    }
