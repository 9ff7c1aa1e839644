"""What the contracts of import-linter in ``pyproject.toml`` do not say of imports and modules."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Iterable, Iterator

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = [ROOT, *sorted(ROOT.glob("apps/*/src"))]  # where the packages of the library and of the apps are
PACKAGES = [ROOT / "stallkit", *sorted(ROOT.glob("apps/*/src/*"))]

# The distributions of the extras, by the names of their modules.
EXTRAS = {
    *(
        "ahocorasick_rs",
        "apprise",
        "deno",
        "distributed",
        "hypothesis",
        "jeepney",
        "mcp",
        "opentelemetry",
        "pexpect",
        "prometheus_client",
    ),
    *("pyghostty", "pytest", "redos_linter", "starlette", "textual", "uvicorn"),
}


def modules_of(node: ast.AST) -> list[str]:
    """What an import statement may import: the modules, or what is in them."""
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
    return []


@cache
def needs_an_extra(module: str) -> bool:
    """Whether a module is of an extra, or imports one of an extra when it is imported itself."""
    if module.partition(".")[0] in EXTRAS:
        return True
    if not module.startswith("stallkit"):
        return False
    places = [source / Path(*module.split(".")) for source in SOURCES]
    files = [place / "__init__.py" if place.is_dir() else place.with_suffix(".py") for place in places]
    path = next((file for file in files if file.is_file()), None)
    return path is not None and any(
        needs_an_extra(name) for node in ast.parse(path.read_text()).body for name in modules_of(node)
    )


def late(source: str) -> Iterator[ast.stmt]:
    """The imports inside of functions."""
    for outer in ast.walk(ast.parse(source)):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (node for node in ast.walk(outer) if isinstance(node, ast.Import | ast.ImportFrom))


def for_types_alone(source: str) -> Iterator[ast.stmt]:
    """The imports that only a type checker sees."""
    for outer in ast.parse(source).body:
        if isinstance(outer, ast.If) and ast.unparse(outer.test) == "TYPE_CHECKING":
            yield from (node for node in ast.walk(outer) if isinstance(node, ast.Import | ast.ImportFrom))


def faults(path: Path, source: str) -> list[str]:
    """Every import that breaks a rule, as file:line and the rule."""
    lines, found = source.splitlines(), []
    for node in late(source):
        if not any(map(needs_an_extra, modules_of(node))):
            found.append(f"{path}:{node.lineno}: a function imports what is no optional extra")
        elif not any("# extra: " in line for line in lines[node.lineno - 2 : node.end_lineno]):
            found.append(f"{path}:{node.lineno}: say which extra brings it, as '# extra: NAME'")
    if path.name != "__init__.py":  # whose names are loaded when they are first used
        for node in for_types_alone(source):
            if not any(map(needs_an_extra, modules_of(node))):
                found.append(f"{path}:{node.lineno}: a type checker alone imports what is no optional extra")
    for node in ast.walk(ast.parse(source)):
        for name in modules_of(node):
            of_python = name.partition(".")[0].removeprefix("_") in sys.stdlib_module_names or name.startswith("_")
            if of_python and any(part.startswith("_") and part != "__future__" for part in name.split(".")):
                found.append(f"{path}:{node.lineno}: {name} is private to CPython")
    return found


def test_functions_import_only_optional_extras_and_nothing_private() -> None:
    found = [
        fault
        for package in PACKAGES
        for path in sorted(package.rglob("*.py"))
        for fault in faults(path, path.read_text())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def f():\n    import json", "no optional extra"),
        ("def f():\n    from stallkit.press.check import check", "no optional extra"),
        ("def f():\n    import pexpect", "say which extra"),
        ("if TYPE_CHECKING:\n    from stallkit.press.check import check", "a type checker alone"),
        ("import _thread", "private to CPython"),
        ("from re import _parser", "private to CPython"),
    ],
)
def test_the_gate_can_fail(source: str, fault: str) -> None:
    assert [fault in found for found in faults(Path("module.py"), source)] == [True]


def test_an_extra_may_be_imported_late() -> None:
    assert not faults(Path("module.py"), "def f():\n    import pexpect  # extra: pexpect")


def test_packs_use_only_what_is_public() -> None:
    """Names of these packages: no other module is promised to stay.  The classifier has learnt on what the host does,
    and is of its version."""
    public = {name: set(import_module(name).__all__) for name in ("stallkit", "stallkit.signals", "stallkit.testing")}
    nodes = [
        (path, node)
        for path in sorted(ROOT.glob("plugins/*/src/**/*.py"))
        if "stallkit_form" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if any(name.partition(".")[0] == "stallkit" for name in modules_of(node))
    ]
    assert nodes
    for path, node in nodes:
        assert isinstance(node, ast.ImportFrom), f"{path}:{node} imports a module whole"
        own = {one.name for one in node.names} - public.get(node.module or "", set())
        assert not own, f"{path}:{node.lineno}: {node.module} has no public {', '.join(own)}"


# The modules of an app that the apps above it may use.
_SHARED = """
stallkit_operator answering board cli.stuck_commands item orders queue sandbox.sandbox_start
stallkit_sessions cli cli.named_sessions containers.runtime_call containers.runtimes finalize launch lifecycle manager
    manifest model panes ports register resuming sandbox_session terminate witnesses work_snapshot worktree
stallkit_supervisor cli.report_command cli.status_commands cli.watch_table escalations log_report notification
    notify.channels notify.notice session_state settings sources supervisor_socket
stallkit_wrap askpass.launcher askpass.prompts relay.driver
"""
SHARED = {words[0]: words[1:] for app in re.split(r"\n(?=\S)", _SHARED.strip()) for words in [app.split()]}


def crossing(app: str, source: str) -> set[str]:
    """What an app's module imports of other apps' modules, but for those that they share."""
    used = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and node.module}
    return {
        module
        for module in used
        for package, _, rest in [module.partition(".")]
        if package.startswith("stallkit_") and package != app and rest not in ["", *SHARED[package]]
    }


def test_an_app_uses_of_another_what_that_shares() -> None:
    found = {
        str(path): names
        for path in sorted(ROOT.glob("apps/*/src/**/*.py"))
        if (names := crossing(path.relative_to(ROOT).parts[3], path.read_text()))
    }
    assert not found
    assert crossing("stallkit_operator", "from stallkit_sessions.exits import of") == {"stallkit_sessions.exits"}


def test_modules_stay_readable() -> None:
    """A module over 700 lines holds more than one idea."""
    long = {
        str(path): n
        for package in PACKAGES
        for path in package.rglob("*.py")
        if (n := len(path.read_text().splitlines())) > 700
    }
    assert not long


def twins(paths: Iterable[Path]) -> set[str]:
    """The names that two modules share."""
    counts = Counter(path.stem for path in paths if path.stem != "__init__")
    return {name for name, count in counts.items() if count > 1}


def test_no_two_modules_share_a_name() -> None:
    assert not {package.name: found for package in PACKAGES if (found := twins(package.rglob("*.py")))}


def test_twins_are_found() -> None:
    assert twins([Path("stallkit/cli/run.py"), Path("stallkit/runs/run.py")]) == {"run"}
