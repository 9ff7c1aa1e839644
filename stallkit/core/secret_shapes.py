"""Secrets that are known by what they look like, without a word beside them.

Every pattern reads a limited number of characters from where it begins, so that the time is linear in the text.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate
from operator import sub
from typing import Iterator

from stallkit.core import late
from stallkit.core.secret_views import Span

__all__ = ["shapes"]

# Beside the kept rules: shorter forms of theirs (better too much than too little), and some that they do not have.
_TOKENS = (
    ("AKIA ASIA ABIA ACCA", r"\b(?P<value>A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16})\b"),  # AWS access key ids
    ("ghp_ gho_ ghu_ ghs_ ghr_", r"\b(?P<value>gh[pousr]_[A-Za-z0-9]{20,200})"),
    ("github_pat_", r"\b(?P<value>github_pat_\w{20,200})"),
    ("glpat- gldt- glrt- glcbt- glft- glsoat- glptt-", r"\b(?P<value>gl[a-z]{2,8}-[\w-]{20,200})"),
    ("sk-", r"\b(?P<value>sk-[A-Za-z0-9_-]{16,200})"),  # OpenAI, Anthropic and many others
    ("k_live_ k_test_", r"\b(?P<value>[prs]k_(?:live|test)_\w{16,200})"),  # Stripe
    ("whsec_", r"\b(?P<value>whsec_[\w/+]{16,200})"),
    ("xox xapp-", r"\b(?P<value>(?:xox[a-z]|xapp)-[\w-]{10,200})"),  # Slack
    ("AIza", r"\b(?P<value>AIza[\w-]{30,200})"),  # Google, as the next three
    ("ya29.", r"\b(?P<value>ya29\.[\w-]{20,200})"),
    ("GOCSPX-", r"\b(?P<value>GOCSPX-[\w-]{20,200})"),
    ("4/0A", r"(?<![\w/])(?P<value>4/0A[\w-]{20,200})"),
    ("npm_", r"\b(?P<value>npm_[A-Za-z0-9]{30,200})"),
    ("pypi-", r"\b(?P<value>pypi-[\w-]{20,200})"),
    ("hf_", r"\b(?P<value>hf_[A-Za-z0-9]{20,200})"),  # Hugging Face
    ("_v1_", r"\b(?P<value>do[oprs]_v1_[a-f0-9]{40,200})"),  # DigitalOcean
    ("eyJ", r"\b(?P<value>eyJ[\w-]{8,200}[\w-]{0,1000}\.[\w-]{8,200})"),  # JSON web tokens
    ("AGE-SECRET-KEY-1", r"\b(?P<value>AGE-SECRET-KEY-1[A-Z0-9]{40,200})"),
    ("hvs. hvb. hvr.", r"\b(?P<value>hv[brs]\.[\w-]{20,200})"),  # HashiCorp Vault
    ("SG.", r"\b(?P<value>SG\.[\w-]{16,200}\.[\w-]{16,200})"),  # SendGrid
    ("SK AC", r"\b(?P<value>(?:SK|AC)[a-f0-9]{32})\b"),  # Twilio
    ("gsk_ glsa_ lin_api_", r"\b(?P<value>(?:gsk|glsa|lin_api)_\w{20,200})"),  # Groq, Grafana, Linear
    ("dapi", r"\b(?P<value>dapi[a-f0-9]{32})\b"),  # Databricks
    ("shpat_ shpca_ shppa_ shpss_", r"\b(?P<value>shp(?:at|ca|pa|ss)_[a-f0-9]{32})\b"),  # Shopify
    (":AA", r"(?<!\d)(?P<value>\d{8,10}:AA[\w-]{30,200})"),  # Telegram
    (". .", r"\b(?P<value>[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,200})"),  # Discord
    ("-us", r"\b(?P<value>[0-9a-f]{32}-us\d{1,2})\b"),  # Mailchimp
    ("key-", r"\b(?P<value>key-[0-9a-z]{32})\b"),  # Mailgun
    # Hashes of passwords.
    ("$", r"(?P<value>\$(?:[1567y]|2[abxy]|apr1|argon2\w{1,2}|scrypt|pbkdf2[\w-]{0,10})\$[\w./$,=+-]{13,300})"),
)
# A word that goes on behind what was recognised belongs to it.
_REST = late.compile(r"[\w+/=%~-]*(?:\.[\w+/=%~-]{8,})*")

_KEY_BEGINS = late.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d")
_KEY_ENDS = late.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]+")
KEY_TEXT = 16_384  # characters of a private key without an end

# A fingerprint is shown to be compared, and is no secret.
_LONG = late.compile(
    r"(?<![\w/+-])(?<!SHA256:)"
    r"(?=[\w+/-]{0,200}\d)(?=[\w+/-]{0,200}[A-Z])(?=[\w+/-]{0,200}[a-z])[A-Za-z0-9+/_-]{40,}={0,2}"
)

_VARIED = 16  # different characters of it: a ruler has few
_NAME = late.compile(r"[A-Z]?[a-z]*(?:[_.-][A-Za-z]?[a-z]+)*\d{0,4}|[A-Z]{1,8}\d{0,4}")  # a part of a path

# Rows of base64 one below the other: a key whose first line is out of sight.
_BLOCK = late.compile(r"(?:(?<![\w+/])[A-Za-z0-9+/]{60,200}\n[^\S\n]{0,40}){2,200}[A-Za-z0-9+/]{1,200}={0,2}")

_LISTED = late.compile(r"[^\W\d_]+")
_FEWEST = 11  # words of a seed phrase: one of twelve may be drawn twice
_WORDS = late.compile(r"(?<![^\W\d_])[^\W\d_]{3,8}(?![^\W\d_])")
_GAP = late.compile(r"[\s\d.,:;)(|#-]{1,80}\Z")  # between two of them: they may be numbered, and in columns


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


@cache
def _rules() -> list[tuple[str, str]]:
    """Each text that a rule begins with or has in it, and the rule's pattern."""
    from stallkit.core.secret_rules import RULES  # here: it is needed where something is redacted

    return [(one, pattern) for texts, pattern in (*_TOKENS, *RULES) for one in texts.split()]


_compiled = cache(re.compile)  # each when its text is first met: together they take a tenth of a second


def _ruled(text: str) -> Iterator[Span]:
    """What the kept rules recognise."""
    for pattern in dict.fromkeys([pattern for one, pattern in _rules() if one in text]):
        for found in _compiled(pattern).finditer(text):
            yield found.start("value"), _whole(text, found.end("value"))


def _whole(text: str, end: int) -> int:
    rest = _REST.match(text, end)
    return rest.end() if rest else end


@cache
def _beginnings() -> frozenset[str]:
    from stallkit.core.secret_rules import BEGINNINGS

    return frozenset(BEGINNINGS[at : at + 4].strip() for at in range(0, len(BEGINNINGS), 4))


def _phrases(text: str) -> Iterator[Span]:
    """Seed phrases: so many words of their list, one after the other; a wrapped row may cut one."""
    known = _beginnings()
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
