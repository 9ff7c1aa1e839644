"""Does a transport follow the protocol: `check_transport`, and `Stage`, a program to test it with.

PYTEST_DONT_REWRITE: pytest rewrites the assertions of every package that has a plug-in for it; the assertions here have
their own messages, one line a failure.
"""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Callable, Protocol

from attrs import evolve

from stallkit.errors import KeysRefused, SessionGone, TransportError
from stallkit.evidence.snapshot import Snapshot
from stallkit.terminal.keys import Keys
from stallkit.transports.base import Transport

__all__ = ["Session", "Stage", "check_transport"]

_QUESTION = "Proceed? [y/N] "
_PAUSE_S = 0.01

# What transports have lost or changed: a `;` at the end, a leading dash, quotes, formats, newlines, and UTF-8.
_HOSTILE = [";", "a;", "-n", "--", "'", '"', "$(id)", "`id`", "#{pid}", "%1", "\\", "~", " "]
_HOSTILE += ["Enter", "é你👍", "a\nb\r"]
_NAMED = ["Enter", "Escape", "Tab", "BTab", "Space", "BSpace", "C-c", "C-d", "C-z", "C-Space", "F1", "PageUp"]
_NAMED += ["1 Enter"]


class Session(Protocol):
    """What a transport is tested with: one live session, and a way around the transport to check the effects.

    The session does not echo keys.  `Stage` is the half of it that needs no transport.
    """

    transport: Transport

    def show(self, text: str) -> None:
        """Show only this text, with the cursor after it; the checks wait for it to appear."""

    def received(self) -> bytes:
        """The keys so far, as the program read them."""

    def end(self) -> None:
        """End the program, from its own side."""


def check_transport(make: Callable[[], AbstractContextManager[Session]], *, deadline_s: float = 5.0) -> int:
    """Check a transport's protocol; returns how many checks there were, raises AssertionError naming every failure.

    `make` opens a new session for every check, which may take `deadline_s` seconds to show or receive something.
    """
    failures = []
    for check in _CHECKS:
        name = check.__name__.strip("_").replace("_", " ")
        try:
            with make() as session:
                session.show(_QUESTION)
                check(session, _Patience(deadline_s))
        except Exception as error:  # whatever a transport raises is a finding, and the other checks still run
            failures.append(f"{name}: {error}" if isinstance(error, AssertionError) else f"{name}: {error!r}")
    if failures:
        raise AssertionError(f"{len(failures)} of {len(_CHECKS)} checks failed\n  " + "\n  ".join(failures))
    return len(_CHECKS)


