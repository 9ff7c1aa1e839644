"""OSC 7501, the program status protocol, revision 0.2: its records, their limits, and how long they are kept.

All of it is untrusted: no text in it holds a control, bidirectional or invisible character, and none of it is a reason
to press a key.
"""

from __future__ import annotations

import binascii
import re
import unicodedata
from enum import StrEnum
from typing import Callable, Sequence

from attrs import evolve, frozen

from stallkit.terminal.text import fold

__all__ = ["Records", "Status", "StatusKind", "StatusState", "plain", "strongest"]

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


def strongest(statuses: Sequence[Status]) -> Status | None:
    """The record that decides: blocked before working, error, done and idle; the latest (last) of equals; or None."""
    return max(reversed(statuses), key=lambda status: _STRENGTH.index(status.state), default=None)


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
            cleared = [id for id in self._records if not status or f"{id}/".startswith(f"{status}/")]
            for id in cleared:
                del self._records[id]
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


def _progress(value: str) -> str | None:
    return value if value.isdigit() and int(value) <= 100 else None


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
    "progress": _progress,
    "title": lambda value: _text(value, MAX_TITLE),
    "msg": lambda value: _text(value, MAX_MESSAGE),
}


def plain(text: str) -> str:
    """Text of one line without characters that are invisible or change the direction of others."""
    if text.isascii() and text.isprintable():
        return text
    shown = (char for char in fold(text) if unicodedata.category(char) not in _SHOWS_NOTHING and char not in _FILLERS)
    return "".join(shown)
