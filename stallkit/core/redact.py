"""The redactor: everything written to a log, an event or a file passes through it.

It masks what looks like a credential, rather too much than too little, and keeps the rest readable.  It is applied only
to what leaves the program, never before detection.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["LONG", "MASK", "NAMED", "PASSES", "TOKENS", "redact", "redact_all"]

MASK = "[redacted]"

# The shapes in which services issue their tokens, as their own documentation states them.
TOKENS = re.compile(
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
    | \bAGE-SECRET-KEY-1[A-Z0-9]{40,} | \bhvs\.[\w-]{20,}         # age, HashiCorp Vault
    | \bSG\.[\w-]{20,}\.[\w-]{20,} | \bSK[a-f0-9]{32}\b           # SendGrid, Twilio
    | \bgsk_\w{20,} | \bglsa_\w{20,} | \blin_api_\w{20,}          # Groq, Grafana, Linear
    | \bdapi[a-f0-9]{32}\b | \bshp(?:at|ca|pa|ss)_[a-f0-9]{32}\b  # Databricks, Shopify
    | \b\d{8,10}:AA[\w-]{30,}                                    # Telegram
    """,
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL
)
_NAMES = r"(?:passw(?:or)?d|passphrase|[_-]pass|[_-]pwd|secret|token|(?:api|access|account)[_-]?key|credential)"
_VALUE = r"""[^\s"'\[\]]{4,}"""
# Words after which a secret follows; the first group is kept.
NAMED = (
    re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)[^\s@/]{1,200}(?=@)", re.IGNORECASE),
    re.compile(rf"(\bAuthorization:\s*(?:token|bearer|basic|digest|apikey)\s+){_VALUE}", re.IGNORECASE),
    # Elsewhere "basic" and "bearer" are plain words: base64 has a digit, a = or a capital inside.
    re.compile(r"(\b(?i:Bearer|Basic)\s+)(?=[\w.~+/-]*(?:\d|=|[a-z][A-Z]))[\w.~+/=-]{8,}"),
    re.compile(rf"""({_NAMES}[\w.-]{{0,20}}["']?\s{{0,3}}[=:]\s{{0,3}}["']?){_VALUE}""", re.IGNORECASE),
    re.compile(rf"""((?<!\S)--?[\w-]{{0,20}}{_NAMES}\s+["']?){_VALUE}""", re.IGNORECASE),
    re.compile(
        r"(\b(?:mysql\w*|mariadb\w*|sshpass)\b[^\n]{0,100}?\s-p)[^\s'\"]{4,}"
    ),  # the password in the option itself
    re.compile(r"(\bcurl\b[^\n]{0,100}?\s(?:-u|--user)[= ]?\s?[^\s:]{1,64}:)[^\s]{4,}"),
    re.compile(rf"(\blogin\s+\S{{1,100}}\s+password\s+){_VALUE}"),  # .netrc
)
LONG = re.compile(
    # not a path: its first part would be a word
    r"(?<![\w/+-])(?!/?[A-Z]?[a-z_.-]{1,100}/)(?=[\w+/-]*\d)(?=[\w+/-]*[A-Z])(?=[\w+/-]*[a-z])[A-Za-z0-9+/_-]{40,}={0,2}"
)
PASSES = 8  # a mask may reveal the start of a secret glued to it; limited, since a hostile text may glue thousands


def redact(text: str) -> str:
    """The text with everything that looks like a credential masked.

    >>> redact("export API_KEY=abcdef123456")
    'export API_KEY=[redacted]'
    """
    for _ in range(PASSES):
        before, text = text, _masked(text)
        if text == before:
            break
    return text


def redact_all(value: Any) -> Any:
    """The same for every string inside a value made of dicts, lists and plain values."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redact_all(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_all(item) for item in value]
    return value


def _masked(text: str) -> str:
    text = _PRIVATE_KEY.sub(MASK, text)
    text = TOKENS.sub(MASK, text)
    for named in NAMED:
        text = named.sub(rf"\g<1>{MASK}", text)
    return LONG.sub(MASK, text)
