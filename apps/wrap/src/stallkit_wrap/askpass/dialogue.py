"""One question at one terminal: typed ahead is dropped, a secret is not shown, the settings come back in every case."""

from __future__ import annotations

import os
import select
import signal
import termios
import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Literal

from attrs import frozen

from stallkit.terminal.text import escaped

# --- what an askpass program is asked for, from the words that it is called with ---

HOST_KEY = "(yes/no"  # "... (yes/no/[fingerprint])? ", and "(yes/no)? " of older ones
USER_NAME = "Username for "

_REMEDIES = {
    "git": "run it in a terminal of its own, or set a credential helper (git config credential.helper)",
    "ssh": "run it in a terminal of its own, or first ssh-add the key, or accept the host key, there",
    "sudo": "run it in a terminal of its own, or first sudo -v there",
}


@frozen
class Question:
    """A prompt, with how it is answered.

    >>> Question.of("Enter passphrase for key '/home/a/.ssh/id': ").kind
    'secret'
    >>> Question.of("Username for 'https://host.example': ").echo
    True
    """

    words: str
    kind: Literal["secret", "confirm", "text"]
    wants: Literal["text", "yes", "nothing"] = "text"  # yes: only the exit status counts; nothing: it is a notice

    @property
    def echo(self) -> bool:
        """Whether what is typed may be shown."""
        return self.kind != "secret"

    @classmethod
    def of(cls, words: str, hint: str = "") -> Question:
        """The question; `hint` is what ssh gives in SSH_ASKPASS_PROMPT.  What is not known asks for a secret."""
        if hint == "confirm":
            return cls(words, "confirm", "yes")
        if hint == "none":
            return cls(words, "confirm", "nothing")
        if HOST_KEY in words:
            return cls(words, "confirm")
        return cls(words, "text" if words.startswith(USER_NAME) else "secret")


def who_asks(name: str) -> str:
    """The program that a person knows, by the name of the process that asks.

    >>> who_asks("git-remote-http"), who_asks("ssh-keygen")
    ('git', 'ssh-keygen')
    """
    return "git" if name.startswith("git-") else name


def remedy(who: str) -> str:
    """How a prompt is answered that could not be asked here."""
    return _REMEDIES.get(who.partition("-")[0], "run it in a terminal of its own")


SETTLED_S = 0.5  # without a key, before the question is put: what a person was typing is no answer
LOOK_S = 0.5  # between two looks whether it may go on
QUIET_S, TYPING_S = 10.0, 60.0  # without a key, before nobody is taken to type on: at first, and after a key
LINE = 4_096  # bytes that a terminal gives at once, a line at most
_IFLAG, _LFLAG, _CC = 0, 3, 6
_NO_KEY = b"\0"  # _POSIX_VDISABLE


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
    `on_asked` is called once the question is shown.  Call it in the main thread.  Raises KeyboardInterrupt for
    Ctrl-C, OSError or termios.error where the terminal goes away.
    """
    before = termios.tcgetattr(terminal)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # so that the settings come back, whoever is in front by then
    while True:
        typed = _typed(terminal, before, question, heading, lost, on_asked)
        if not _raised(typed, before):  # Ctrl-Z, and in front again: the question is put once more
            return typed.removesuffix(b"\n") or (b"" if typed else None)


def _typed(
    terminal: int,
    before: list[Any],
    question: Question,
    heading: str,
    lost: Callable[[], str | None],
    on_asked: Callable[[], object],
) -> bytes:
    """A line as it was typed, or what ends with a key that sends a signal; nothing for an end of file."""
    shown = False
    try:
        _set(terminal, before, lines=False, echo=False)
        while select.select([terminal], [], [], SETTLED_S)[0]:
            ahead = os.read(terminal, LINE)
            if not ahead or _signals(ahead, before):
                return ahead
        _set(terminal, before, lines=True, echo=question.echo)
        _write(terminal, heading, question.words)
        on_asked()
        with _looked_after(lost):
            typed = os.read(terminal, LINE)  # a plain read, so that whoever looks on sees that it waits
        shown = question.echo and typed.endswith(b"\n")
        return typed
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
        keys, patience_s = b"", QUIET_S
        while select.select([terminal], [], [], patience_s)[0]:
            keys = os.read(terminal, LINE)
            if not keys or b"\n" in keys or _signals(keys, before):
                break
            patience_s = TYPING_S
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
    _raised(keys, before)


def _signals(typed: bytes, before: list[Any]) -> list[int]:
    """Which signals the terminal would have made of these keys."""
    kinds = {termios.VINTR: signal.SIGINT, termios.VQUIT: signal.SIGQUIT, termios.VSUSP: signal.SIGTSTP}
    return [sent for key, sent in kinds.items() if before[_CC][key] != _NO_KEY and before[_CC][key] in typed]


def _raised(typed: bytes, before: list[Any]) -> bool:
    """Send the signals that these keys stand for, as the terminal would: to all of our job.

    It is not left to the terminal: the program that waits for our answer dies of it at once, and whoever is in front
    then would find the terminal without echo.
    """
    sent = _signals(typed, before)
    for number in sent:
        os.kill(0, number)
    return bool(sent)


@contextmanager
def _looked_after(lost: Callable[[], str | None]) -> Iterator[None]:
    """Take the question back as soon as `lost` says why.

    Another thread asks: a look takes time on a busy machine, and who looks on meanwhile must see that this one reads.
    """
    over, whys, reader = threading.Event(), [], threading.get_ident()

    def look() -> None:
        while not over.wait(LOOK_S):
            why = lost()
            if why is not None:
                whys.append(why)
                signal.pthread_kill(reader, signal.SIGALRM)
                return

    def take_back(*_: object) -> None:
        raise TerminalLost(whys[0])

    before = signal.signal(signal.SIGALRM, take_back)
    looks = threading.Thread(target=look, daemon=True)
    looks.start()
    try:
        yield
    finally:
        over.set()
        looks.join()
        signal.signal(signal.SIGALRM, before)


def _set(terminal: int, before: list[Any], *, lines: bool, echo: bool) -> None:
    """Whole lines or single keys, shown or not; what was typed until now is dropped.

    Keys that send a signal are read like others (`_raised`).  A line ends with Ctrl-C and Ctrl-Z as well; Ctrl-\\
    counts once it ends.
    """
    settings = list(before)
    wanted = (termios.ICANON if lines else 0) | (termios.ECHO if echo else 0)
    settings[_LFLAG] = before[_LFLAG] & ~(termios.ICANON | termios.ECHO | termios.ECHONL | termios.ISIG) | wanted
    settings[_IFLAG] = before[_IFLAG] | termios.ICRNL
    keys = settings[_CC] = list(before[_CC])
    if lines:
        keys[termios.VEOL], keys[termios.VEOL2] = keys[termios.VINTR], keys[termios.VSUSP]
    else:
        keys[termios.VMIN], keys[termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSAFLUSH, settings)


def _write(terminal: int, heading: str, words: str) -> None:
    """The words as they were given, row by row, disarmed: they may be another machine's."""
    rows = [escaped(row) for row in [*([heading] if heading else []), *words.split("\n")]]
    os.write(terminal, "\n".join(rows).encode("utf-8", "replace"))
