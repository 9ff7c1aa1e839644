"""Whether a built site holds together: every link leads to a file and a place in it, and nothing comes from outside."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Iterator
from urllib.parse import unquote, urlsplit

__all__ = ["Page", "wrong"]

_FETCHED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src", "object": "data"}


class Page(HTMLParser):
    """The links of a page, what it fetches, and the places that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in _FETCHED and given.get(_FETCHED[tag]):
            self.fetched.append(given[_FETCHED[tag]])


def wrong(site: Path) -> Iterator[str]:
    """What is wrong with the links of a site, a line each: page, link, why."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for link in page.fetched:
            if urlsplit(link).scheme not in ("", "data") or link.startswith("//"):
                yield f"{here}: {link}: fetched from outside"
            elif not link.startswith("data:") and not _file(path, link).exists():
                yield f"{here}: {link}: there is no such file"
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme not in ("https", "http", "mailto") or (
                    parts.scheme != "mailto" and "." not in parts.netloc
                ):
                    yield f"{here}: {link}: no address that leads anywhere"
                continue
            to = _file(path, link) if parts.path else path
            if not to.exists():
                yield f"{here}: {link}: there is no such file"
            elif to in pages and unquote(parts.fragment) not in pages[to].places:
                yield f"{here}: {link}: the page has no such place"
    for style in sorted(site.rglob("*.css")):
        text = style.read_text(encoding="utf-8")
        if "@import" in text or "url(http" in text or "url(//" in text:
            yield f"{style.relative_to(site)}: fetches from outside"


def _file(page: Path, link: str) -> Path:
    return (page.parent / unquote(urlsplit(link).path)).resolve()
