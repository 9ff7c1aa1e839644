"""One-time codes and PINs: a short number beside a word for it, in many languages."""

from __future__ import annotations

import re
from typing import Iterator

from stallkit.core import late
from stallkit.core.secret_views import Span

__all__ = ["codes"]

_WORDS = (
    "code", "código", "codigo", "codice", "kod", "kód",
    "код", "totp", "otp", "pin", "2fa", "tan", "码", "碼", "コード", "인증",
    "번호", "코드",
)  # fmt: skip
_REACH = 60  # characters before and behind a word that may make it one for a secret

_CODE = (
    r"(?<![A-Za-z0-9_.,/-])(?<!\d:)(?:[A-Z]-)?(?P<value>\d{3}[ -]\d{3}|\d{4}[ -]\d{4}|\d{4,8}"
    r"|(?=[A-Z-]{0,8}\d|[A-Z]{4}-[A-Z]{4}\b)[A-Z0-9]{3,5}-[A-Z0-9]{3,5})(?![\w%:/-]|[.,]\d)"
)
# What makes the English word one for a secret; the code of an exit, an error or a country is none.
_WHOSE = late.compile(
    r"(?:verification|security|confirmation|one[- ]?time|log[- ]?in|sign[- ]?in|authenti\w{1,9}|access|2fa|mfa|sms"
    r"|two[- ]factor|device|user|backup|recovery|pairing|your|the|enter|pin|(?:^|\n|[.:;!?–—-]\s)\W{0,4})"
    r"(?:\W{1,2}\w{1,14}){0,2}?"
    r"\W{0,2}\Z|(?:sicherheits|bestätigungs|zugangs|anmelde|einmal|verificatie|pass)-?\Z"
)
_OTHERS = late.compile(
    r"(?:exit|error|status|return|response|zip|postal|area|country|source|http|post|bar|key|op)[ _-]?\Z"
)
_OF = late.compile(r"s?\s(?:de\s|d['’]|di\s)\w{4,14}|\s(?:is|to)\b")
_SIX = late.compile(r"(?:\s?[:=])?\s{0,3}(?:\d{6}|\d{3}[- ]\d{3})(?![\d.])")
_BEHIND = late.compile(rf"(?:(?!\d)[^\n]){{0,40}}?{_CODE}")
_MIXED = late.compile(  # letters and digits: only where a colon or a verb leads to it
    r"(?:(?!\d)[^\n:]){0,40}?(?::|\sis:?)\s{1,3}(?P<value>(?=[A-Z]{0,7}\d)(?=\d{0,7}[A-Z])[A-Z0-9]{5,8})(?![\w%:/-])"
)
_BEFORE = late.compile(
    rf"{_CODE}[^\S\n]{{0,2}}(?:(?:is\s(?:your|the)|ist\s(?:ihr|dein)|est\s(?:votre|ton)|es\s(?:tu|su)|é\so\sseu"
    r"|è\sil\stuo|to\stwój|är\sdin|[-–—:]\s?(?:your|ваш|ihr|votre|tu))\b|是您的|是你的|がお客様の)[^\n]{0,40}\Z",
    re.IGNORECASE,
)


def codes(text: str, low: str) -> Iterator[Span]:
    """The spans of one-time codes; `low` is the text in lower case."""
    for word in _WORDS:
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            before = _BEFORE.search(text, max(at - _REACH, 0), at)
            if before:
                yield before.span("value")
            if _is_secret(low, word, at, end):
                behind = _BEHIND.match(text, end) or _MIXED.match(text, end)
                if behind:
                    yield behind.span("value")
            at = low.find(word, end)


def _is_secret(low: str, word: str, at: int, end: int) -> bool:
    before, after = low[max(at - 40, 0) : at], low[end : end + 1]
    if word in ("totp", "otp", "pin", "2fa", "tan", "kod", "kód", "код"):
        return not (before[-1:].isalpha() or (after.isalpha() and word in ("totp", "otp", "pin", "2fa", "tan")))
    if word != "code":
        return True
    return not _OTHERS.search(before) and bool(_SIX.match(low, end) or _WHOSE.search(before) or _OF.match(low, end))
