"""Secrets that are known by what they look like, or by the form around them: tokens, headers, addresses, command lines.

Every pattern reads a limited number of characters from where it begins, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate
from operator import sub
from typing import Iterator

from stallkit.redact.views import Span
from stallkit.word_tables import Patterns, compiled, table

__all__ = ["forms", "labels", "patterns", "shapes"]

patterns = Patterns("secrets")


@cache
def labels(kind: str) -> list[str]:
    """Words that stand beside a secret."""
    found: list[str] = table("secrets")["labels"][kind]
    return found


@cache
def _beginnings() -> frozenset[str]:
    """How the words of seed phrases begin: four letters each, or a shorter word."""
    letters = table("secrets")["kept"]["beginnings"].replace("\n", "")
    return frozenset(letters[at : at + 4].strip() for at in range(0, len(letters), 4))


@cache
def _rules(kind: str) -> list[tuple[list[str], str]]:
    """Texts of which one must be there, each list with a pattern."""
    data, kept = table("secrets"), table("secrets")["kept"]
    rules = [*data[kind], *(kept["rules"] if kind == "tokens" else ())]
    return [(texts.split(), patterns.filled(pattern.replace("(?&edge)", kept["edge"]))) for texts, pattern in rules]


def _matches(kind: str, text: str) -> Iterator[re.Match[str]]:
    """Where the rules of a kind hold in a text."""
    for texts, pattern in _rules(kind):
        if any(one in text for one in texts):
            yield from compiled(pattern).finditer(text)


KEY_TEXT = 16_384  # characters of a private key without an end

_VARIED = 16  # different characters of it: a ruler has few
_FEWEST = 11  # words of a seed phrase: one of twelve may be drawn twice


def shapes(text: str) -> Iterator[Span]:
    """The spans of what looks like a secret by itself."""
    yield from _keys(text)
    for found in _matches("tokens", text):
        rest = patterns.rest.match(text, found.end("value"))
        yield found.start("value"), rest.end() if rest else found.end("value")
    yield from (found.span() for found in patterns.long.finditer(text) if _is_drawn(found[0]))
    if "\n" in text:
        yield from (found.span() for found in patterns.block.finditer(text))
    yield from _phrases(text)


def _is_drawn(word: str) -> bool:
    """Whether a long word was drawn by lot: it is neither a ruler nor a path, most of which is names."""
    names = sum(len(part) for part in word.split("/") if patterns.name.fullmatch(part))
    return len(set(word)) >= _VARIED and 2 * names < len(word)


def _keys(text: str) -> Iterator[Span]:
    """Private keys from their first to their last line."""
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        covered = 0
        for begun in patterns.key_begins.finditer(text):
            if begun.start() < covered:
                continue
            most = min(len(text), begun.end() + KEY_TEXT)
            ended = patterns.key_ends.search(text, begun.end(), most)
            covered = ended.end() if ended else most
            yield begun.start(), covered


def _phrases(text: str) -> Iterator[Span]:
    """Seed phrases: so many words of their list, one after the other; a wrapped row may cut one."""
    known = _beginnings()
    so_far = [*accumulate((word[:4] in known for word in patterns.seed_words.findall(text.lower())), initial=0)]
    if len(so_far) <= 10 or max(map(sub, so_far[14:] or so_far[-1:], so_far)) < 10:  # as nearly every text
        return
    begun = ended = 0
    seen: set[str] = set()
    for found in patterns.listed.finditer(text):
        start, end = found.span()
        word = found[0].lower()
        listed = 3 <= len(word) <= 8 and word[:4] in known
        cut = not listed and "\n" in (text[start - 1 : start], text[end : end + 1])
        near = seen and start - ended < 80 and patterns.gap.match(text, ended, start)
        if not (near and (listed or cut)):
            if len(seen) >= _FEWEST:
                yield begun, ended
            begun, seen = start, set()
        if listed:
            seen.add(word)
        if listed or cut:
            ended = end
    if len(seen) >= _FEWEST:
        yield begun, ended


def forms(text: str) -> Iterator[Span]:
    """The spans of what stands where a secret stands."""
    for found in _matches("forms", text):
        quoted = "quoted" in found.re.groupindex and found["quoted"] is not None
        yield found.span("quoted" if quoted else "value")
    if "://" in text:
        for found in patterns.url.finditer(text):
            yield from _addressed(found[0], found.start())
    if "=" in text:
        for found in patterns.gives.finditer(text):
            if patterns.giving.fullmatch(found["name"]) and (
                len(found["value"]) >= 8 or "pass" in found["name"].lower()
            ):
                yield found.span("value")
    if "[" in text:
        for table in patterns.secret_table.finditer(text):
            yield from (row.span("value") for row in patterns.of_table.finditer(text, *table.span("rows")))


def _addressed(url: str, at: int) -> Iterator[Span]:
    """The parts of an address's path that nobody can guess, where it names a hook, a reset or the like."""
    path = url.partition("?")[0]
    if patterns.places.search(path):
        for found in patterns.segment.finditer(path, path.find("://") + 3):
            if not patterns.verbatim.fullmatch(found["value"]):
                yield at + found.start("value"), at + found.end("value")
