"""Every link of every page in the repository leads to a file and a heading; one outside has the form of one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Iterator
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("plugins/*/README.md"))]
_CODE = re.compile(r"^(```|~~~).*?^\1|(?<!`)`[^`\n]+`(?!`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)?)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def links(text: str) -> Iterator[str]:
    """The links of a page, without what stands in code."""
    yield from _LINK.findall(_CODE.sub("code", text))


@cache
def places(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as browsers of repositories make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in _HEADING.findall(text))
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain)


def wrong(page: Path, text: str) -> Iterator[str]:
    """The links of a page that lead nowhere, each with the reason."""
    for link in links(text):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if parts.scheme not in ("http", "https") or "." not in (parts.hostname or ""):
                yield f"{link}: no address of a page"
            continue
        to = (page.parent / parts.path).resolve() if parts.path else page
        if not to.exists():
            yield f"{link}: no such file"
        elif parts.fragment and parts.fragment not in places(to):
            yield f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert not list(wrong(page, page.read_text()))


def test_a_wrong_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One two\n")
    text = "[a](page.md#one-two) [b](page.md#three) [c](none.md) [d](ftp://host.example/x) `[e](none.md)`"
    assert list(wrong(page, text)) == [
        "page.md#three: no such heading",
        "none.md: no such file",
        "ftp://host.example/x: no address of a page",
    ]


def test_pictures_are_small_and_whole() -> None:
    pictures = sorted((ROOT / "docs" / "pictures").iterdir())
    assert {picture.stem for picture in pictures} >= {"watch", "explain", "report", "eval"}
    for picture in pictures:
        assert picture.stat().st_size < 60_000
        text = picture.read_text() if picture.suffix == ".svg" else ""
        assert "@font-face" not in text
        assert not re.search(r"(?:href|src)=|url\(['\"]?http", text)
