"""What a tmux client in control mode prints, as events: replies to commands, and what panes wrote.

Pure: bytes in, events out, so that one client can carry the output of a pane or the commands of a whole fleet.
"""

from __future__ import annotations

import re
from typing import Iterator

from attrs import frozen

__all__ = ["ControlReader", "Event", "Exited", "Output", "Paused", "Reply", "SessionChanged"]

MAX_LINE = 262_144  # bytes; tmux cuts a pane's output at some 32,000, and a pane's row is no longer either
MAX_REPLY = 8_388_608  # bytes of one reply: a screen of 1,000 columns by 1,000 rows in four-byte characters, twice over

_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")
_BYTES = {b"%03o" % value: bytes([value]) for value in range(256)}
_GUARD = re.compile(rb"%(begin|end|error) ([0-9]{1,20}) ([0-9]{1,20})(?: ([0-9]{1,20}))?")
# Pane, text; the longer form has its age and, one day, more in front of the colon.
_OUTPUT = re.compile(rb"%(?:output (%[0-9]{1,20})|extended-output (%[0-9]{1,20}) [^:]*:) (.*)", re.DOTALL)
_PAUSE = re.compile(rb"%pause (%[0-9]{1,20})")
_SESSION = re.compile(rb"%session-changed (\$[0-9]{1,20})(?: .*)?", re.DOTALL)
_EXIT = re.compile(rb"%exit(?: (.*))?", re.DOTALL)


@frozen
class Reply:
    """What one command printed; replies come in the order of the commands.

    Its lines are as tmux wrote them, nothing is escaped: a program can put what ends a reply on its screen, but would
    have to guess the time and the number.  Who reads screens from replies counts their rows.
    """

    number: int  # tmux's own count of commands, on all its clients: it grows, and leaves some out
    failed: bool
    lines: tuple[bytes, ...]
    ours: bool  # a command that came over this client's input, not the one that the client was started with
    whole: bool = True  # False: it was longer than is held, and lines are missing


@frozen
class Output:
    """Bytes that the program in a pane (``%3``) wrote, as it wrote them."""

    pane: str
    data: bytes


@frozen
class Paused:
    """tmux stopped sending a pane's output to this client, which reads too slowly; what comes is lost."""

    pane: str


@frozen
class SessionChanged:
    """The client is attached to this session (``$3``) from now on."""

    session: str


@frozen
class Exited:
    """The client is about to end."""

    reason: str  # "" where tmux gives none


Event = Reply | Output | Paused | SessionChanged | Exited


class ControlReader:
    """Turns the output of a control-mode client into events; memory is bounded, and no bytes make it raise.

    Notifications that mean nothing here are left out, as is a line of more than `MAX_LINE` bytes.
    """

    def __init__(self) -> None:
        self._held = bytearray()  # a line whose end has not come
        self._overlong = False  # it is one that nobody will want
        self._block: _Block | None = None

    def feed(self, data: bytes) -> Iterator[Event]:
        r"""The events in what was read, which may be cut anywhere.  The iterator must be used up before the next call.

        >>> list(ControlReader().feed(b"%output %1 caf\303\251\\015\\012\n%pause %1\n"))
        [Output(pane='%1', data=b'caf\xc3\xa9\r\n'), Paused(pane='%1')]
        """
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = self._line(line)
            self._held, self._overlong = bytearray(), False
            event = self._read(whole)
            if event is not None:
                yield event
        self._hold(rest)

    def _hold(self, part: bytes) -> None:
        if self._overlong or len(self._held) + len(part) > MAX_LINE:
            self._held, self._overlong = bytearray(), True
        else:
            self._held += part

    def _line(self, last: bytes) -> bytes | None:
        """The line that ends with these bytes, or None where it is too long."""
        if not self._held and not self._overlong and len(last) <= MAX_LINE:
            return last
        self._hold(last)
        return None if self._overlong else bytes(self._held)

    def _read(self, line: bytes | None) -> Event | None:
        guard = _GUARD.fullmatch(line) if line is not None else None
        if self._block is not None:
            if guard is None or not self._block.ended_by(guard):
                self._block.add(line)
                return None
            block, self._block = self._block, None
            return block.reply(failed=guard[1] == b"error")
        if guard is not None and guard[1] == b"begin":
            self._block = _Block(guard)
            return None
        return _notification(line) if line is not None else None


class _Block:
    """A reply whose end has not come."""

    def __init__(self, begin: re.Match[bytes]) -> None:
        self._same = begin.groups()[1:]  # time, number and flags are repeated at its end
        self._lines: list[bytes] = []
        self._left = MAX_REPLY
        self._whole = True

    def ended_by(self, guard: re.Match[bytes]) -> bool:
        return guard[1] != b"begin" and guard.groups()[1:] == self._same

    def add(self, line: bytes | None) -> None:
        self._left -= MAX_REPLY if line is None else len(line) + 64  # an empty line takes memory as well
        if line is None or self._left < 0:
            self._whole = False
        else:
            self._lines.append(line)

    def reply(self, failed: bool) -> Reply:
        _, number, flags = self._same
        return Reply(int(number), failed, tuple(self._lines), ours=flags == b"1", whole=self._whole)


def _notification(line: bytes) -> Event | None:
    if output := _OUTPUT.fullmatch(line):
        return Output((output[1] or output[2]).decode(), _unescaped(output[3]))
    if pause := _PAUSE.fullmatch(line):
        return Paused(pause[1].decode())
    if session := _SESSION.fullmatch(line):
        return SessionChanged(session[1].decode())
    if end := _EXIT.fullmatch(line):
        return Exited((end[1] or b"").decode("utf-8", "replace"))
    return None


def _unescaped(text: bytes) -> bytes:
    return _OCTAL.sub(lambda octal: _BYTES[octal[1]], text) if b"\\" in text else text
