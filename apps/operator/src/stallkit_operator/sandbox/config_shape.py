"""The shape of a configuration: its text with every secret replaced, so that a diff of two shapes has none.  Pure.

Secrets are replaced before the diff is made: a line of a diff alone would not show what calls its value a secret.  What
the redactor finds is replaced, what stands behind a name of a secret or of a credential's header, and what is a secret
anywhere in one of the two texts is replaced in both, also if it is wrapped.  Equal secrets have the same number, so
that a changed one shows.
"""

from __future__ import annotations

import difflib
import re
from typing import Iterator

from stallkit.redact.redact import beyond_address, names_secret, spans, without_addresses
from stallkit.redact.views import Span, joined
from stallkit.terminal.text import replaced

MOST = 200_000  # characters of a diff
_SHORTEST = 4  # characters of a secret that is looked for elsewhere as well
_WRAPS = 12  # of one that may go on in the next row there
_EDGES = " \t│┃║|#"
_WRAPPED = r"(?:[^\S\n]*[│┃║|]?[^\S\n]*\n[^\S\n]*[│┃║|#]?[^\S\n]*)?"  # also in a frame, or a comment
_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie", "basicauth", "code", "codes"})
_NOT = re.compile(r"(?:proxy|fastcgi|uwsgi|scgi|grpc|memcached)_pass", re.IGNORECASE)  # nginx names addresses so
_NAME = re.compile(r"[$%]?[A-Za-z][\w.-]{1,80}")
_ASSIGNED = re.compile(
    r"[\"']?\s{0,8}[:=](?:\s{0,8}(?:\"(?P<double>(?:[^\"\\\n]|\\.)*)\"|'(?P<single>[^'\n]*)'|\[(?P<list>[^\]]*)\])"
    r"|[^\S\n]{0,8}(?P<bare>[^\s,;}\]{\[\"'][^\n,;}]*))"
)
_BEHIND = re.compile(r"[\"']?[^\S\n]+(?P<row>[^\n;{}]+)")
_BELOW = re.compile(
    r"[\"']?[^\S\n]*[:=]?[^\S\n]*[|>]?-?[^\S\n]*\n(?:[^\S\n]*\n){0,2}"
    r"(?P<below>(?:[^\S\n]+\S[^\n]*(?:\n|\Z))+|\S+[^\S\n]*(?:\n|\Z))"
)
_IS_VALUE = re.compile(r"[:=][^\S\n]{0,8}[\"']\Z")  # before a name that is another's value: "auth": "token"
_WORD = re.compile(r"[^\s\"',]+")
_KEPT = re.compile(r"[$%]\{?\w+\}?|Bearer|Basic|Token|Digest|https?|none|socks[45]|[=:|>-]+", re.IGNORECASE)
_USER = re.compile(r"(?<![^\s/\"'=,(])[^\s/:@\"']+:(?P<secret>[^\s@\"'/]+)@(?=[\w\[])")


def shape(text: str) -> str:
    """The text with its secrets replaced.

    >>> shape("BasicAuth ada hunter2")
    'BasicAuth [secret 1] [secret 2]'
    """
    return _shaped(text, _numbers(text))


def shape_diff(before: str, after: str, name: str = "") -> str:
    """A unified diff of the two shapes; empty if they are the same.

    >>> print(shape_diff("port = 1\\npassword = abc123\\n", "port = 2\\npassword = xyz789\\n"))
    --- before
    +++ after
    @@ -1,2 +1,2 @@
    -port = 1
    -password = [secret 1]
    +port = 2
    +password = [secret 2]
    """
    numbers = _numbers(before, after)
    was, now = _shaped(before, numbers).splitlines(), _shaped(after, numbers).splitlines()
    names = (f"{name} before".strip(), f"{name} after".strip())
    found = "\n".join(difflib.unified_diff(was, now, *names, lineterm=""))
    return found if len(found) <= MOST else f"{found[:MOST]}\n[{len(found) - MOST} more characters]"


def _numbers(*texts: str) -> dict[str, int]:
    """The secrets of all texts, numbered in their order."""
    found: dict[str, int] = {}
    for text in texts:
        for start, end in _secrets(text):
            for row in text[start:end].split("\n"):
                if row.strip():
                    found.setdefault(row.strip(), len(found) + 1)
    return found


def _shaped(text: str, numbers: dict[str, int]) -> str:
    places = list(_secrets(text))
    for secret in numbers:
        if len(secret) >= _SHORTEST:
            pattern = (_WRAPPED if len(secret) >= _WRAPS else "").join(map(re.escape, secret))
            places += [found.span() for found in re.finditer(pattern, text)]
    return replaced(text, [(start, end, _masks(text[start:end], numbers)) for start, end in joined(places)])


def _masks(text: str, numbers: dict[str, int]) -> str:
    """Marks instead of secrets; rows stay rows."""
    rows = text.split("\n")
    return "\n".join(_mask(row.strip(), numbers) if row.strip() else row for row in rows)


def _mask(secret: str, numbers: dict[str, int]) -> str:
    number = numbers.get(secret)
    if number is None:  # two that overlap, or a row of one that is wrapped: of the longest known one
        part = secret.strip(_EDGES)
        _, number = max(((len(one), n) for one, n in numbers.items() if one in part or part in one), default=(0, 0))
    return f"[secret {number}]" if number else "[secret]"


def _secrets(text: str) -> list[Span]:
    plain = text.replace("\\n", " \n")  # rows inside a string of JSON, each character in its place
    return joined(span for view in {text: 0, plain: 0} for span in _in_view(view))


def _in_view(text: str) -> list[Span]:
    return [*spans(text), *_named(text), *(found.span("secret") for found in _USER.finditer(text))]


def _named(text: str) -> Iterator[Span]:
    """What stands behind a name of a secret: the value that is assigned to it, the rest of the row, else rows below."""
    for name in _NAME.finditer(without_addresses(text)):
        if _NOT.fullmatch(name[0]) or not (name[0].lower() in _HEADERS or names_secret(name[0].lstrip("$%"))):
            continue
        value = _ASSIGNED.match(text, name.end())
        if value is not None:
            yield from _words(name[0], text, *value.span(value.lastgroup or 0))
        elif behind := _BEHIND.match(text, name.end()):
            yield from _words(name[0], text, *behind.span("row"))
        elif (below := _BELOW.match(text, name.end())) and not _IS_VALUE.search(
            text, max(name.start() - 10, 0), name.start()
        ):
            yield from _words(name[0], text, *below.span("below"))


def _words(name: str, text: str, start: int, end: int) -> Iterator[Span]:
    """The words that may be secrets: no variables, which name one, no schemes, and no places."""
    for word in _WORD.finditer(text, start, end):
        if not _KEPT.fullmatch(word[0]):
            yield from beyond_address(name, text, *word.span())
