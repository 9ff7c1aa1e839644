r"""How a terminal is asked to show a notice: OSC 9, 777 or 99, by what it is called, else a bell.  Pure.

A terminal cannot be asked what it understands without reading its input, which is the person's.  So its name decides:
that in its environment, or, inside tmux, what tmux knows of the terminal of its client.

>>> osc_of({"TERM": "xterm-kitty"})
'osc99'
>>> codes(Notice("tmux:w1", "w1 asks", "Go on?"), "osc777")
b'\x1b]777;notify;w1 asks;Go on?\x1b\\'
"""

from __future__ import annotations

import base64
import hashlib
from typing import Literal, Mapping

from stallkit_supervisor.notify.notice import Notice

__all__ = ["BELL", "CODES", "Code", "codes", "in_tmux", "osc_of", "taken_away"]

Code = Literal["osc9", "osc99", "osc777", "bell"]
CODES: tuple[Code, ...] = ("osc9", "osc99", "osc777", "bell")
BELL = b"\a"
_ST = b"\x1b\\"
# Parts of the names of terminals whose documentation has that sequence, in this order.
_KNOWN: tuple[tuple[str, Code], ...] = (
    ("kitty", "osc99"),
    ("ghostty", "osc777"),
    ("wezterm", "osc777"),
    ("foot", "osc777"),
    ("rxvt-unicode", "osc777"),
    ("contour", "osc777"),
    ("iterm", "osc9"),
    ("warp", "osc9"),
)
_NAMES = ("TERM_PROGRAM", "LC_TERMINAL", "TERM")


def osc_of(environment: Mapping[str, str], client: str | None = None) -> Code:
    """The sequence for a terminal; `client` is what tmux says of its own one, else the environment counts."""
    names = [client] if client is not None else [environment.get(name, "") for name in _NAMES]
    said = " ".join(names).lower()
    return next((code for name, code in _KNOWN if name in said), "bell")


def codes(notice: Notice, code: Code) -> bytes:
    """The bytes that show a notice, which has no control characters."""
    match code:
        case "osc9":  # a number first would be another command, as 9;4 is
            return b"\x1b]9;" + _text(f"stallkit: {notice.line}") + _ST
        case "osc777":  # a ; ends the title
            title, body = notice.title.replace(";", ","), notice.body or notice.title
            return b"\x1b]777;notify;" + _text(title) + b";" + _text(body) + _ST
        case "osc99":
            parts = [("title", "0", notice.title), ("body", "1", notice.body)]
            return b"".join(
                f"\x1b]99;i={_id(notice)}:d={done}:e=1:p={part};".encode() + base64.b64encode(_text(text)) + _ST
                for part, done, text in parts
            )
        case "bell":
            return BELL


def taken_away(notice: Notice, code: Code) -> bytes:
    """The bytes that take an earlier notice of the same key away; nothing where the terminal has no way to do that."""
    return f"\x1b]99;i={_id(notice)}:p=close;".encode() + _ST if code == "osc99" else b""


def in_tmux(data: bytes) -> bytes:
    r"""A sequence as tmux hands it through to its terminal; a bell needs none of that.

    >>> in_tmux(b"\x1b]9;x\x1b\\")
    b'\x1bPtmux;\x1b\x1b]9;x\x1b\x1b\\\x1b\\'
    """
    return data if data == BELL else b"\x1bPtmux;" + data.replace(b"\x1b", b"\x1b\x1b") + _ST


def _text(text: str) -> bytes:
    """Text as bytes, without anything that could end the sequence, whoever made it."""
    return "".join(char for char in text if char.isprintable()).encode("utf-8", "replace")


def _id(notice: Notice) -> str:
    """The same for each notice of a session, and of harmless characters."""
    return "stallkit-" + hashlib.sha256(notice.key.encode("utf-8", "replace")).hexdigest()[:16]
