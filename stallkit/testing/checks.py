"""Does it keep to what is promised of all: a pack (`check_pack`), a source of signals (`check_signal`), a transport.

`check_signature` is for one signature of a pack, `Stage` a program to test a transport with (`check_transport`).

PYTEST_DONT_REWRITE: pytest rewrites the assertions of every package that has a plug-in for it; the assertions here have
their own messages, one line a failure.
"""

from __future__ import annotations

import os
import socket
import sys
import time
import unicodedata
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Protocol, Sequence

from attrs import evolve

from stallkit.detect.engine import Engine
from stallkit.detect.signature import Pack
from stallkit.errors import KeysRefused, PackError, SessionGone, TransportError
from stallkit.evidence.signal import Guard, Signal
from stallkit.evidence.snapshot import Snapshot
from stallkit.packs.registry import installed
from stallkit.probes.procfs import stat_of
from stallkit.signals.source import MAX_BYTES, Publisher, SignalSource
from stallkit.terminal.keys import Keys
from stallkit.testing.example import Example, Judges, Place, entries, pack_of, places, screens_of
from stallkit.transports.base import Transport


def check_pack(package: str | Path, among: Sequence[Pack] | None = None) -> int:
    """Check a pack by its own examples; returns how many there were, raises AssertionError naming every failure.

    `package` is the name of a package, or a folder that holds a ``signatures.toml``.  Every signature must have a hit
    and a miss.  A hit must match its own signature within the pack, and among all packs (`among`, by default the
    installed ones).  A miss must match neither its signature nor any other of the pack in the same state.  A known gap
    (``todo-``) that passes has to be renamed.
    """
    engines = judges(package, among)
    found = list(places(engines.pack, screens_of(package)))
    shown, failures = _read_all(found)
    failures += [
        f"{example.signature} {example.name}: {fault}" for example in shown if (fault := engines.fault(example))
    ]
    failures += incomplete(engines.pack, package, found)
    _raise(f"pack {engines.pack.name}", failures)
    return len(shown)


def check_signature(package: str | Path, id: str, among: Sequence[Pack] | None = None) -> int:
    """Check one signature of a pack; returns how many examples it has, raises AssertionError naming every failure.

    As `check_pack`, for the examples that depend on this signature: its own, and those of others that it matches.
    Raises ValueError for a signature that the pack does not have.
    """
    engines = judges(package, among)
    ids = [signature.id for signature in engines.pack.signatures]
    if id not in ids:
        raise ValueError(f"pack {engines.pack.name} has no signature {id!r}; it has {', '.join(ids)}")
    found = list(places(engines.pack, screens_of(package)))
    own, failures = _read_all([place for place in found if place.signature == id])
    others, _ = _read_all([place for place in found if place.signature != id])
    checked = [*own, *(example for example in others if engines.takes(example, id))]
    failures += [
        f"{example.signature} {example.name}: {fault}" for example in checked if (fault := engines.fault(example))
    ]
    failures += _lacking(id, own)
    _raise(f"signature {engines.pack.name}:{id}", failures)
    return len(own)


def judges(package: str | Path, among: Sequence[Pack] | None = None) -> Judges:
    """The engines that check a pack's examples, made once for all of them."""
    pack = pack_of(package)
    others = [other for other in (installed().packs if among is None else among) if other.name != pack.name]
    alone = Engine([pack])
    return Judges(pack, alone, Engine([pack, *others]) if others else alone)


def incomplete(pack: Pack, package: str | Path, shown: Sequence[Example | Place]) -> Iterator[str]:
    """The missing examples of a pack, and screens that belong to no signature."""
    ids = {signature.id for signature in pack.signatures}
    for id in sorted(ids):
        yield from _lacking(id, [one for one in shown if one.signature == id])
    screens = screens_of(package)
    if screens.is_dir():
        for folder in entries(screens):
            if folder.name not in ids:
                yield f"screens/{folder.name}: no signature has this id"


