"""The redactor for text with a place on a screen: each cell of a secret becomes a ``*``, so that nothing moves.

It takes the rules of `stallkit.redact.redact`, and sees through control sequences: a token may have colours inside.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Iterator

from stallkit.redact.redact import redact, spans
from stallkit.redact.views import CONTROL, ENDS, Span, joined
from stallkit.terminal.text import cells, replaced

__all__ = ["BEGIN", "CONTROL", "END", "ENDS", "KEY_TEXT", "Change", "changes_in", "mask", "stars"]

KEY_TEXT = 16_384  # characters masked from the beginning of a private key without an end

BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
END = re.compile(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")

_REPORT = re.compile(r"\b(title|msg)=([A-Za-z0-9+/]*={0,2})")

Change = tuple[int, int, str]  # from, to, and the replacement


def mask(text: str) -> str:
    """Plain text with every cell of what looks like a credential masked; blanks and line ends stay.

    >>> mask("export API_KEY=abcdef123456 and on")
    'export API_KEY=************ and on'
    """
    return replaced(text, [(start, end, stars(text[start:end])) for start, end in spans(text)])


def changes_in(text: str, key: int | None = None) -> list[Change]:
    """The changes to a text with control sequences, in order, without overlaps."""
    controls = list(CONTROL.finditer(text))
    strings = [change for found in controls if found[1] for change in _string(found[1], found.start())]
    found = spans(text)
    if key is not None:
        ended = END.search(text, max(key, 0))
        last = min(ended.end() if ended else len(text), max(key + KEY_TEXT, 0))
        found = joined([*found, *_shown(text, controls, max(key, 0), last)])
    return sorted([(start, end, stars(text[start:end])) for start, end in found] + strings)


def _shown(text: str, controls: list[re.Match[str]], start: int, end: int) -> Iterator[Span]:
    """A span without its control sequences."""
    at = 0
    for control in [*(one.span() for one in controls), (len(text), len(text))]:
        if max(at, start) < min(control[0], end):
            yield max(at, start), min(control[0], end)
        at = control[1]


def stars(text: str) -> str:
    """As many cells; line ends and blanks stay."""
    return "".join(char if char in "\r\n\t " else "*" * cells(char) for char in text)


def _string(text: str, at: int) -> list[Change]:
    """A control string: the text of a title, a link or a clipboard passes the redactor as well."""
    if text.startswith("\x1b]52;"):
        kept, _, last = text.rpartition(";")
        clean = f"{kept};" + ("" if last.rstrip("\x07\x1b\\") else last)
    elif text.startswith("\x1b]7501;"):
        clean = _REPORT.sub(_report, text)
    else:
        clean = redact(text)
    return [] if clean == text else [(at, at + len(text), _ended(clean, text))]


def _ended(clean: str, text: str) -> str:
    """A control string with its end unchanged."""
    end = next((end for end in ENDS if text.endswith(end)), "")
    return clean if clean.endswith(end) else clean + end


def _report(found: re.Match[str]) -> str:
    """A text inside a status report: base64 that the redactor's rule for long words would take for a key."""
    try:
        plain = base64.b64decode(found[2] + "=" * (-len(found[2]) % 4)).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return found[0]
    clean = redact(plain)
    return found[0] if clean == plain else f"{found[1]}={base64.b64encode(clean.encode()).decode()}"
