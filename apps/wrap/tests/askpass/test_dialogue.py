"""One question at a terminal: what counts as its answer, and that the terminal is left as it was."""

from __future__ import annotations

import os
import pty
import select
import termios
import threading
from typing import Iterator

import pytest
from stallkit_wrap.askpass.dialogue import Question, TerminalLost, ask, drain
from terminals import wait_for

SECRET = Question.of("Password: ")


class Terminal:
    """A pseudo-terminal, and somebody who types at the other end of it."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.shown = b""
        self._threads: list[threading.Thread] = []

    def sees(self, text: bytes) -> bool:
        if select.select([self.master], [], [], 0)[0]:
            self.shown += os.read(self.master, 4_096)
        return text in self.shown

    def when(self, text: bytes, keys: bytes) -> None:
        """Type keys once a text is shown."""

        def wait() -> None:
            wait_for(lambda: self.sees(text), repr(text))
            os.write(self.master, keys)

        self._threads.append(threading.Thread(target=wait))
        self._threads[-1].start()

    def end(self) -> None:
        for thread in self._threads:
            thread.join()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.end()


def never() -> None:
    """It is never taken back."""


def test_an_answer_is_one_line(terminal: Terminal) -> None:
    before = termios.tcgetattr(terminal.slave)
    for keys, answer in (
        (b"moth lamp\r", b"moth lamp"),
        (b"\r", b""),
        (b"gr\xc3\xbc\xff\n", b"gr\xc3\xbc\xff"),
        (b"\x04", None),
    ):
        terminal.shown = b""
        terminal.when(b"Password: ", keys)
        assert ask(terminal.slave, SECRET, "", never) == answer
        wait_for(lambda: terminal.sees(b"\n"), "the end of the line")
        assert b"moth" not in terminal.shown and termios.tcgetattr(terminal.slave) == before


def test_what_is_no_secret_is_shown_and_words_are_disarmed(terminal: Terminal) -> None:
    terminal.when(b"continue (yes/no)? ", b"yes\r")
    words = "The host\x1b[2J\nis new: continue (yes/no)? "
    assert ask(terminal.slave, Question.of(words), "ssh asks:", never) == b"yes"
    wait_for(lambda: terminal.sees(b"? yes\r\n"), "the answer")
    assert terminal.shown.startswith(b"ssh asks:\r\nThe host\\x1b[2J\r\nis new: ")


@pytest.mark.parametrize("typed", [b"", b"half"])
def test_nothing_is_left_of_a_question_that_is_taken_back(terminal: Terminal, typed: bytes) -> None:
    begun: list[bool] = []

    def lost() -> str | None:
        return "another reads" if terminal.sees(b"Password: ") and begun else None

    def on_asked() -> None:
        os.write(terminal.master, typed)
        begun.append(True)

    before = termios.tcgetattr(terminal.slave)
    with pytest.raises(TerminalLost, match="another reads"):
        ask(terminal.slave, SECRET, "", lost, on_asked)
    assert termios.tcgetattr(terminal.slave) == before
    os.set_blocking(terminal.slave, False)
    with pytest.raises(BlockingIOError):
        os.read(terminal.slave, 10)


def test_the_rest_is_taken_until_enter(terminal: Terminal) -> None:
    terminal.when(b"It is over", b"the rest\r")
    drain(terminal.slave, "It is over")
    assert b"the rest" not in terminal.shown
