"""Recordings in asciinema's format, read and written line by line: asciicast versions 2 and 3.

Pure over lines, so that a recording of any length takes the memory of one line.  An unreadable line is a problem, named
by file and line; reading goes on after it.  By both specifications players ignore unknown event codes, so stallkit adds
two of its own: the facts (`FACTS`) and the gaps (`LOST`).
"""

from __future__ import annotations

import json
import math
from typing import Any, Iterable, Iterator

from attrs import define, field, frozen

from stallkit.errors import StoreError

OUTPUT, MARKER, RESIZE, EXIT = "o", "m", "r", "x"
FACTS = "k"  # facts of the kernel and the terminal while the screen rests, as JSON in a string (`notes.py`)
LOST = "l"  # how many bytes of output are missing here

MAX_LINE = 16_000_000  # bytes; an event of a recorder is a read from a terminal, some kilobytes
MAX_PROBLEMS = 100  # listed for one recording; a file of garbage has one a line
MAX_SIDE = 2_000  # cells, as the emulator has it
MAX_SECONDS = 1e9


@frozen
class Header:
    """The first line of a recording; `size` is (columns, rows) at its beginning."""

    size: tuple[int, int]
    version: int = 2
    timestamp: int | None = None  # seconds since 1970
    title: str | None = None
    command: str | None = None
    term: str | None = None  # the kind of terminal, as in $TERM


@frozen
class Event:
    """One event; `at` is in seconds since the beginning, in either version, and never falls."""

    at: float
    code: str
    data: str
    line: int = 0  # of the file, from 1


@define
class Problems:
    """The problems of one recording: the first `MAX_PROBLEMS` by line, then the number of the rest."""

    path: str
    found: list[Any] = field(factory=list)
    more: int = 0
    _noted: int = 0

    def note(self, line: int, why: str, todo: str = "correct the line, or record it again") -> None:
        """Note an invalid line."""
        self._noted += 1
        if self._noted > MAX_PROBLEMS:
            self.more += 1
        else:
            self.found.append(StoreError("recording", f"{self.path}:{line}", why, todo))

    def close(self) -> None:
        """Note how many more there were."""
        if self.more:
            why = f"{self.more:,} more lines cannot be read"
            self.found.append(StoreError("recording", self.path, why, "check that it is a recording"))
            self.more = 0


class _Wrong(ValueError):
    """The input is invalid; the message says why."""


def header(line: bytes, problems: Problems) -> Header | None:
    """The header on a recording's first line; None, and a problem, if it cannot be read."""
    try:
        return _header(line)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, _Wrong) else f"its header is not JSON: {error}"
        problems.note(1, why, "check that it is a recording: asciicast version 2 or 3")
        return None


def _header(line: bytes) -> Header:
    if not line.strip():
        raise _Wrong("it is empty" if not line else "its first line is empty")
    found = json.loads(line)
    if not isinstance(found, dict):
        raise _Wrong("its header is not a JSON object")
    version = found.get("version")
    if version not in (2, 3):
        later = isinstance(version, int) and version > 3
        raise _Wrong(f"it has version {version!r:.40}{', of a later format' if later else ''}; 2 and 3 can be read")
    term = found.get("term") if version == 3 else {"cols": found.get("width"), "rows": found.get("height")}
    if not isinstance(term, dict):
        raise _Wrong("its header has no term")
    size = (term.get("cols"), term.get("rows"))
    if not all(type(side) is int and 1 <= side <= MAX_SIDE for side in size):
        raise _Wrong(f"its header gives the size {size[0]!r:.20} x {size[1]!r:.20}")
    kind = term.get("type") if version == 3 else (found.get("env") or {}).get("TERM") if _has_env(found) else None
    began = found.get("timestamp")
    return Header(
        size=(int(size[0]), int(size[1])),  # type: ignore[arg-type]  # checked above
        version=version,
        timestamp=int(began) if type(began) in (int, float) and math.isfinite(began) else None,  # type: ignore[arg-type]
        **{name: _text(found.get(name)) for name in ("title", "command")},
        term=_text(kind),
    )


def _has_env(found: dict[str, Any]) -> bool:
    return isinstance(found.get("env"), dict)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def events(lines: Iterable[bytes], version: int, problems: Problems) -> Iterator[Event]:
    """The events on the lines after the header, in order.

    An event with an earlier time than the one before it is a problem, and gets that one's time.
    """
    now, number = 0.0, 1
    for number, line in enumerate(lines, 2):
        if not line.strip() or (version == 3 and line.startswith(b"#")):
            continue
        try:
            time, code, data = _fields(line)
        except (ValueError, RecursionError) as error:
            cut = not line.endswith(b"\n")
            why = str(error) if isinstance(error, _Wrong) else "it is not JSON"
            problems.note(number, f"the line breaks off ({why})" if cut else why)
            continue
        at = now + time if version == 3 else time
        if at < now:
            when = f"{time:g} s after" if version == 3 else f"at {time:g} s, behind"
            problems.note(number, f"out of order: an event {when} one at {now:g} s")
        now = max(at, now)
        yield Event(now, code, data, number)
    problems.close()


def _fields(line: bytes) -> tuple[float, str, str]:
    if len(line) > MAX_LINE:
        raise _Wrong(f"the line is longer than {MAX_LINE:,} bytes")
    found = json.loads(line)
    if not isinstance(found, list) or len(found) != 3:
        raise _Wrong("it is not an event of three fields")
    time, code, data = found
    if type(time) not in (int, float) or not abs(time) <= MAX_SECONDS:  # true is not a number, NaN not a time
        raise _Wrong(f"{time!r:.40} is not a time")
    if not isinstance(code, str) or not code:
        raise _Wrong(f"{code!r:.40} is not an event code")
    if not isinstance(data, str):
        if code in (OUTPUT, MARKER, RESIZE):
            raise _Wrong(f"the data of an event {code!r} is {data!r:.40}, no text")
        data = json.dumps(data)
    return float(time), code, data


def encode_header(made: Header) -> str:
    """A header's line."""
    columns, rows = made.size
    given: dict[str, Any] = {"version": made.version}
    if made.version == 3:
        given["term"] = {"cols": columns, "rows": rows, **({"type": made.term} if made.term else {})}
    else:
        given |= {"width": columns, "height": rows}
    named = (("timestamp", made.timestamp), ("command", made.command), ("title", made.title))
    given |= {name: value for name, value in named if value is not None}
    if made.version == 2 and made.term:
        given["env"] = {"TERM": made.term}
    return _line(given)


class Encoder:
    """Events to lines: version 3 counts from one event to the next, version 2 from the beginning."""

    def __init__(self, version: int) -> None:
        self._version, self._before = version, 0

    def line(self, at: float, code: str, data: str) -> str:
        """An event's line; `at` is in seconds since the beginning, raised to the last one's if it is lower."""
        micros = max(round(at * 1_000_000), self._before)  # whole numbers: rounding must not add up
        shown = micros - self._before if self._version == 3 else micros
        self._before = micros
        return _line([shown / 1_000_000, code, data])


def _line(value: Any) -> str:
    # Lone surrogates, which no terminal sends but another program's recording may hold, stay escaped.
    text = json.dumps(value, ensure_ascii=False)
    return (text if text.isprintable() else json.dumps(value)) + "\n"
