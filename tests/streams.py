"""Streams of a program that reports: OSC strings as tests write them, and what is read from them."""

from __future__ import annotations

import unicodedata
from base64 import b64encode

from stallkit.terminal.marks import Marks, MarksReader, StatusState

ROOT = b"\x1b]7501;state=idle\a"  # a record that a rejected report must leave as it is


def osc(body: bytes | str, end: bytes = b"\x1b\\") -> bytes:
    return b"\x1b]" + (body.encode() if isinstance(body, str) else body) + end


def report(pairs: bytes | str) -> bytes:
    return osc(b"7501;" + (pairs.encode() if isinstance(pairs, str) else pairs))


def text(plain: str | bytes) -> str:
    return b64encode(plain.encode() if isinstance(plain, str) else plain).decode()


def read(*chunks: bytes) -> Marks:
    reader = MarksReader()
    for chunk in chunks:
        reader.feed(chunk, 1.0)
    return reader.marks


def sized(total: int, end: bytes) -> bytes:
    """A report of so many bytes from OSC to ST, filled up with an unknown key."""
    return osc("7501;state=working:x=" + "x" * (total - len(osc("7501;state=working:x=", end))), end)


def assert_within_limits(marks: Marks) -> None:
    """Whatever was read: nothing longer than the protocol allows, and no character that is not seen."""
    assert len(marks.statuses) <= 256
    for status in marks.statuses:
        assert len(status.id) <= 128
        assert status.kind is None or status.state is StatusState.BLOCKED
        assert status.progress is None or (
            0 <= status.progress <= 100 and status.state in (StatusState.WORKING, StatusState.BLOCKED)
        )
        assert len((status.title or "").encode()) <= 192
        assert len((status.msg or "").encode()) <= 2048
    said = [told for status in marks.statuses for told in (status.title, status.msg, status.app, status.id)]
    for told in filter(None, [*said, marks.title, marks.notice and marks.notice.text]):
        assert not [char for char in told if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
