"""The user's own terminal under a relay: in raw mode while the relay is in its foreground, restored at every end."""

from __future__ import annotations

import fcntl
import os
import signal
import termios
from contextlib import suppress
from types import TracebackType
from typing import Any

from stallkit_wrap.relay.inner_program import FORWARDED

# --- the signals of a relay as numbers to read beside everything else, instead of interruptions ---


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


_SIZE = b"\0" * 8  # struct winsize: rows, columns, and both in pixels, which images need


class OuterTerminal:
    """The terminal of descriptors 0 and 1, by descriptors of its own that never block; a context.

    The modes of 0 and 1 are shared with the shell, so those stay as they are.
    """

    def __init__(self) -> None:
        self.reads, self.writes = _opened(0), _opened(1)
        self.settings = termios.tcgetattr(self.reads)  # what the program's own terminal begins with
        self._raw = False

    def __enter__(self) -> OuterTerminal:
        self.take()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.give_back()

    def close(self) -> None:
        """Release its descriptors."""
        os.close(self.reads)
        os.close(self.writes)

    @property
    def ours(self) -> bool:
        """Whether it is in raw mode now, and its keys are for the program."""
        return self._raw

    @property
    def exists(self) -> bool:
        """Whether it is still connected."""
        try:
            termios.tcgetattr(self.reads)
        except (OSError, termios.error):
            return False
        return True

    def take(self) -> bool:
        """Set raw mode, if this process is in the foreground: to another process it must not happen."""
        with suppress(OSError, termios.error):
            if not self._raw and os.tcgetpgrp(self.reads) == os.getpgrp():
                self.settings = termios.tcgetattr(self.reads)
                termios.tcsetattr(self.reads, termios.TCSADRAIN, _raw(self.settings))
                self._raw = True
        return self._raw

    def give_back(self) -> None:
        """Restore the settings, if this process changed them."""
        if self._raw:
            self._raw = False
            with suppress(OSError, termios.error):
                termios.tcsetattr(self.reads, termios.TCSADRAIN, self.settings)

    def stop(self) -> None:
        """Give it back and stop this process's group, as Ctrl-Z does; returns when it continues."""
        self.give_back()
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.killpg(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        self.take()


def _raw(settings: list[Any]) -> list[Any]:
    """The settings in which nothing is changed on the way, neither keys nor output, as of cfmakeraw(3)."""
    changes = termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP | termios.INLCR | termios.IGNCR
    changes |= termios.ICRNL | termios.IXON | termios.IXOFF | termios.IXANY
    local = termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN
    raw = [*settings[:6], list(settings[6])]
    raw[0] &= ~changes
    raw[1] &= ~termios.OPOST
    raw[2] = raw[2] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
    raw[3] &= ~local
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
    return raw


def copy_size(outer: int, inner: int) -> None:
    """Give one terminal the size of another, also in pixels; its foreground gets SIGWINCH if it changed."""
    with suppress(OSError):
        fcntl.ioctl(inner, termios.TIOCSWINSZ, fcntl.ioctl(outer, termios.TIOCGWINSZ, _SIZE))


def _opened(descriptor: int) -> int:
    try:
        return os.open(os.ttyname(descriptor), os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # another user's, as after su, or in another mount of devpts
        return os.dup(descriptor)
