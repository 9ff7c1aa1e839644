"""The redactor for a recording: a secret may be cut over many outputs, so it holds output until enough was seen.

Times and the order of events stay.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Iterator

from stallkit.redact.views import CONTROL, ENDS
from stallkit.terminal.text import replaced
from stallkit_lab.record.asciicast import OUTPUT
from stallkit_lab.record.mask import BEGIN, END, KEY_TEXT, Change, changes_in, stars

__all__ = ["CONTEXT", "HOLD", "KEEP", "StreamMask"]

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
        """Take an event; return the events that can be released by now."""
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
    """The beginning of the last word of a stream; its end where that is a blank, or the text is empty."""
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
    """The changes to a part of the text.  Masked cells stay where they are; a control string goes to its first part."""
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
