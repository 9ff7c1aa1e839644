"""What the site's pages are made of: figures as they were measured, links that hold, events that are written down."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from types import ModuleType

import pytest
from docs_site import agents, docstrings, events, links, staging, tables
from docs_site.docstrings import escaped
from stallkit_lab.evaluate.holdout import installed_package_dirs

from stallkit.packs.registry import installed_engine

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def agents_page() -> str:
    [(path, text)] = agents.pages(installed_engine(), installed_package_dirs(), DOCS)
    assert path == "reference/agents.md"
    return text


def test_the_figures_are_those_that_were_measured(agents_page: str) -> None:
    seen, fit = list(tables.read(agents_page))[:2]
    [row] = [row for row in fit if row["agent"] == "claude-code"]
    [line] = [line for line in (DOCS / "accuracy.md").read_text().splitlines() if line.startswith("| claude-code |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert [row[name] for name in ("screens", "P", "R", "states", "left out: P")] == cells[1:6]
    [row] = [row for row in seen if "claude-code" in row["agent"]]
    [line] = [line for line in (DOCS / "agents.md").read_text().splitlines() if line.startswith("| Claude Code |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert [row[name] for name in ("states right", "sure", "sure, screen alone")] == cells[1:4]
    assert row["source"] == "`claude`"


def test_what_was_not_measured_has_no_figure(agents_page: str) -> None:
    [row] = [row for row in next(tables.read(agents_page)) if "[aider]" in row["agent"]]
    assert row["states right"] == row["sure"] == row["source"] == ""


def test_every_agent_with_a_source_is_there(agents_page: str) -> None:
    listed = {row["agent"].partition("]")[0].strip("[") for row in next(tables.read(agents_page))}
    assert {"claude-code", "codex", "copilot", "gemini-cli", "opencode", "qwen-code"} <= listed


def said() -> set[str]:
    """The names of events in the code, where they are written as they stand."""
    found: set[str] = set()
    for path in (*(ROOT / "stallkit").rglob("*.py"), *ROOT.glob("apps/*/src/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if (name in ("say", "Event") or (name == "tell" and node.keywords)) and re.fullmatch(
                    r"[a-z_]+", str(node.args[0].value)
                ):
                    found.add(node.args[0].value)
    return found


def test_every_event_is_written_down() -> None:
    names = said()
    assert {"escalation", "no_session", "run_answered"} <= names
    assert names - set(events.documented(DOCS)) == {"test"}  # of `stallkit config notify`; it is in no log


def test_the_front_page_lists_every_page_once() -> None:
    front = (DOCS / "index.md").read_text()
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.glob("*.md")} - {"index.md"}
    linked = re.findall(r"\]\(([\w-]+\.md)\)", front)
    placed = [
        line + ".md" for block in re.findall(r"```{toctree}\n(.*?)```", front, re.DOTALL) for line in block.split()
    ]
    assert sorted(linked) == sorted(pages)
    assert sorted(pages & set(placed)) == sorted(name for name in placed if name in pages) == sorted(pages)


def test_events_keep_their_links() -> None:
    [(_, page)] = events.pages(DOCS)
    [row] = [row for row in next(tables.read(page)) if row["event"] == "`detection`"]
    assert "](../command-line.md#json)" in row["facts"]


def test_a_page_is_copied_as_it_is_but_for_its_links() -> None:
    text = "a [b](c.md) [d](../README.md) [e](#f)\n\n```sh\n[x](../README.md)\n```\n"
    staged, linked = staging.as_staged("docs/a.md", text)
    assert staged == "a [b](c.md) [d](index.md) [e](#f)\n\n```sh\n[x](../README.md)\n```\n"
    assert not linked


def test_examples_of_python_get_a_fence() -> None:
    staged, _ = staging.as_staged("docs/a.md", "one\n\n>>> 1\n1\n\ntwo\n\n```python\n>>> 2\n2\n\n```\n")
    assert staged == "one\n\n```pycon\n>>> 1\n1\n```\n\ntwo\n\n```python\n>>> 2\n2\n\n```\n"


def test_columns_without_a_word_are_left_out() -> None:
    assert tables.written(["a", "b", "c"], [("1", "", "2")]) == "| a | c |\n| --- | --- |\n| 1 | 2 |\n"


def test_docstrings_stay_as_they_are_written() -> None:
    lines = ["Takes *args and a|b, *maybe* `a*b`", ">>> 2 * 3"]
    docstrings.as_rst(None, "", "", None, None, lines)
    assert lines == ["Takes \\*args and a|b, *maybe* `a*b`", ">>> 2 * 3"]
    assert escaped(["a | b_ c"]) == ["a \\| b\\_ c"]


@pytest.mark.parametrize("module", [docstrings, staging, tables])
def test_examples_in_docstrings_are_true(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)
    assert tried and not failed


def test_links_that_do_not_hold_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x">1</a><a href="#y">2</a><a href="b.html">3</a><a href="mailto:me">4</a>'
        '<a href="ftp://h.example">5</a><img src="https://h.example/i.png"><script src="none.js"></script>'
    )
    (tmp_path / "s.css").write_text("@font-face { src: url(https://h.example/f.woff) }")
    assert [line.partition(": ")[2] for line in links.wrong(tmp_path)] == [
        "https://h.example/i.png: fetched from outside",
        "none.js: there is no such file",
        "#y: the page has no such place",
        "b.html: there is no such file",
        "ftp://h.example: no address that leads anywhere",
        "fetches from outside",
    ]
