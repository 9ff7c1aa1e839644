"""What the program reports of itself: its status, the shell's marks, a progress bar, a title, notices, bells.

OSC 7501 is the program status protocol, revision 0.2; OSC 133 and 633 mark prompts and commands; OSC 9;4 is the
progress bar of ConEmu and its followers; OSC 0 and 2 set the title; OSC 9, 99 and 777 are notifications for the
desktop.  All of it is untrusted: no text in it holds a control, bidirectional or invisible character, none of it is a
reason to press a key, and none of it is ever sent back.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from enum import StrEnum
from typing import Callable, Literal

from attrs import evolve, frozen

from stallkit.terminal.osc_stream import RESET, OscReader
from stallkit.terminal.text import fold

MAX_RECORDS = 256  # the protocol's own limit, as are the following
MAX_KEY, MAX_ID, MAX_APP = 16, 128, 32  # bytes
MAX_TITLE, MAX_MESSAGE = (256, 192), (2_732, 2_048)  # bytes, encoded and decoded

# A report with `by` of this is a judgement of our own; with ``certainty=maybe`` as well it stands for no report.
JUDGE = "stallkit"

_PAIR = re.compile(rb"([a-z]+)=([A-Za-z0-9_.,+/=-]*)")
_SEGMENT = r"[A-Za-z0-9_.+-]{1,32}"
_APP, _ID = re.compile(_SEGMENT), re.compile(f"{_SEGMENT}(?:/{_SEGMENT}){{0,7}}")
# Padding may be left out.
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")

_SHOWS_NOTHING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Blank or without width, yet letters or marks by category: joiner, Hangul and Khmer fillers, Mongolian selectors.
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")


class StatusState(StrEnum):
    """What a program, or a part of it, does according to its status record."""

    IDLE = "idle"
    WORKING = "working"
    DONE = "done"
    BLOCKED = "blocked"
    ERROR = "error"


class StatusKind(StrEnum):
    """What a blocked record waits for."""

    PERMISSION = "permission"
    QUESTION = "question"
    AUTH = "auth"


# Which record decides about the session.  A blocked part needs a person, whatever the others do.  A part that failed
# or is done is at rest, so it does not hide a part that works; of several at rest an error matters most.
_STRENGTH = (StatusState.IDLE, StatusState.DONE, StatusState.ERROR, StatusState.WORKING, StatusState.BLOCKED)


@frozen
class Status:
    """One status record of OSC 7501; `at` is when it was read, in seconds of the reader's clock."""

    id: str  # a path; "" is the root record
    state: StatusState
    at: float
    kind: StatusKind | None = None
    progress: int | None = None  # per cent
    app: str | None = None
    title: str | None = None
    msg: str | None = None
    judged: bool = False  # by a `stallkit wrap` around the program, which itself says nothing


class Records:
    """The records kept from a program's reports, at most `MAX_RECORDS`."""

    def __init__(self) -> None:
        self._records: dict[str, Status] = {}  # the latest report last

    def report(self, body: bytes, at: float) -> None:
        """Take one report, the part after ``7501;``, read at the time `at`; an invalid one changes nothing."""
        try:
            status = _parse(body, at)
        except ValueError:
            return
        if isinstance(status, str):
            kept = (id for id in self._records if status and not f"{id}/".startswith(f"{status}/"))
            self._records = {id: self._records[id] for id in kept}
            return
        self._records.pop(status.id, None)  # so that it moves to the end
        self._records[status.id] = status
        if len(self._records) > MAX_RECORDS:
            del self._records[next(iter(self._records))]

    def clear(self) -> None:
        """Forget all records, as a full reset does."""
        self._records.clear()

    def process_exited(self) -> None:
        """The program in the foreground ended: forget what it was doing, keep how it ended."""
        doing = (StatusState.WORKING, StatusState.BLOCKED)
        self._records = {id: status for id, status in self._records.items() if status.state not in doing}

    @property
    def statuses(self) -> tuple[Status, ...]:
        """All records, the latest report last; one without an app has its nearest ancestor's."""
        return tuple(evolve(status, app=self._app(status)) for status in self._records.values())

    def _app(self, status: Status) -> str | None:
        """The record's own app, or its nearest ancestor's."""
        id, found = status.id, status.app
        while id and found is None:
            id = id.rpartition("/")[0]
            found = self._records[id].app if id in self._records else None
        return found


