"""How much a module brings along: `python benchmarks/reach.py stallkit.press.check [--who stallkit.toml_file]`.

Every module of stallkit that is imported with it, with its lines, by reading the source: imports for types alone do not
count, those in functions do.  ``--who`` prints which of them import another one.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).parent.parent
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "stallkit").rglob("*.py")
}


def imported(node: ast.AST) -> Iterator[str]:
    """The modules of stallkit that this part of a source imports, with the packages that they are in."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
    for name in names:
        parts = name.split(".")
        yield from (known for at in range(len(parts)) if (known := ".".join(parts[: at + 1])) in FILES)
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("--who")
    given = parser.parse_args()
    reached: dict[str, set[str]] = {}
    waiting = [given.module]
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached[name] = set(imported(ast.parse(FILES[name].read_text(encoding="utf-8")))) - {name}
            waiting += reached[name]
    if given.who:
        print("\n".join(sorted(name for name, others in reached.items() if given.who in others)))
        return
    lines = {name: len(FILES[name].read_text(encoding="utf-8").splitlines()) for name in reached}
    lines = {name: count for name, count in lines.items() if count > 1}  # a package that only says what it is
    for name in sorted(lines):
        print(f"{lines[name]:6} {name}")
    print(f"{sum(lines.values()):6} lines in {len(lines)} modules")


if __name__ == "__main__":
    main()