def _read_all(found: Sequence[Place]) -> tuple[list[Example], list[str]]:
    """The examples that can be read, and the faults of the others."""
    shown: list[Example] = []
    failures: list[str] = []
    for place in found:
        try:
            shown.append(place.read())
        except (AssertionError, PackError) as error:
            failures.append(str(error))
        except OSError as error:
            failures.append(f"{place.file}: it cannot be read: {error.strerror or error}")
    return shown, failures


def _lacking(id: str, own: Sequence[Example | Place]) -> Iterator[str]:
    for wanted, name in ((True, "hit"), (False, "miss")):
        if not any(one.wanted is wanted and not one.todo for one in own):
            yield f"{id}: it has no {name}"


def _raise(subject: str, failures: list[str]) -> None:
    if failures:
        number = f"{len(failures)} failures"
        raise AssertionError(f"{subject}: {number}\n  " + "\n  ".join(failures))


# --- a source of signals ---


READ_BYTES = 4 * MAX_BYTES  # in one look at one process: what a bounded reader stays below
_HUGE = 64 * MAX_BYTES  # a file with a hole of this size
_HARMFUL = ("Cc", "Cf", "Cs", "Zl", "Zp")
_GARBLED = (
    b"",
    b"\0" * 4096,
    b"\xff\xfe\x80 not text",
    b"{",
    b"[]",
    b'"text"',
    b"null",
    b"[" * 100_000,
    b'{"pid": {}, "status": [], "updatedAt": "now", "data": null, "type": 7}\n' * 3,
    b'{"updatedAt": 1e999, "statusUpdatedAt": -1e999, "at": NaN}',
)


def check_signal(source: SignalSource, publisher: Publisher, files: Sequence[Path] = (), now: float = 1e9) -> int:
    """Check one source with a process that says something; how many checks there were.

    `publisher` is a running process of the caller's, and `files` are those that it publishes, which are replaced by
    garbled, huge and hostile ones, one after the other, and put back.  `now` is given to the source as it is.  Raises
    AssertionError that lists every failure.

        check_signal(SOURCE, agent.publisher, [session_file])
    23
    """
    failures, done = [], 0
    for name, check in _checks(source, publisher, files, now):
        done += 1
        try:
            check()
        except AssertionError as error:
            failures.append(f"{name}: {error}")
        except Exception as error:  # whatever it raises is a finding, and the other checks still run
            failures.append(f"{name}: it raised {error!r}")
    if failures:
        raise AssertionError(f"{len(failures)} of {done} checks failed\n  " + "\n  ".join(failures))
    return done


def _checks(
    source: SignalSource, publisher: Publisher, files: Sequence[Path], now: float
) -> Iterator[tuple[str, Callable[[], None]]]:
    yield "it is a source", lambda: _is_a_source(source)
    yield "it only reads", lambda: _only_reads(source, publisher, files, now)
    yield "what it says", lambda: _promised(_read(source, publisher, now), publisher)
    yield "a process that has ended", lambda: _silent_on_an_ended_one(source, publisher, now)
    for file in files:
        for number, data in enumerate(_GARBLED):
            replaced = partial(_write, data)
            yield f"{file.name} garbled, form {number}", partial(_with, file, replaced, source, publisher, now)
        for what, make in _HOSTILE.items():
            yield f"{file.name} is {what}", partial(_with, file, make, source, publisher, now)


def _is_a_source(source: SignalSource) -> None:
    assert isinstance(source, SignalSource), f"{source!r} lacks name, programs or read"
    assert source.name and source.name.isprintable() and " " not in source.name, f"its name is {source.name!r}"
    assert source.programs, "it names no programs: no process would be asked"
    strange = [name for name in source.programs if not name or "/" in name]
    assert not strange, f"names of processes are without directories: {strange}"


def _read(source: SignalSource, publisher: Publisher, now: float) -> list[Signal]:
    """What it says, within its bounds: bytes are counted, since a clock says little on a busy machine."""
    before = _bytes_read()
    found: Iterable[Signal] = source.read(publisher, now)
    said = list(found)
    spent = _bytes_read() - before
    assert spent <= READ_BYTES, f"one look read {spent:,} bytes, more than {READ_BYTES:,}"
    return said


