"""The redactor for text with a place on a screen: each cell of a secret becomes a ``*``, so that nothing moves.

It takes the rules of `stallkit.redact.redact`, and sees through control sequences: a token may have colours inside.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import deque
from typing import Iterator

from stallkit.redact.redact import redact, spans
from stallkit.redact.views import CONTROL, ENDS, Span, joined
from stallkit.terminal.text import cells, replaced
from stallkit_lab.record.asciicast import OUTPUT

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


# --- the redactor for a recording ---

HOLD = 65_536  # characters seen before the first of them is released: longer than any token, and a private key
KEEP = 8_192  # of them that are still held
CONTEXT = 4_096  # released characters that may announce a secret


class StreamMask:
    """Masks a recording's output events; feed it all events in order, and write the results in that order."""

    def __init__(self) -> None:
        self._held: deque[tuple[float, str, str]] = deque()
        self._size = self._fresh = 0  # characters held; and of these, not searched yet
        self._before = ""  # the last released text, unmasked
        self._key: int | None = None  # the beginning of an unended private key, counted from the held text

    def feed(self, at: float, code: str, data: str) -> Iterator[tuple[float, str, str]]:
        """Take an event; return the events that can be released then."""
        self._held.append((at, code, data))
        if code == OUTPUT:
            self._size += len(data)
            self._fresh += len(data)
        if self._size == 0:
            return self._release(0)
        return self._release(KEEP) if self._fresh >= HOLD - KEEP else iter(())

    def settled(self) -> Iterator[tuple[float, str, str]]:
        """Release all but the last word, which may go on; for use after a pause in the output."""
        text = self._text()
        return self._release(len(text) - _last_word(text))

    def flush(self) -> Iterator[tuple[float, str, str]]:
        """Release everything, at the end."""
        return self._release(0)

    def _text(self) -> str:
        return "".join(data for _, code, data in self._held if code == OUTPUT)

    def _release(self, keep: int) -> Iterator[tuple[float, str, str]]:
        """Mask all held text, and release all but about `keep` characters."""
        text = self._text()
        known = len(self._before)
        found = changes_in(self._before + text, None if self._key is None else self._key + known)
        changes = list(_behind(found, known, text))
        key = _open_key(text, self._key)
        held, self._held, self._size, self._fresh = self._held, deque(), 0, 0
        out: list[tuple[float, str, str]] = []
        start = index = released = 0
        for at, code, data in held:
            end = start + (len(data) if code == OUTPUT else 0)
            if code == OUTPUT:
                while index < len(changes) and changes[index][1] <= start:
                    index += 1
                shown = replaced(data, _within(changes, index, start, end))
            else:
                shown = data
            if self._size or end > len(text) - keep:
                self._held.append((at, code, data))
                self._size += len(data) if code == OUTPUT else 0
            else:
                out.append((at, code, shown))
                released = end
                if code == OUTPUT:
                    self._before = (self._before + data)[-CONTEXT:]
            start = end
        self._key = None if key is None or key + KEY_TEXT <= released else key - released
        return iter(out)


def _behind(changes: list[Change], known: int, text: str) -> Iterator[Change]:
    """The changes to the text after `known` characters; one that reaches into those is cut."""
    for start, end, told in changes:
        if start >= known or told.startswith("\x1b"):
            yield max(start - known, 0), max(end - known, 0), told
        elif end > known:
            yield 0, end - known, stars(text[: end - known])


def _last_word(text: str) -> int:
    """The beginning of the last word of a stream; its end if that is a blank, or the text is empty."""
    string = next((one for one in reversed(list(CONTROL.finditer(text))) if one[1]), None)
    if string and string.end() == len(text) and not string[1].endswith(ENDS):
        return _last_word(text[: string.start()])
    begins = len(text)
    for start, end in reversed(list(_pieces(text))):
        piece = text[start:end]
        word = re.search(r"\S*\Z", piece)
        assert word is not None  # it may be empty
        if word[0]:
            begins = start + word.start()
        if len(word[0]) < len(piece):
            break
    return begins


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """The runs of a stream that are shown as text."""
    at = 0
    for found in CONTROL.finditer(text):
        if found.start() > at:
            yield at, found.start()
        at = found.end()
    if at < len(text):
        yield at, len(text)


def _open_key(text: str, key: int | None) -> int | None:
    """The beginning of a private key without an end in the text; `key` is where one began before."""
    begins = [found.start() for found in BEGIN.finditer(text)]
    began = begins[-1] if begins else key
    return None if began is None or END.search(text, max(began, 0)) else began


def _within(changes: list[Change], index: int, start: int, end: int) -> Iterator[Change]:
    """The changes to a part of the text.  Masked cells keep their places; a control string goes to its first part."""
    while index < len(changes) and changes[index][0] < end:
        first, last, instead = changes[index]
        whole = start <= first and last <= end
        if whole:
            yield first - start, last - start, instead
        elif len(instead) == last - first:
            cut = max(start, first), min(end, last)
            yield cut[0] - start, cut[1] - start, instead[cut[0] - first : cut[1] - first]
        else:
            yield max(start, first) - start, min(end, last) - start, instead if start <= first else ""
        index += 1