def _parse(body: bytes, at: float) -> Status | str:
    """A report's record, or the id that it clears.  Raises ValueError for an invalid report."""
    given: dict[str, str | None] = {}
    for found in filter(None, map(_PAIR.fullmatch, body.split(b":"))):
        key = found[1].decode()
        if len(key) > MAX_KEY:
            raise ValueError(f"a key of more than {MAX_KEY} bytes")
        # Each pair is checked, also one that a later duplicate replaces.
        given[key] = _VALUES.get(key, str)(found[2].decode())
    id, state = given.get("id") or "", given.get("state") or ""
    if state == "clear" or (given.get("by") == JUDGE and given.get("certainty") == "maybe"):
        return id
    kind, progress = given.get("kind"), given.get("progress")
    blocked = state == StatusState.BLOCKED
    return Status(
        id=id,
        state=StatusState(state),
        at=at,
        kind=StatusKind(kind) if blocked and kind in list(StatusKind) else None,
        progress=int(progress) if progress and (blocked or state == StatusState.WORKING) else None,
        app=given.get("app"),
        title=given.get("title"),
        msg=given.get("msg"),
        judged=given.get("by") == JUDGE,
    )


def _id(value: str) -> str:
    # The protocol does not define an id of another form; as the root's, it would stand for the whole program.
    if len(value) > MAX_ID or not _ID.fullmatch(value):
        raise ValueError("an invalid id")
    return value


def _app(value: str) -> str | None:
    if len(value) > MAX_APP:
        raise ValueError(f"an app of more than {MAX_APP} bytes")
    return value if _APP.fullmatch(value) else None


def _text(value: str, limits: tuple[int, int]) -> str:
    if len(value) > limits[0] or not _BASE64.fullmatch(value):
        raise ValueError("a text that is too long, or not base64")
    decoded = binascii.a2b_base64(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4))
    text = decoded.decode("utf-8")
    if len(decoded) > limits[1] or any(unicodedata.category(char) == "Cc" for char in text):
        raise ValueError("a text that is too long, or holds a control character")
    return plain(text)


_VALUES: dict[str, Callable[[str], str | None]] = {
    "id": _id,
    "app": _app,
    "progress": lambda value: value if value.isdigit() and int(value) <= 100 else None,
    "title": lambda value: _text(value, MAX_TITLE),
    "msg": lambda value: _text(value, MAX_MESSAGE),
}


def plain(text: str) -> str:
    """Text of one line without characters that are invisible or change the direction of others."""
    if text.isascii() and text.isprintable():
        return text
    shown = (char for char in fold(text) if unicodedata.category(char) not in _SHOWS_NOTHING and char not in _FILLERS)
    return "".join(shown)


# The other sequences.

_CONEMU = re.compile(rb"[0-9]{1,2}(;|$)")  # OSC 9;9;FOLDER and others: commands of ConEmu, not notifications
# What stands behind the question mark of a query is never sent back: a shown file could type it so.
_ANSWERS = {b"\x07": b"\x1b]7501;?\x07", b"\\": b"\x1b]7501;?\x1b\\"}
_EXIT_STATUS = re.compile(rb"-?[0-9]{1,10}")  # PowerShell has negative ones


Bar = Literal["normal", "error", "busy", "paused"]


@frozen
class Progress:
    """A progress bar of OSC 9;4; `value` is in per cent, or None."""

    state: Bar
    value: int | None = None

    @property
    def shows_work(self) -> bool:
        """Whether it says that the program works."""
        return self.state in ("normal", "busy")

    def __str__(self) -> str:
        value = "" if self.value is None else f" {self.value} %"
        return f"the program shows progress: {self.state}{value}"


@frozen
class Notice:
    """The text of a notification, in one line; `at` is when it was read, in seconds of the reader's clock."""

    text: str
    at: float


@frozen
class Marks:
    """What the program has reported of itself so far; what it never reported is None, or empty."""

    statuses: tuple[Status, ...] = ()  # the latest report last
    # Typing: the prompt is drawn, the shell awaits a command.
    shell: Literal["prompt", "typing", "running"] | None = None
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
        return max(reversed(self.statuses), key=lambda status: _STRENGTH.index(status.state), default=None)


_BARS: dict[bytes, Bar] = {b"1": "normal", b"2": "error", b"3": "busy", b"4": "paused"}


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


def _of_kitty(rest: bytes) -> bytes | None:
    """A title, or a part of the text; None for what asks the terminal, or closes a notification."""
    settings, _, text = rest.partition(b";")
    given = dict(pair.split(b"=", 1) for pair in settings.split(b":") if b"=" in pair)
    if given.get(b"p", b"title") not in (b"title", b"body"):
        return None
    try:
        padded = text + b"=" * (-len(text) % 4)
        return binascii.a2b_base64(padded, strict_mode=True) if given.get(b"e") == b"1" else text
    except binascii.Error:
        return None


_NOTICES: dict[bytes, Callable[[bytes], bytes | None]] = {
    b"9": lambda rest: None if not rest or _CONEMU.match(rest) else rest,  # of iTerm
    b"99": _of_kitty,
    b"777": lambda rest: rest[7:].replace(b";", b": ", 1) if rest.split(b";")[0] == b"notify" else None,  # of urxvt
}
