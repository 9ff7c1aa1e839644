"""Secrets that are known by what they look like, or by the form around them: tokens, headers, addresses, command lines.

Every pattern reads a limited number of characters from where it begins, so that the time is linear in the text.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import accumulate
from operator import sub
from pkgutil import get_data
from typing import Iterator, Mapping

from attrs import frozen

from stallkit.redact.views import Span

__all__ = ["forms", "labels", "shapes", "words"]

_PIECE = re.compile(r"\(\?&(\w+)\)")


@frozen
class _Data:
    rules: Mapping[str, list[list[str]]]  # texts of which one must be there, and a pattern
    labels: Mapping[str, list[str]]
    patterns: Mapping[str, str]
    beginnings: str


@cache
def _data() -> _Data:
    """What the file says, with its pieces put in."""
    read = tomllib.loads((get_data("stallkit", "data/secrets.toml") or b"").decode())
    pieces, kept = {**read["pieces"], "edge": read["kept"]["edge"]}, read["kept"]
    rules = {
        name: [[texts, _PIECE.sub(lambda one: str(pieces[one[1]]), pattern)] for texts, pattern in some]
        for name, some in (("tokens", [*read["tokens"], *kept["rules"]]), ("forms", read["forms"]))
    }
    letters = kept["beginnings"].replace("\n", "")
    return _Data(rules, read["labels"], read["patterns"], letters)


@cache
def beginnings() -> frozenset[str]:
    """How the words of seed phrases begin: four letters each, or a shorter word."""
    letters = _data().beginnings
    return frozenset(letters[at : at + 4].strip() for at in range(0, len(letters), 4))


@cache
def labels(kind: str) -> tuple[str, ...]:
    """Words that stand beside a secret."""
    return tuple(_data().labels[kind])


_compiled = cache(re.compile)


class _Words:
    """The patterns of words, by name."""

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name not in _data().patterns:
            raise AttributeError(name)
        value = _compiled(_data().patterns[name])
        setattr(self, name, value)
        return value


words = _Words()


@cache
def _rules(kind: str) -> list[tuple[list[str], str]]:
    return [(texts.split(), pattern) for texts, pattern in _data().rules[kind]]


def matches(kind: str, text: str) -> Iterator[re.Match[str]]:
    """Where the rules of a kind hold in a text."""
    for texts, pattern in _rules(kind):
        if any(one in text for one in texts):
            yield from _compiled(pattern).finditer(text)


# A word that goes on behind what was recognised belongs to it.
_REST = re.compile(r"[\w+/=%~-]*(?:\.[\w+/=%~-]{8,})*")

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]+")
KEY_TEXT = 16_384  # characters of a private key without an end

# A fingerprint is shown to be compared, and is no secret.
_LONG = re.compile(
    r"(?<![\w/+-])(?<!SHA256:)"
    r"(?=[\w+/-]{0,200}\d)(?=[\w+/-]{0,200}[A-Z])(?=[\w+/-]{0,200}[a-z])[A-Za-z0-9+/_-]{40,}={0,2}"
)

_VARIED = 16  # different characters of it: a ruler has few
_NAME = re.compile(r"[A-Z]?[a-z]*(?:[_.-][A-Za-z]?[a-z]+)*\d{0,4}|[A-Z]{1,8}\d{0,4}")  # a part of a path

# Rows of base64 one below the other: a key whose first line is out of sight.
_BLOCK = re.compile(r"(?:(?<![\w+/])[A-Za-z0-9+/]{60,200}\n[^\S\n]{0,40}){2,200}[A-Za-z0-9+/]{1,200}={0,2}")

_LISTED = re.compile(r"[^\W\d_]+")
_FEWEST = 11  # words of a seed phrase: one of twelve may be drawn twice
_WORDS = re.compile(r"(?<![^\W\d_])[^\W\d_]{3,8}(?![^\W\d_])")
_GAP = re.compile(r"[\s\d.,:;)(|#-]{1,80}\Z")  # between two of them: they may be numbered, and in columns


def shapes(text: str) -> Iterator[Span]:
    """The spans of what looks like a secret by itself."""
    yield from _keys(text)
    yield from _ruled(text)
    yield from (found.span() for found in _LONG.finditer(text) if _is_drawn(found[0]))
    if "\n" in text:
        yield from (found.span() for found in _BLOCK.finditer(text))
    yield from _phrases(text)


def _is_drawn(word: str) -> bool:
    """Whether a long word was drawn by lot: it is neither a ruler nor a path, most of which is names."""
    names = sum(len(part) for part in word.split("/") if _NAME.fullmatch(part))
    return len(set(word)) >= _VARIED and 2 * names < len(word)


def _keys(text: str) -> Iterator[Span]:
    """Private keys from their first to their last line."""
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        covered = 0
        for begun in _KEY_BEGINS.finditer(text):
            if begun.start() < covered:
                continue
            most = min(len(text), begun.end() + KEY_TEXT)
            ended = _KEY_ENDS.search(text, begun.end(), most)
            covered = ended.end() if ended else most
            yield begun.start(), covered


def _ruled(text: str) -> Iterator[Span]:
    """What the rules recognise."""
    for found in matches("tokens", text):
        yield found.start("value"), _whole(text, found.end("value"))


def _whole(text: str, end: int) -> int:
    rest = _REST.match(text, end)
    return rest.end() if rest else end


def _phrases(text: str) -> Iterator[Span]:
    """Seed phrases: so many words of their list, one after the other; a wrapped row may cut one."""
    known = beginnings()
    so_far = [*accumulate((word[:4] in known for word in _WORDS.findall(text.lower())), initial=0)]
    if len(so_far) <= 10 or max(map(sub, so_far[14:] or so_far[-1:], so_far)) < 10:  # as nearly every text
        return
    begun = ended = 0
    seen: set[str] = set()
    for found in _LISTED.finditer(text):
        start, end = found.span()
        word = found[0].lower()
        listed = 3 <= len(word) <= 8 and word[:4] in known
        cut = not listed and "\n" in (text[start - 1 : start], text[end : end + 1])
        near = seen and start - ended < 80 and _GAP.match(text, ended, start)
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


# A part of an address that gives what it names to whoever has it.
_URL = re.compile(r"(?i:https?|wss?|otpauth|ftp)://[^\s\"'`<>\ue000]{8,}")
_GIVES = re.compile(r"(?i:[?&;\#]|%26|%3F)(?P<name>[\w.\[\]-]{1,40})(?:=|%3D)(?P<value>[^&\s;\#\"\ue000]{3,})")
_SEGMENT = re.compile(r"/(?P<value>(?=[^/?#]{0,100}\d)[\w@.%~=+-]{16,}|[TB][A-Z0-9]{8,})")
_VERBATIM = re.compile(r"\d{4}-\d\d-\d\d.*|.*\.(?:html?|js|css|png|svg|tar|gz|zip|md|py|json|git)", re.IGNORECASE)


# A table of a TOML or INI file that is called so: each of its values is one.
_TABLE = re.compile(
    r"(?m:^)[^\S\n]*\[[\w. -]{0,40}(?i:secrets?|credentials?|passwords?|tokens?)\][^\S\n]*\n"
    r"(?P<rows>(?:[^\n\[][^\n]{0,300}(?:\n|\Z)){1,40})"
)
_OF_TABLE = re.compile(r"(?m:^)[^\S\n]*[\w.\"'-]{1,60}\s?[=:]\s{0,3}[\"']?(?P<value>[^\s\"'\ue000]{3,200})")


def forms(text: str) -> Iterator[Span]:
    """The spans of what stands where a secret stands."""
    for found in matches("forms", text):
        quoted = "quoted" in found.re.groupindex and found["quoted"] is not None
        yield found.span("quoted" if quoted else "value")
    if "://" in text:
        for found in _URL.finditer(text):
            yield from _addressed(found[0], found.start())
    if "=" in text:
        for found in _GIVES.finditer(text):
            if words.giving.fullmatch(found["name"]) and (len(found["value"]) >= 8 or "pass" in found["name"].lower()):
                yield found.span("value")
    if "[" in text:
        for table in _TABLE.finditer(text):
            yield from (row.span("value") for row in _OF_TABLE.finditer(text, *table.span("rows")))


def _addressed(url: str, at: int) -> Iterator[Span]:
    """The parts of an address's path that nobody can guess, where it names a hook, a reset or the like."""
    path = url.partition("?")[0]
    if words.places.search(path):
        for found in _SEGMENT.finditer(path, path.find("://") + 3):
            if not _VERBATIM.fullmatch(found["value"]):
                yield at + found.start("value"), at + found.end("value")
