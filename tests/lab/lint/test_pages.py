"""Each code has a page, and each page is true: its first example breaks the rule, its second breaks none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stallkit.lab.lint.findings import CODES, Level
from stallkit.lab.lint.runner import Linted, lint_path

DOCS = Path(__file__).parents[3] / "docs" / "lint"
_BLOCK = re.compile(r"^```(?:toml|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOFT = {"SK104", "SK105", "SK201", "SK205", "SK403"}


def examples(code: str) -> tuple[str, str]:
    """The failing and the passing example of a page."""
    bad, good = _BLOCK.findall((DOCS / f"{code}.md").read_text("utf-8"))
    return bad, good


def linted(text: str, folder: Path) -> Linted:
    if text.startswith("screens/"):  # a page on screen files names one
        screen = folder / text.strip()
        screen.parent.mkdir(parents=True)
        text = examples("SK402")[1]
        screen.write_text("---\ncursor = [8, 0]\n---\nDeploy? ", "utf-8")
    file = folder / "signatures.toml"
    file.write_text(text, "utf-8")
    return lint_path(file, thorough=False)


@pytest.mark.parametrize("code", CODES)
def test_the_failing_example_fails(code: str, tmp_path: Path) -> None:
    found = linted(examples(code)[0], tmp_path)
    assert code in {finding.code for finding in found.findings}
    assert found.failed is (code not in SOFT)


@pytest.mark.parametrize("code", CODES)
def test_the_passing_example_passes(code: str, tmp_path: Path) -> None:
    assert linted(examples(code)[1], tmp_path).findings == ()


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.id)
def test_the_page_says_what_the_code_says(code: object) -> None:
    rule = CODES[getattr(code, "id", "")]
    page = (DOCS.parents[1] / rule.page).read_text("utf-8")
    assert page.startswith(f"# {rule.id}: {rule.title}\n\nLevel: {rule.level}. What to do: {rule.todo}.\n")
    index = (DOCS / "index.md").read_text("utf-8")
    assert f"| [{rule.id}]({rule.id}.md) | {rule.level} | {rule.title} |" in index


def test_which_rules_are_soft() -> None:
    assert {code.id for code in CODES.values() if code.level is Level.WARNING} == SOFT
