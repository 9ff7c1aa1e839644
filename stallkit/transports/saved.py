"""A saved screen: ``file:PATH`` and standard input.  It can be looked at, but accepts no keys."""

from __future__ import annotations

from pathlib import Path

from stallkit.errors import KeysRefused, TransportError, UnknownTarget
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.screenfile import ScreenFile, read_screen
from stallkit.terminal.keys import Keys
from stallkit.terminal.screen import Screen
from stallkit.transports.base import Closing, Options

__all__ = ["SavedTransport"]


class SavedTransport(Closing):
    """The transport over one saved screen; every capture is the same."""

    def __init__(self, target: str, saved: ScreenFile) -> None:
        self.target = target
        self._saved = saved

    @classmethod
    def open(cls, address: str, options: Options) -> SavedTransport:
        """The screen in a file.  Raises TransportError where it cannot be read, PackFormatError for a broken front."""
        target = f"file:{address}"
        try:
            return cls(target, read_screen(Path(address)))
        except FileNotFoundError as error:
            raise UnknownTarget(target, "there is no such file", "name one that is there") from error
        except OSError as error:
            raise TransportError(target, error.strerror or str(error), "name a file that can be read") from error

    @classmethod
    def of_text(cls, text: str) -> SavedTransport:
        """The screen in a text, such as standard input: all of it is screen, without a front block."""
        return cls("-", ScreenFile(Screen.from_text(text), {}))

    def capture(self) -> Snapshot:
        """The saved screen, with the facts of its front block."""
        return self._saved.snapshot(self.target)

    def send(self, keys: Keys, seen: Snapshot) -> None:
        """Refused: a saved screen accepts no keys."""
        raise KeysRefused(self.target, "it is a saved screen, not a session")

    def close(self) -> None:
        """There is nothing to release."""
