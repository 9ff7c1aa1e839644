"""The keys that mark the truth while a session is recorded: a prefix, then a letter; the prefix twice is itself.

Pure: what is typed goes in, what the program gets and what is marked come out.
"""

from __future__ import annotations

import re

from attrs import frozen

from stallkit.lab.notes import LETTERS

__all__ = ["MarkKeys", "Typed"]

# What terminals send instead of a key where the program asked for it: kitty's protocol, and xterm's modifyOtherKeys.
_CODED = re.compile(rb"\x1b\[(?:(\d+)(?:;1)?u|(\d+);5u|27;5;(\d+)~)")


@frozen
class Typed:
    """What was typed: `passed` is for the program, `marked` are the states to mark, `refused` counts other letters."""

    passed: bytes
    marked: tuple[str, ...] = ()
    refused: int = 0


class MarkKeys:
    """Finds the prefix, one control character such as ``C-]``; raises ValueError for any other key."""

    def __init__(self, prefix: bytes = b"\x1d") -> None:
        if len(prefix) != 1 or not 0 < prefix[0] < 32 or prefix in (b"\x1b", b"\r", b"\t"):
            raise ValueError(f"the key to mark with is one with Ctrl, such as C-], not {prefix!r}")
        self._prefix = prefix
        self._letter = bytes([prefix[0] | 0x40]).lower()  # under which other protocols send it
        self._begun = False

    def feed(self, data: bytes) -> Typed:
        """Take what was typed; a key is never cut in two by a terminal."""
        passed, marked, refused = bytearray(), [], 0
        at = 0
        while at < len(data):
            key, plain = self._key(data, at)
            at += len(key)
            if not self._begun:
                self._begun = plain == self._prefix
                passed += b"" if self._begun else key
                continue
            self._begun = False
            state = LETTERS.get(plain.decode("latin-1"))
            if plain == self._prefix:
                passed += key
            elif state is None:
                refused += 1
            else:
                marked.append(str(state))
        return Typed(bytes(passed), tuple(marked), refused)

    def _key(self, data: bytes, at: int) -> tuple[bytes, bytes]:
        """The bytes of the next key, and the plain byte that it stands for."""
        found = _CODED.match(data, at)
        if found is None:
            return data[at : at + 1], data[at : at + 1]
        number = int(next(filter(None, found.groups())))
        plain = bytes([number]) if number < 128 else b""
        if found[1] is None:  # with Ctrl held
            plain = self._prefix if plain.lower() == self._letter else b""
        return found[0], plain
