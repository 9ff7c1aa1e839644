"""The pages as the site builder reads them: those of docs/, the two of the top folder, and the generated ones.

A page in docs/ stays as it is.  Its copy differs in three ways: a link out of docs/ leads to a copy of that file, one
to a page of the top folder to that page of the site, and examples of Python get the fence that a browser needs.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path
from typing import Iterator

__all__ = ["TOP", "as_staged", "stage"]

TOP = {"CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}
_LINK = re.compile(r"(?<!`)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
_REST = "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"
_FENCE = re.compile(r"\s*(```+|~~~+)")


def stage(root: Path, into: Path) -> None:
    """Copy the pages of a checkout into an empty folder, and the other files that they link to into its ``files``."""
    sources = {f"docs/{path.relative_to(root / 'docs').as_posix()}": path for path in (root / "docs").rglob("*")}
    sources |= {name: root / name for name in TOP if name != "README.md"}
    for name, path in sources.items():
        if not path.is_file():
            continue
        to = into / TOP.get(name, name.removeprefix("docs/"))
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copyfile(path, to)
            continue
        text, linked = as_staged(name, path.read_text(encoding="utf-8"))
        to.write_text(text, encoding="utf-8")
        for other in linked:
            if (root / other).is_file():  # else the build names the page and the link
                copy = into / _copy_of(other)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / other, copy)
    for index in into.rglob("*/index.md"):  # of a folder: it lists the pages beside it
        index.write_text(index.read_text(encoding="utf-8") + _REST, encoding="utf-8")


def as_staged(name: str, text: str) -> tuple[str, set[str]]:
    """A page as the site has it, and the files outside docs/ that it links to; names are relative to the checkout.

    >>> as_staged("docs/lint/a.md", "[b](../b.md#c) [d](../../tests/d.py) [e](../../CHANGELOG.md)")
    ('[b](../b.md#c) [d](../files/tests/d.py) [e](../changes.md)', {'tests/d.py'})
    """
    linked: set[str] = set()
    here = posixpath.dirname(TOP.get(name, name.removeprefix("docs/")))

    def moved(found: re.Match[str]) -> str:
        aim = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[1]))
        if aim in TOP:
            to = TOP[aim]
        elif aim.startswith("docs/"):
            to = aim.removeprefix("docs/")
        else:
            linked.add(aim)
            to = _copy_of(aim)
        return f"]({posixpath.relpath(to, here or '.')}{found[2] or ''})"

    lines = [_LINK.sub(moved, line) if prose else line for prose, line in _prose(_fenced(text.split("\n")))]
    return "\n".join(lines), linked


def _copy_of(file: str) -> str:
    """Where a file of the checkout is in the site; a page that is none of the site is shown as text."""
    return f"files/{file}.txt" if file.endswith(".md") else f"files/{file}"


def _prose(lines: Iterator[str]) -> Iterator[tuple[bool, str]]:
    """Each line, with whether it stands outside code."""
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        inside = bool(fence)
        if found and not fence:
            fence = found[1]
        elif found and line.strip() == fence:
            fence = ""
        yield not inside and not found, line


def _fenced(lines: list[str]) -> Iterator[str]:
    """The lines, with a fence around examples of Python that have none: Markdown takes their signs for quotations."""
    inside, fence = False, ""
    for line in lines:
        found = _FENCE.match(line)
        if found and (not fence or line.strip() == fence):
            fence = "" if fence else found[1]
        if not fence and not found:
            if not inside and line.startswith(">>> "):
                inside = True
                yield "```pycon"
            elif inside and not line.strip():
                inside = False
                yield "```"
        yield line
    if inside:
        yield "```"
