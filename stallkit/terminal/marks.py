"""What the program reports of itself: its status, the shell's marks, a progress bar, a title, notices, bells.

OSC 7501 is the program status protocol (`program_status`); OSC 133 and 633 mark prompts and commands; OSC 9;4 is
the progress bar of ConEmu and its followers; OSC 0 and 2 set the title; OSC 9, 99 and 777 are notifications for the
desktop.  All of it is untrusted: no text in it holds a control, bidirectional or invisible character, none of it is a
reason to press a key, and none of it is ever sent back.
"""

from __future__ import annotations

import binascii
import re
from typing import Callable, Literal

from attrs import evolve, frozen

from stallkit.terminal.osc_stream import RESET, OscReader
from stallkit.terminal.program_status import Records, Status, plain, strongest

__all__ = ["Marks", "MarksReader", "Notice", "Progress"]

_CONEMU = re.compile(rb"[0-9]{1,2}(;|$)")  # OSC 9;9;FOLDER and others: commands of ConEmu, not notifications
# What stands behind the question mark of a query is never sent back: a shown file could type it so.
_ANSWERS = {b"\x07": b"\x1b]7501;?\x07", b"\\": b"\x1b]7501;?\x1b\\"}
_EXIT_STATUS = re.compile(rb"-?[0-9]{1,10}")  # PowerShell has negative ones


@frozen
class Progress:
    """A progress bar of OSC 9;4; `value` is in per cent, or None."""

    state: Literal["normal", "error", "busy", "paused"]
    value: int | None = None


@frozen
class Notice:
    """The text of a notification, in one line; `at` is when it was read, in seconds of the reader's clock."""

    text: str
    at: float


@frozen
class Marks:
    """What the program has reported of itself so far; what it never reported is None, or empty."""

    statuses: tuple[Status, ...] = ()  # the latest report last
    shell: Literal["prompt", "typing", "running"] | None = (
        None  # typing: the prompt is drawn, the shell awaits a command
    )
    exit_status: int | None = None  # of the last command that ended; None also where the shell left it out
    progress: Progress | None = None
    title: str | None = None
    bells: int = 0
    notices: int = 0  # OSC 9, 99 and 777, like a bell a reason to look, and no more
    notice: Notice | None = None  # the latest
    queries: int = 0  # how often the program asked whether OSC 7501 is understood
    answer: bytes = b""  # what to write to the program after its latest query: one of two fixed byte strings

    @property
    def root(self) -> Status | None:
        """The record of the program as a whole, or None."""
        return next((status for status in self.statuses if not status.id), None)

    @property
    def strongest(self) -> Status | None:
        """The record that decides: blocked before working, error, done and idle; the latest of equals; or None."""
        return strongest(self.statuses)


_BARS: dict[bytes, Literal["normal", "error", "busy", "paused"]] = {
    b"1": "normal",
    b"2": "error",
    b"3": "busy",
    b"4": "paused",
}


class MarksReader:
    """Gathers `Marks` from a raw terminal stream; memory is bounded, and no bytes make it raise."""

    def __init__(self) -> None:
        self._osc = OscReader()
        self._marks = Marks()  # without the bells and the records, which are kept apart
        self._bells = 0
        self._records = Records()

    def feed(self, data: bytes, at: float) -> None:
        """Read the next bytes; the stream may be cut anywhere.  `at` dates the records, in seconds of any clock."""
        for piece in self._osc.feed(data):
            if piece.startswith(b"\x07"):
                self._bells += len(piece)
            elif piece == RESET:
                self._records.clear()
                self._marks = evolve(self._marks, progress=None)
            else:
                self._read(piece, at)

    def process_exited(self) -> None:
        """The program in the foreground ended: forget what it was doing, keep how it ended."""
        self._records.process_exited()
        self._marks = evolve(self._marks, progress=None)

    @property
    def marks(self) -> Marks:
        """Everything read up to now."""
        return evolve(self._marks, statuses=self._records.statuses, bells=self._bells)

    def _read(self, piece: bytes, at: float) -> None:
        body = piece[2:-1] if piece.endswith(b"\x07") else piece[2:-2]
        code, _, rest = body.partition(b";")
        if code == b"7501" and rest.startswith(b"?"):
            self._marks = evolve(self._marks, queries=self._marks.queries + 1, answer=_ANSWERS[piece[-1:]])
        elif code == b"7501":
            self._records.report(rest, at)
        elif code in (b"133", b"633"):
            self._shell(rest.split(b";"))
        elif rest.startswith(b"4;") and code == b"9":
            self._bar(rest.split(b";")[1:])
        elif code in (b"9", b"99", b"777"):
            self._notify(code, rest, at)
        elif code in (b"0", b"2") and len(body) > len(code):
            self._marks = evolve(self._marks, title=plain(rest.decode("utf-8", "replace")))

    def _shell(self, fields: list[bytes]) -> None:
        match fields[0]:
            case b"A":
                self.process_exited()
                self._marks = evolve(self._marks, shell="prompt")
            case b"B":
                self._marks = evolve(self._marks, shell="typing")
            case b"C":
                self._marks = evolve(self._marks, shell="running")
            case b"D":  # the shell is in front again, and about to draw its prompt
                given = _EXIT_STATUS.fullmatch(fields[1]) if len(fields) > 1 else None
                self._marks = evolve(self._marks, shell="prompt", exit_status=int(given[0]) if given else None)

    def _notify(self, code: bytes, rest: bytes, at: float) -> None:
        text = _NOTICES[code](rest)
        if text is not None:
            said = Notice(plain(text.decode("utf-8", "replace")), at)
            self._marks = evolve(self._marks, notices=self._marks.notices + 1, notice=said)

    def _bar(self, fields: list[bytes]) -> None:
        state = _BARS.get(fields[0])
        if state is None and fields[0] != b"0":
            return
        given = fields[1] if len(fields) > 1 and state != "busy" else b""
        value = min(int(given), 100) if given.isdigit() else None
        self._marks = evolve(self._marks, progress=Progress(state, value) if state else None)


def _of_iterm(rest: bytes) -> bytes | None:
    return None if not rest or _CONEMU.match(rest) else rest


def _of_kitty(rest: bytes) -> bytes | None:
    """A title, or a part of the text; None for what asks the terminal, or closes a notification."""
    settings, _, text = rest.partition(b";")
    given = dict(pair.split(b"=", 1) for pair in settings.split(b":") if b"=" in pair)
    if given.get(b"p", b"title") not in (b"title", b"body"):
        return None
    try:
        return (
            binascii.a2b_base64(text + b"=" * (-len(text) % 4), strict_mode=True) if given.get(b"e") == b"1" else text
        )
    except binascii.Error:
        return None


def _of_urxvt(rest: bytes) -> bytes | None:
    command, _, text = rest.partition(b";")
    return text.replace(b";", b": ", 1) if command == b"notify" else None


_NOTICES: dict[bytes, Callable[[bytes], bytes | None]] = {b"9": _of_iterm, b"99": _of_kitty, b"777": _of_urxvt}
