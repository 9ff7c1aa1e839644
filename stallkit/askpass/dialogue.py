"""One question at one terminal: typed ahead is dropped, a secret is not shown, the settings come back in every case."""

from __future__ import annotations

import os
import select
import signal
import termios
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from stallkit.askpass.question import Question
from stallkit.core.text import escaped

__all__ = ["TerminalLost", "ask", "drain"]

SETTLED_S = 0.5  # without a key, before the question is put: what a person was typing is no answer
LOOK_S = 0.5  # between two looks whether it may go on
QUIET_S, TYPING_S = 10.0, 60.0  # without a key, before nobody is taken to type on: at first, and after a key
LINE = 4_096  # bytes that a terminal gives at once, a line at most
_IFLAG, _LFLAG, _CC = 0, 3, 6


class TerminalLost(Exception):
    """The question was taken back, and what was typed of the answer was dropped."""


def ask(
    terminal: int,
    question: Question,
    heading: str,
    lost: Callable[[], str | None],
    on_asked: Callable[[], object] = lambda: None,
) -> bytes | None:
    """What is typed at this terminal (a descriptor), without the end of its line; None for an end of file.

    `lost` is asked twice a second whether the question must be taken back, and why: then TerminalLost is raised.
    `on_asked` is called once the question stands there.  Call it in the main thread.  Raises KeyboardInterrupt for
    Ctrl-C, OSError or termios.error where the terminal goes away.
    """
    before = termios.tcgetattr(terminal)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # so that the settings come back, whoever is in front by then
    shown = False
    try:
        _set(terminal, before, lines=False, echo=False)
        while select.select([terminal], [], [], SETTLED_S)[0]:
            if not os.read(terminal, LINE):
                return None
        _set(terminal, before, lines=True, echo=question.echo)
        _write(terminal, heading, question.words)
        on_asked()
        with _looked_after(lost):
            typed = os.read(terminal, LINE)  # a plain read, so that whoever looks on sees that it waits
        shown = question.echo and typed.endswith(b"\n")
        return typed.removesuffix(b"\n") if typed else None
    finally:
        if not shown:  # the end of the line was not echoed
            os.write(terminal, b"\n")
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def drain(terminal: int, notice: str) -> None:
    """Take the keys of a person who is still typing an answer that nobody wants any more, so that they reach nobody.

    It ends with Enter, with a terminal that is gone, or when no key comes for a while.  Raises as `ask` does.
    """
    before = termios.tcgetattr(terminal)
    try:
        _set(terminal, before, lines=False, echo=False)
        _write(terminal, "", notice)
        patience_s = QUIET_S
        while select.select([terminal], [], [], patience_s)[0]:
            keys = os.read(terminal, LINE)
            if not keys or b"\n" in keys:
                return
            patience_s = TYPING_S
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


@contextmanager
def _looked_after(lost: Callable[[], str | None]) -> Iterator[None]:
    def look(*_: object) -> None:
        why = lost()
        if why is not None:
            raise TerminalLost(why)

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _set(terminal: int, before: list[Any], *, lines: bool, echo: bool) -> None:
    """Whole lines or single keys, shown or not; what was typed until now is dropped."""
    settings = list(before)
    wanted = (termios.ICANON if lines else 0) | (termios.ECHO if echo else 0) | termios.ISIG
    settings[_LFLAG] = before[_LFLAG] & ~(termios.ICANON | termios.ECHO | termios.ECHONL) | wanted
    settings[_IFLAG] = before[_IFLAG] | termios.ICRNL
    if not lines:
        settings[_CC] = list(before[_CC])
        settings[_CC][termios.VMIN], settings[_CC][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSAFLUSH, settings)


def _write(terminal: int, heading: str, words: str) -> None:
    """The words as they were given, row by row, disarmed: they may be another machine's."""
    rows = [escaped(row) for row in [*([heading] if heading else []), *words.split("\n")]]
    os.write(terminal, "\n".join(rows).encode("utf-8", "replace"))
