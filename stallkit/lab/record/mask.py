"""The redactor for text with a place on a screen: each cell of a secret becomes a ``*``, so that nothing moves.

It takes the rules of `stallkit.core.redact`, and sees through control sequences: a token may have colours inside.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from itertools import accumulate
from typing import Iterable, Iterator

from stallkit.core import redact as rules
from stallkit.core.redact import redact
from stallkit.core.text import cells

__all__ = ["BEGIN", "CONTROL", "END", "ENDS", "KEY_TEXT", "Change", "apply", "changes_in", "mask", "stars"]

KEY_TEXT = 16_384  # characters masked from the beginning of a private key without an end

# A mask shows where a secret right beside it begins.  It must not be part of a word, or of a value: see there.
_FILLER = "]"
# A phrase on the line below a prompt is not a value: "Permission denied" is not that of "Password: ".  A single word
# there may be one, as may one with a digit: programs show new passwords that way.
_PHRASE_BELOW = re.compile(r"\s*\n[^\S\n]*[^\s\d]+[^\S\n]+\S")
_SEAM = "\x1f"  # in place of a sequence: a blank, but not a line end

BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
END = re.compile(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")

# Control strings (first group: those that end, or go on to the end of the text), then sequences, then single controls.
CONTROL = re.compile(
    r"""
      (\x1b[\]PX^_] [^\x07\x18\x1a\x1b]* (?:\x1b(?!\\)[^\x07\x18\x1a\x1b\\]*)? (?:\x07|\x18|\x1a|\x1b\\|\Z))
    | \x1b\[ [0-?]* [ -/]* (?:[@-~]|\Z)
    | \x1b [ -/]* (?:[0-~]|\Z)
    | [\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]
    """,
    re.VERBOSE,
)
ENDS = ("\x1b\\", "\x07", "\x18", "\x1a")  # of a control string
_REPORT = re.compile(r"\b(title|msg)=([A-Za-z0-9+/]*={0,2})")

Change = tuple[int, int, str]  # from, to, and the replacement


def mask(text: str) -> str:
    """Plain text with every cell of what looks like a credential masked; blanks and line ends stay.

    >>> mask("export API_KEY=abcdef123456 and on")
    'export API_KEY=************ and on'
    """
    return apply(text, [(start, end, stars(text[start:end])) for start, end in _spans(text)])


def changes_in(text: str, key: int | None = None) -> list[Change]:
    """The changes to a text with control sequences, in order, without overlaps."""
    strings: list[Change] = []
    plain: list[str] = []
    places: list[int] = []  # where each piece begins in the text
    at = 0
    for found in CONTROL.finditer(text):
        if found.start() > at:
            plain.append(text[at : found.start()])
            places.append(at)
        if found[1]:
            strings += _string(found[1], found.start())
        at = found.end()
    if at < len(text):
        plain.append(text[at:])
        places.append(at)
    spans = list(_mapped(_spans("".join(plain)), plain, places, 0))
    if len(plain) > 1:  # a sequence may be inside a secret, or between a word and a secret
        spans += _mapped(_spans(_SEAM.join(plain)), plain, places, 1)
    if key is not None:
        ended = END.search(text, max(key, 0))
        last = min(ended.end() if ended else len(text), max(key + KEY_TEXT, 0))
        spans += [
            (max(key, at), min(last, at + len(piece))) for at, piece in zip(places, plain, strict=True) if at < last
        ]
    cells_of = [(start, end, stars(text[start:end])) for start, end in _joined(spans)]
    return sorted(cells_of + strings)


def _spans(text: str) -> list[tuple[int, int]]:
    """The spans of secrets in a plain text."""
    keys = []
    for begun in BEGIN.finditer(text):
        ended = END.search(text, begun.end(), begun.end() + KEY_TEXT)
        keys.append((begun.start(), ended.end() if ended else min(len(text), begun.end() + KEY_TEXT)))
    hidden = apply(text, [(start, end, _FILLER * (end - start)) for start, end in _joined(keys)])
    spans = keys
    for _ in range(rules.PASSES):
        found = [span.span() for span in rules.TOKENS.finditer(hidden)]
        for named in rules.NAMED:
            found += [(one.end(1), one.end()) for one in named.finditer(hidden) if not _is_below(one)]
        found += [span.span() for span in rules.LONG.finditer(hidden)]
        before = hidden
        hidden = apply(hidden, [(start, end, _FILLER * (end - start)) for start, end in _joined(found)])
        spans = spans + found
        if hidden == before:
            break
    return _joined(spans)


def _is_below(named: re.Match[str]) -> bool:
    """Whether a supposed value of a name is the beginning of a phrase on the line below."""
    return _PHRASE_BELOW.match(named.string, named.start(1) + len(named[1].rstrip("\"' \t\r\n"))) is not None


def _mapped(
    spans: Iterable[tuple[int, int]], pieces: list[str], places: list[int], between: int
) -> Iterator[tuple[int, int]]:
    """Spans of the pieces joined with this many characters, as spans of their original text."""
    if not pieces:
        return
    begins = [0, *accumulate(len(piece) + between for piece in pieces)][:-1]
    for start, end in spans:
        index = bisect_right(begins, start) - 1
        while index < len(pieces) and begins[index] < end:
            first = max(start - begins[index], 0)
            last = min(end - begins[index], len(pieces[index]))
            if first < last:
                yield places[index] + first, places[index] + last
            index += 1


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, with overlapping ones joined."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return joined


def apply(text: str, changes: Iterable[Change]) -> str:
    """The text with its changes made."""
    parts, at = [], 0
    for start, end, instead in changes:
        parts += [text[at:start], instead]
        at = end
    return "".join([*parts, text[at:]])


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
