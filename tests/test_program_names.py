"""stallkit knows terminals; packs know programs: no string of the package names a program that a pack knows.

Families (shells, editors, pagers, relays, interpreters) are in ``data/families.toml``.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Iterator

from stallkit.packs.registry import installed_engine
from stallkit.word_tables import INTERPRETERS

ROOT = Path(__file__).parents[1]
FOLDERS = ("stallkit", *map(str, Path(__file__).parents[1].glob("apps/*/src")))


def programs() -> set[str]:
    """The names of all programs that a shipped pack knows, and what their makers call them."""
    packs = installed_engine().packs
    names = {name for pack in packs for name in pack.foreground - INTERPRETERS}
    names |= {name for pack in packs for agent in pack.agents for name in (agent.name, *agent.process.names)}
    return names | {"anthropic", "openai"}


def strings(code: str) -> Iterator[tuple[int, str]]:
    """Every string of some code with its line, docstrings and the pieces of f-strings too."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.lineno, node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def named(code: str, names: set[str]) -> list[str]:
    word = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})(?![\w-])", re.I)
    return [f"{line}: {found[0]}" for line, text in strings(code) if (found := word.search(text))]


def test_no_string_names_a_program_of_a_pack() -> None:
    names = programs()
    assert len(names) > 20
    found = {
        str(path.relative_to(ROOT)): places
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (places := named(path.read_text(), names))
    }
    assert not found, "\n".join(f"{path}:{place}" for path, places in found.items() for place in places)


def test_a_name_is_found_wherever_it_stands() -> None:
    for code in ('"""Of codex."""', 'x = f"{y} codex"', 'x = {"codex": 1}', 'x = b"codex"', 'x = "Codex CLI"'):
        assert named(code, {"codex"}), code
    assert not named('x = codex = "codexes, my-codex"', {"codex"})
