"""The golden form of a screen file: plain text without control sequences."""

from __future__ import annotations

import difflib
import re

from stallkit.terminal.text import strip

__all__ = ["difference", "golden"]

_FRONT = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$\n?", re.MULTILINE | re.DOTALL)


def golden(text: str) -> str:
    r"""The golden text of a screen file: control sequences carried out, a newline at its end.

    The front block and the shown screen stay as they are.  So do credentials: masking cannot tell ``Password: ____``
    from a password, and a screen without its prompt is useless (`stallkit capture` masks what it writes).

    >>> golden("10%\r\x1b[2KProceed? \x1b[1m[y/N]")
    'Proceed? [y/N]\n'
    """
    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    head = front[0] if front else ""
    body = strip(text[len(head) :])
    return head + (body if body.endswith("\n") else body + "\n")


def difference(before: str, after: str, name: str) -> str:
    """What changed between two texts, line by line, with every control code written out."""
    lines = difflib.unified_diff(_lines(before), _lines(after), name, name, n=1, lineterm="")
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    return ["".join(char if char.isprintable() else repr(char)[1:-1] for char in line) for line in text.split("\n")]