def _promised(said: Sequence[Signal], publisher: Publisher) -> None:
    for signal in said:
        assert isinstance(signal, Signal), f"{signal!r} is no Signal"
        assert isinstance(signal.guard, Guard), f"its guard is {signal.guard!r}"
        bound = signal.guard is not Guard.PROCESS or signal.pid == publisher.pid
        assert bound, f"it is guarded by a process, but names process {signal.pid}, not {publisher.pid}"
        for text in (signal.words, signal.error or "", signal.session or "", *signal.fields.values(), *signal.fields):
            assert isinstance(text, str), f"{text!r} is no text"
            harmful = sorted({hex(ord(char)) for char in text if unicodedata.category(char) in _HARMFUL})
            assert not harmful, f"{text[:60]!r} is not one harmless line: {', '.join(harmful)}"
            assert len(text) <= 2000, f"a text has {len(text)} characters"
        for age in (signal.age_s, signal.since_s):
            assert age is None or age >= 0, f"an age of {age}"


def _only_reads(source: SignalSource, publisher: Publisher, files: Sequence[Path], now: float) -> None:
    before = [_state(file) for file in files]
    beside = [sorted(file.parent.iterdir()) for file in files]
    _read(source, publisher, now)
    assert before == [_state(file) for file in files], "it changed a file"
    assert beside == [sorted(file.parent.iterdir()) for file in files], "it made or removed a file"


def _state(file: Path) -> tuple[int, ...]:
    found = file.lstat()
    return found.st_ino, found.st_size, found.st_mode, found.st_mtime_ns


def _silent_on_an_ended_one(source: SignalSource, publisher: Publisher, now: float) -> None:
    gone = next(pid for pid in range(4_194_303, 0, -1) if stat_of(pid) is None)
    _promised(_read(source, Publisher(gone, publisher.stat), now), Publisher(gone, publisher.stat))


def _with(file: Path, change: Callable[[Path], Any], source: SignalSource, publisher: Publisher, now: float) -> None:
    """One look while the file is another."""
    kept = file.with_name(f"{file.name}.kept-by-check-signal")
    file.rename(kept)
    try:
        change(file)
        _promised(_read(source, publisher, now), publisher)
    finally:
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        else:
            file.unlink(missing_ok=True)
        kept.rename(file)


def _write(data: bytes, file: Path) -> None:
    file.write_bytes(data)


def _huge(file: Path) -> None:
    with file.open("wb") as made:
        made.truncate(_HUGE)


def _others(file: Path) -> None:
    file.write_bytes(file.with_name(f"{file.name}.kept-by-check-signal").read_bytes())
    with suppress(PermissionError):  # only root may give a file away
        os.chown(file, 12_345, 12_345)


def _socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, suppress(OSError):  # a path may be too long for one
        made.bind(str(file))


_HOSTILE: dict[str, Callable[[Path], Any]] = {
    "missing": lambda file: None,
    "huge": _huge,
    "a directory": Path.mkdir,
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a link to itself": lambda file: file.symlink_to(file),
    "a link to what has no end": lambda file: file.symlink_to("/dev/zero"),
    "another user's": _others,
    "unreadable": lambda file: file.touch(0),
}


def _bytes_read() -> int:
    """By this process so far, as the kernel counts them; 0 if it does not."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/io").read_text().splitlines():
            if line.startswith("rchar:"):
                return int(line.split()[1])
    return 0


# --- a transport ---


_QUESTION = "Proceed? [y/N] "
_PAUSE_S = 0.01

# What transports have lost or changed: a `;` at the end, a leading dash, quotes, formats, newlines, and UTF-8.
_HOSTILE_KEYS = [";", "a;", "-n", "--", "'", '"', "$(id)", "`id`", "#{pid}", "%1", "\\", "~", " "]
_HOSTILE_KEYS += ["Enter", "é你👍", "a\nb\r"]
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
    for keys in [*map(Keys.typed, _HOSTILE_KEYS), *map(Keys.parse, _NAMED)]:
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
