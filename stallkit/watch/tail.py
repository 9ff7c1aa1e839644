"""The end of what a program wrote, however much that was."""

from __future__ import annotations

from stallkit.core.text import strip

__all__ = ["Tail"]

KEPT = 262_144  # bytes: some thousand lines of a build, and nothing to the 50 MB that a run may take
MAX_HALF = 4_096  # bytes of the line that was cut, which are left out; more is no line of text


class Tail:
    """The last bytes of a stream, `kept` at least and twice that at most; `lost` counts those before them."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._data = bytearray()
        self.lost = 0

    def add(self, data: bytes) -> None:
        """Take what was read."""
        self._data += data
        if len(self._data) > 2 * self._kept:
            self.lost += len(self._data) - self._kept
            del self._data[: -self._kept]

    @property
    def text(self) -> str:
        """What is kept, as plain text: control sequences out, invalid UTF-8 replaced, from a whole line on."""
        data = bytes(self._data)
        if self.lost:
            half, _, rest = data.partition(b"\n")
            data = rest if rest and len(half) < MAX_HALF else data
        return strip(data.decode("utf-8", "replace"))
