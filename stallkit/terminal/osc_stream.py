"""The parts of a raw terminal stream that address the terminal itself: OSC strings, bells, full resets.

Only 7-bit introducers and terminators count, as in every terminal that reads UTF-8: the byte 0x9c, the 8-bit ST, is the
second byte of "✳", which is common in titles.  A string that breaks off at an escape, CAN or SUB is dropped.

Programs that run without site-packages load this file alone: it imports the standard library only.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Iterator

LIMIT = 4_096  # bytes of one string, OSC and ST included: what OSC 7501 allows, and plenty for a title
RESET = b"\x1bc"  # RIS, ECMA-48 8.3.105

_BELL, _ESC, _ST = b"\x07", b"\x1b", b"\x1b\\"
# A run of bells, or an ESC, but not that of CSI and other common sequences that carry nothing for us.  It begins with
# a set, since `re` then skips plain text three times as fast.
_START = re.compile(rb"[\x07\x1b](?:(?<=\x07)\x07*|(?![\[()78=>M]))")
_END_OF_OSC = re.compile(rb"[\x07\x18\x1a\x1b]")
_END_OF_STRING = re.compile(rb"[\x18\x1a\x1b]")  # a BEL is part of DCS, SOS, PM and APC


class _Place(Enum):
    TEXT = auto()
    ESCAPE = auto()  # behind an ESC
    OSC = auto()
    STRING = auto()  # DCS, SOS, PM or APC


class OscReader:
    """Finds OSC strings, bells and full resets in a stream that may be cut anywhere; keeps `LIMIT` bytes at most."""

    def __init__(self) -> None:
        self._place = _Place.TEXT
        self._held: bytearray | None = None  # the string so far; None: it is dropped
        self._closing = False  # an ESC came in the string: the start of its ST, or of something else

    def feed(self, data: bytes) -> Iterator[bytes]:
        r"""Whole OSC strings with introducer and terminator, runs of bells, and `RESET`, in order.

        The iterator must be used up before the next call.  Strings longer than `LIMIT` bytes are skipped.

        >>> list(OscReader().feed(b"\x1b]0;a title\x1b\\text\a\a"))
        [b'\x1b]0;a title\x1b\\', b'\x07\x07']
        """
        at = 0
        while at < len(data):
            if self._place is _Place.TEXT:
                start = _START.search(data, at)
                if start is None:
                    return
                at = start.end()
                if start[0] == _ESC:
                    self._place = _Place.ESCAPE
                else:
                    yield start[0]
            elif self._place is _Place.ESCAPE:
                byte = data[at : at + 1]
                at += 1
                if byte in (_BELL, b"c"):
                    yield _BELL if byte == _BELL else RESET
                self._place = _behind_escape(byte)
                self._held = bytearray(b"\x1b]") if self._place is _Place.OSC else None
            elif self._closing:
                self._closing = False
                if data.startswith(b"\\", at):
                    at += 1
                    yield from self._end(_ST)
                else:
                    self._place, self._held = _Place.ESCAPE, None
            else:
                end = (_END_OF_OSC if self._place is _Place.OSC else _END_OF_STRING).search(data, at)
                self._hold(data, at, end.start() if end else len(data))
                if end is None:
                    return
                at = end.end()
                self._closing = end[0] == _ESC
                if end[0] == _BELL:
                    yield from self._end(_BELL)
                elif not self._closing:
                    self._place, self._held = _Place.TEXT, None

    def _hold(self, data: bytes, start: int, end: int) -> None:
        if self._held is not None and len(self._held) + end - start < LIMIT:
            self._held += data[start:end]
        else:
            self._held = None

    def _end(self, terminator: bytes) -> Iterator[bytes]:
        held, self._held, self._place = self._held, None, _Place.TEXT
        if held is not None and len(held) + len(terminator) <= LIMIT:
            yield bytes(held) + terminator


def _behind_escape(byte: bytes) -> _Place:
    """The place after an ESC and this byte; other controls do not end the escape, as in terminals."""
    if byte == b"]":
        return _Place.OSC
    if byte in (b"P", b"X", b"^", b"_"):
        return _Place.STRING
    passing = byte < b" " and byte not in (b"\x18", b"\x1a")
    return _Place.ESCAPE if passing or byte == b"\x7f" else _Place.TEXT
