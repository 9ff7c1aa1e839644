"""What a relay changes in a program's stream, and what it hears in it: queries of OSC 7501 end here, all else passes.

Pure.  A query is swallowed, since the relay answers it: the terminal outside must not answer a second time.  A string
that is cut off at the end of a read is held back until its rest comes, at most `LIMIT` bytes; a terminal shows nothing
of it before that either.  In any stream ``ESC ]`` begins a string, also in the middle of another one, so nothing else
needs to be followed: text and colours cost one search, `StatusFilter.passes`.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any, Callable

import attrs
from attrs import frozen

from stallkit.terminal.marks import Marks, MarksReader
from stallkit.terminal.osc_stream import LIMIT, RESET

CLEAR = b"\x1b]7501;state=clear\x1b\\"

_PASSING = rb"[\x00-\x17\x19\x1c-\x1f\x7f]*+"  # controls do not end an escape, except CAN and SUB
# A full reset, an OSC string with its terminator, or either of them cut off by the end of what was read.  What cannot
# follow comes first: most sequences are of another kind, and are passed by twice as fast.
_PIECE = re.compile(
    rb"\x1b(?![ -\\^-bd-~\x80-\xff])"
    + _PASSING
    + rb"(?:(?P<reset>c)|\](?P<body>[^\x07\x18\x1a\x1b]{0,4096}+)(?P<end>\x07|\x1b\\|\x1b?\Z)|\Z)"
)
_OTHER = re.compile(rb"\x1b[^\[]")  # than the begin of a control sequence
_STATUS, _QUERY = b"7501;", b"7501;?"
_ENDS = (b"\x07", b"\x1b\\")
_KEPT = 256  # bytes of the end of what was passed


@frozen
class Filtered:
    """What follows from one read of the program's output."""

    outward: bytes  # for the terminal
    answer: bytes = b""  # for the program, before anything else that the terminal may reply to this read
    reported: bool = False  # the program reported its status


class StatusFilter:
    """Filters a program's stream, which may be cut anywhere; memory is bounded, and no bytes make it raise.

    `outside` says whether a report of the relay's own stands in the terminal outside: it is cleared there before the
    first report of the program itself.
    """

    def __init__(self) -> None:
        self.outside = False
        self._reader = MarksReader()
        self._held = b""
        self._last = b""  # the end of what was passed
        self._string = b""  # the introducer, without its ESC, of a string that is open there

    @property
    def marks(self) -> Marks:
        """What the program and its shell have reported so far, without the bells."""
        return self._reader.marks

    @property
    def between(self) -> bool:
        """Whether a string of the relay's own can be put in here without breaking one of the program's."""
        return not (self._held or self._string or _UNENDED.search(self._last) or _CUT_LETTER.search(self._last))

    def passes(self, data: bytes) -> bool:
        r"""Whether nothing in the next bytes concerns a relay: then they were taken, and are not for `feed`.

        So it is where every ESC begins a control sequence, such as a colour.

        >>> [StatusFilter().passes(data) for data in (b"\x1b[31mred", b"\x1b]0;title\a", b"cut\x1b")]
        [True, False, False]
        """
        if self._held or self._string or (b"\x1b" in data and (_OTHER.search(data) or data.endswith(b"\x1b"))):
            return False
        self._last = _end_of(self._last, data)
        return True

    def feed(self, data: bytes, at: float) -> Filtered:
        r"""Filter the next bytes; `at` dates the reports, in seconds of any clock.

        >>> StatusFilter().feed(b"a\x1b]7501;?\ab", 0.0)
        Filtered(outward=b'ab', answer=b'\x1b]7501;?\x07', reported=False)
        """
        if self._held:
            data, self._held = self._held + data, b""
        outward, answers, begin, reported = [], [], 0, False
        for found in _PIECE.finditer(data):
            if found["reset"]:
                self._reader.feed(RESET, at)
            elif found["end"] not in _ENDS:  # cut off
                if len(data) - found.start() < LIMIT:
                    outward.append(data[begin : found.start()])
                    begin, self._held = len(data), data[found.start() :]
            elif len(found["body"]) + len(found["end"]) + 2 <= LIMIT:
                self._reader.feed(b"\x1b]" + found["body"] + found["end"], at)
                if found["body"].startswith(_QUERY):
                    outward.append(data[begin : found.start()])
                    begin = found.end()
                    answers.append(self._reader.marks.answer)
                elif found["body"].startswith(_STATUS):
                    reported = True
                    if self.outside:
                        outward += data[begin : found.start()], CLEAR
                        begin, self.outside = found.start(), False
        passed = b"".join((*outward, data[begin:])) if outward else data
        self._passed(passed)
        return Filtered(passed, b"".join(answers), reported)

    def rest(self) -> bytes:
        """What is held back, at the end of the stream."""
        held, self._held = self._held, b""
        return held

    def program_exited(self) -> None:
        """The program that reported has ended: forget what it was doing, keep how it ended."""
        self._reader.process_exited()

    def _passed(self, data: bytes) -> None:
        """Remember where the stream stands: its last bytes, and whether a string is open."""
        escape, begin = data.rfind(b"\x1b"), 0
        if escape >= 0:
            begin = escape + 2
            self._string = data[escape + 1 : begin]
        self._last = _end_of(self._last, data)
        if self._string and (ends := _STRINGS.get(self._string)) and all(data.find(end, begin) < 0 for end in ends):
            return
        self._string = b""


