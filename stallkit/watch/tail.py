"""The end of what a program wrote, however much that was."""

from __future__ import annotations

from stallkit.core.text import strip

__all__ = ["Tail"]

KEPT = 262_144  # bytes: some thousand lines of a build, and nothing to the 50 MB that a run may take


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
        """What is kept, as plain text: control sequences out, invalid UTF-8 replaced, from the first whole line on."""
        data = bytes(self._data)
        if self.lost:
            data = data.partition(b"\n")[2] or data
        return strip(data.decode("utf-8", "replace"))
