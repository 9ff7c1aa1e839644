"""The one redactor: what is written to a log, an event or a file passes through it.

It masks what looks like a credential and keeps the rest readable.  Better one mask too many than one too few: it is
never applied before detection, only to what leaves the program.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["MASK", "redact", "redact_all"]

MASK = "[redacted]"

# The shapes in which services issue their tokens, as their own documentation states them.
_TOKENS = re.compile(
    r"""
      \b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b                     # AWS access key ids
    | \bgh[pousr]_[A-Za-z0-9]{20,}\b | \bgithub_pat_\w{20,}       # GitHub
    | \bglpat-[\w-]{20,}                                          # GitLab
    | \bsk-[A-Za-z0-9_-]{16,} | \b[rs]k_(?:live|test)_\w{16,}     # OpenAI, Anthropic; Stripe
    | \bxox[abeoprs]-[\w-]{10,} | \bxapp-[\w-]{10,}               # Slack
    | \bAIza[\w-]{30,} | \bya29\.[\w-]{20,}                       # Google
    | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[\w-]{20,}                  # package registries
    | \bhf_[A-Za-z0-9]{20,} | \bdop_v1_[a-f0-9]{40,}              # Hugging Face, DigitalOcean
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*                           # JSON web tokens
    | \b(?:AGE-SECRET-KEY-1)[A-Z0-9]{40,}                         # age
    """,
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)[^\s@/]{1,200}(?=@)", re.IGNORECASE)
_HEADER = re.compile(r"(\b(?:Bearer|Basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"""(\b[\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|credential)[\w.-]{0,20}
        ["']?\s{0,3}[=:]\s{0,3}["']?)([^\s"'\[\]]{4,})""",
    re.IGNORECASE | re.VERBOSE,
)
_LONG = re.compile(
    r"(?<![\w/+=-])(?=[\w+/-]*\d)(?=[\w+/-]*[A-Z])(?=[\w+/-]*[a-z])[A-Za-z0-9+/_-]{40,}={0,2}(?![\w/+=-])"
)


def redact(text: str) -> str:
    """The text with everything that looks like a credential masked.

    >>> redact("export API_KEY=abcdef123456")
    'export API_KEY=[redacted]'
    """
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _IN_URL.sub(rf"\g<1>{MASK}", text)
    text = _HEADER.sub(rf"\g<1>{MASK}", text)
    text = _TOKENS.sub(MASK, text)
    text = _ASSIGNED.sub(rf"\g<1>{MASK}", text)
    return _LONG.sub(MASK, text)


def redact_all(value: Any) -> Any:
    """The same for every string inside a value made of dicts, lists and plain values."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redact_all(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_all(item) for item in value]
    return value
