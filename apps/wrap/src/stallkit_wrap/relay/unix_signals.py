"""The signals of a relay as numbers to read beside everything else, instead of interruptions."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any

from stallkit_wrap.relay.inner_program import FORWARDED

__all__ = ["Signals"]


class Signals:
    """Takes them while it is entered; `descriptor` can be read where one came."""

    NUMBERS = (*FORWARDED, signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH, signal.SIGCHLD)

    def __enter__(self) -> Signals:
        self.descriptor, self._writes = os.pipe()
        for descriptor in (self.descriptor, self._writes):
            os.set_blocking(descriptor, False)
        self._before: dict[int, Any] = {number: signal.signal(number, _nothing) for number in self.NUMBERS}
        signal.set_wakeup_fd(self._writes, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.descriptor)
        os.close(self._writes)

    def taken(self) -> bytes:
        """The signals that came."""
        with suppress(BlockingIOError):
            return os.read(self.descriptor, 4_096)
        return b""


def _nothing(number: int, frame: object) -> None:
    """A handler, so that the wake-up is written."""
