"""The pages on Python: every public name of stallkit and of the apps, by autodoc from its docstring."""

from __future__ import annotations

import ast
import inspect
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Iterator

__all__ = ["pages", "public"]

# The rooms (docs/architecture.md), in the order in which somebody meets them.
_ROOMS = {
    "press": ("look", "Look, decide, press"),
    "terminal": ("terminal", "Screens and keys"),
    "detect": ("detect", "Signatures and detections"),
    "evidence": ("looks", "Looks"),
    "judging": ("verdicts", "Verdicts"),
    "transports": ("transports", "Transports"),
    "packs": ("packs", "Packs"),
    "jsonio": ("json", "JSON"),
    "cli": ("schemas", "Schemas of commands"),
    "errors": ("errors", "Errors"),
    "stallkit_sessions": ("sessions", "Sessions and runs"),
    "stallkit_supervisor": ("supervisor", "Supervisor"),
}


def public(root: Path) -> dict[str, list[str]]:
    """The public names, whole, by the room of stallkit or the app that they are defined in, in the packages' order."""
    found: dict[str, list[str]] = {}
    for package in [root / "stallkit", *sorted(root.glob("apps/*/src/*"))]:
        for node in ast.walk(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = [f"{package.name}.{one.asname}" for one in node.names if one.asname]
                room = (node.module or "").removeprefix("stallkit.").partition(".")[0]
                found.setdefault(room, []).extend(names)
    return {room: names for room, names in found.items() if names}


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """Path and text of each page."""
    rooms = public(root)
    order = [room for room in _ROOMS if room in rooms] + [room for room in rooms if room not in _ROOMS]
    paths = {room: _ROOMS.get(room, (room, room.capitalize())) for room in order}
    listed = "\n".join(path for path, _ in paths.values())
    yield (
        "reference/library/index.md",
        "# The library\n\nEverything that `stallkit` and the apps export. What begins with a floor of the "
        "[architecture](../../architecture.md), as `stallkit.detect`, is not promised to stay.\n\n"
        + "".join(f"* [{title}]({path}.md): {_linked(rooms[room])}\n" for room, (path, title) in paths.items())
        + f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n",
    )
    for room, (path, title) in paths.items():
        body = "\n".join(_directive(name) for name in rooms[room])
        yield f"reference/library/{path}.md", f"# {title}\n\n```{{eval-rst}}\n{body}```\n"


def _linked(names: list[str]) -> str:
    return ", ".join(f"{{py:obj}}`~{name}`" for name in names)


def _directive(name: str) -> str:
    package, _, own = name.partition(".")
    found = getattr(import_module(package), own)
    if not inspect.isclass(found):
        kind = "autofunction" if callable(found) and inspect.isroutine(found) else "autodata"
        return f".. {kind}:: {name}\n"
    more = "   :undoc-members:\n" if issubclass(found, Enum) else ""
    return f".. autoclass:: {name}\n   :members:\n{more}"