class _Patience:
    """Waits for a condition, `seconds` at most."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + self.seconds
        while not condition():
            assert time.monotonic() < deadline, f"{what}, within {self.seconds:g} s"
            time.sleep(_PAUSE_S)

    def look(self, session: Session, text: str = _QUESTION) -> Snapshot:
        """A look that shows the text."""
        looks: list[Snapshot] = []

        def shown() -> bool:
            looks.append(session.transport.capture())
            return text.rstrip() in looks[-1].screen.text

        self.until(shown, f"the screen never showed {text!r}")
        return looks[-1]


def _a_look_is_a_snapshot(session: Session, patience: _Patience) -> None:
    assert isinstance(session.transport, Transport), "it lacks a method or the target of the protocol"
    seen = patience.look(session)
    assert isinstance(seen, Snapshot), f"capture gave a {type(seen).__name__}"
    assert session.transport.target and seen.target == session.transport.target, f"the target is {seen.target!r}"
    assert seen.alive is not False, "it is called dead"


def _two_looks_are_equal(session: Session, patience: _Patience) -> None:
    first, second = patience.look(session), session.transport.capture()
    assert first.screen == second.screen, f"nothing changed, but {first.screen} became {second.screen}"
    assert first.identity == second.identity, f"the identity {first.identity!r} became {second.identity!r}"


def _the_cursor_is_behind_the_text(session: Session, patience: _Patience) -> None:
    screen = patience.look(session).screen
    if screen.cursor is not None:
        assert screen.prompt_line.text == _QUESTION, f"the prompt line is {screen.prompt_line.text!r}"


def _keys_arrive_once_and_exactly(session: Session, patience: _Patience) -> None:
    wanted = b""
    for keys in [*map(Keys.typed, _HOSTILE), *map(Keys.parse, _NAMED)]:
        session.transport.send(keys, patience.look(session))
        wanted += keys.to_bytes()
        _receives(session, patience, wanted)
    patience.look(session)
    assert session.received() == wanted, "keys arrived twice"


def _keys_after_a_change_are_refused(session: Session, patience: _Patience) -> None:
    seen = patience.look(session)
    session.show("Delete everything? [y/N] ")
    patience.look(session, "Delete everything?")
    _refuses(session, patience, seen)


def _keys_for_another_session_are_refused(session: Session, patience: _Patience) -> None:
    seen = patience.look(session)
    _refuses(session, patience, evolve(seen, identity=f"not {seen.identity}"))


def _an_end_is_seen(session: Session, patience: _Patience) -> None:
    seen = patience.look(session)
    session.end()

    def ended() -> bool:
        try:
            look = session.transport.capture()
        except SessionGone as error:
            _named(error, session)
            return True
        assert look.alive is False or look.screen.text.strip(), "an empty screen of a session reported as alive"
        return look.alive is False

    patience.until(ended, "the end was never seen")
    _raises((SessionGone, KeysRefused), session, lambda: session.transport.send(Keys.typed("y"), seen))


def _closing_twice_is_closing_once(session: Session, patience: _Patience) -> None:
    seen = patience.look(session)
    session.transport.close()
    session.transport.close()
    _raises((TransportError,), session, session.transport.capture)
    _raises((TransportError,), session, lambda: session.transport.send(Keys.typed("y"), seen))
    assert session.received() == b"", "a key was sent after closing"


_CHECKS = (
    _a_look_is_a_snapshot,
    _two_looks_are_equal,
    _the_cursor_is_behind_the_text,
    _keys_arrive_once_and_exactly,
    _keys_after_a_change_are_refused,
    _keys_for_another_session_are_refused,
    _an_end_is_seen,
    _closing_twice_is_closing_once,
)


def _refuses(session: Session, patience: _Patience, seen: Snapshot) -> None:
    """A send is refused, and only the key that is sent after it arrives."""
    _raises((KeysRefused,), session, lambda: session.transport.send(Keys.typed("y"), seen))
    session.transport.send(Keys.typed("n"), session.transport.capture())
    _receives(session, patience, b"n")


def _receives(session: Session, patience: _Patience, wanted: bytes) -> None:
    patience.until(lambda: len(session.received()) >= len(wanted), f"{wanted!r} did not arrive: {session.received()!r}")
    assert session.received() == wanted, f"{wanted!r} arrived as {session.received()!r}"


def _raises(kinds: tuple[type[TransportError], ...], session: Session, call: Callable[[], object]) -> None:
    names = " or ".join(kind.__name__ for kind in kinds)
    try:
        call()
    except kinds as error:
        _named(error, session)
    except Exception as error:
        raise AssertionError(f"{error!r} instead of {names}") from error
    else:
        raise AssertionError(f"it did not raise {names}")


def _named(error: TransportError, session: Session) -> None:
    assert error.target == session.transport.target, f"an error names {error.target!r}"


class Stage:
    """A real program to run in a terminal: it shows given texts, and keeps what is typed into it.

    `command` starts it; the texts reach it through files in `folder`, around the terminal.
    """

    def __init__(self, folder: Path) -> None:
        self.command = [sys.executable, "-c", _STAGE, str(folder)]
        self._folder = folder
        self._shown = 0

    def show(self, text: str) -> None:
        """Clear the screen and show the text."""
        self._send(text)

    def received(self) -> bytes:
        """The bytes that came through the terminal so far."""
        file = self._folder / "received"
        return file.read_bytes() if file.exists() else b""

    def end(self) -> None:
        """Let the program end, with exit status 7."""
        self._send("\x04")

    def _send(self, text: str) -> None:
        self._shown += 1
        draft = self._folder / "draft"
        draft.write_bytes(text.encode())
        draft.rename(self._folder / f"show-{self._shown}")  # atomic: never read half-written


_STAGE = """
import os, pathlib, select, sys, tty
folder, number = pathlib.Path(sys.argv[1]), 1
tty.setraw(0)
with open(folder / "received", "ab", buffering=0) as received:
    while True:
        if select.select([0], [], [], 0.01)[0]:
            received.write(os.read(0, 4096) or sys.exit(1))
        show = folder / f"show-{number}"
        if show.exists():
            text, number = show.read_bytes(), number + 1
            if text == b"\\x04":
                sys.exit(7)
            os.write(1, b"\\x1b[2J\\x1b[H" + text)
"""