# What ends a string besides an ESC, by its introducer: a BEL only ends an OSC string.
_STRINGS = {b"]": (b"\x07", b"\x18", b"\x1a"), **dict.fromkeys((b"P", b"X", b"^", b"_"), (b"\x18", b"\x1a"))}
# A control sequence, or an escape with its intermediates, that lacks its final byte; a letter of UTF-8 that is cut.
_UNENDED = re.compile(rb"\x1b(?:\[[\x00-\x17\x19\x1c-\x3f]*|[\x00-\x17\x19\x1c-\x2f]*|[NO])\Z")
_CUT_LETTER = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")


def _end_of(before: bytes, data: bytes) -> bytes:
    return data[-_KEPT:] if len(data) >= _KEPT else (before + data)[-_KEPT:]


def report(pairs: str) -> bytes:
    """A report of the relay's own, in the protocol's form."""
    return b"\x1b]7501;" + pairs.encode("ascii") + b"\x1b\\"


# --- what a relay knows of its program's status ---


class SelfReports:
    """The reports of one program, and of what runs in its terminal after it.

    `foreground` gives the number of the terminal's foreground group, and may raise OSError.
    """

    def __init__(self, foreground: Callable[[], int]) -> None:
        self._filter = StatusFilter()
        self._foreground = foreground
        self._reporter: int | None = None  # the group that reported last
        self._judged: dict[str, Any] | None = None
        self._judged_at = 0.0
        self._said: str | None = None  # the judgement that stands outside
        self.pending = False  # there may be something to say outside

    def passes(self, data: bytes) -> bool:
        """Whether nothing in what the program wrote concerns a relay: then it was taken, and is not for `feed`."""
        return self._filter.passes(data)

    def feed(self, data: bytes, now: float) -> Filtered:
        """Filter what the program wrote."""
        filtered = self._filter.feed(data, now)
        if filtered.reported:
            self._said = None
            with suppress(OSError):
                self._reporter = self._foreground()
        return filtered

    def judged(self, told: dict[str, Any], now: float) -> None:
        """Take a judgement."""
        self._judged, self._judged_at, self.pending = told, now, True

    def due(self) -> bytes:
        """What must be said outside now: the judgement of a program that says nothing, if it changed."""
        if not self._filter.between:
            return b""
        self.pending = False
        if self._speaks():
            return b""
        told = self._judged["pairs"] if self._judged else None
        if told == self._said:
            return b""
        self._said, self._filter.outside = told, told is not None
        return report(told) if told is not None else CLEAR

    def over(self) -> bytes:
        """The rest of the stream, where the program has ended; a judgement of it is taken back."""
        standing, self._said, self._filter.outside = self._said is not None, None, False
        return self._filter.rest() + (CLEAR if standing else b"")

    def describe(self, now: float) -> dict[str, Any]:
        """All of it as plain values, for who asks."""
        self._speaks()
        marks = self._filter.marks
        reports = [
            attrs.asdict(one, filter=lambda field, _: field.name != "at") | {"age_s": round(now - one.at, 3)}
            for one in marks.statuses
        ]
        judged = None
        if self._judged is not None:
            judged = {**self._judged, "age_s": round(now - self._judged_at, 3)}
        return {"reports": reports, "shell": marks.shell, "exit_status": marks.exit_status, "judged": judged}

    def _speaks(self) -> bool:
        """Whether the program that reported is still there; if not, forget what it was doing."""
        if self._reporter is None:
            return False
        try:
            os.killpg(self._reporter, 0)
        except ProcessLookupError:
            self._reporter = None
            self._filter.program_exited()
            return False
        except OSError:
            pass
        return bool(self._filter.marks.statuses)
