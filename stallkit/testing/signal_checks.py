"""Does a source of signals keep to what is promised of all: `check_signal`.

PYTEST_DONT_REWRITE: pytest rewrites the assertions of every package that has a plug-in for it; the assertions here have
their own messages, one line a failure.
"""

from __future__ import annotations

import os
import socket
import unicodedata
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Sequence

from stallkit.evidence.signal import Guard, Signal
from stallkit.probes.procfs import stat_of
from stallkit.signals.source import MAX_BYTES, Publisher, SignalSource

__all__ = ["check_signal"]

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
    """By this process so far, as the kernel counts them; 0 where it does not."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/io").read_text().splitlines():
            if line.startswith("rchar:"):
                return int(line.split()[1])
    return 0
