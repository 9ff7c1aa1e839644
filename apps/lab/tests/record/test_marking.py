"""A recording hears marks at its socket; whatever else is said there does no harm."""

from __future__ import annotations

import select
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallkit_lab.record.marking import Listener, MarkKeys, Typed, give
from stallkit_lab.record.recording import LETTERS

from stallkit.daemon_socket import DaemonRefused, ask
from stallkit.errors import SessionGone, StoreError, TransportError


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("s")
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(folder))
    return folder


def serve(listener: Listener, until: threading.Event) -> None:
    while not until.is_set():
        if select.select([listener], [], [], 0.02)[0]:
            listener.ready()


@pytest.fixture
def open_listener(state: Path) -> Iterator[Callable[[str], list[str]]]:
    """Opens a listener for a file; gives the list that its marks go to."""
    over, made = threading.Event(), []

    def start(name: str) -> list[str]:
        marks: list[str] = []

        def mark(label: str) -> float:
            marks.append(label)
            return float(len(marks))

        listener = Listener(state / name, mark)
        thread = threading.Thread(target=serve, args=(listener, over))
        thread.start()
        made.append((listener, thread))
        return marks

    yield start
    over.set()
    for listener, thread in made:
        thread.join()
        listener.close()


def test_the_newest_hears_it_or_the_one_that_is_named(state: Path, open_listener: Callable[[str], list[str]]) -> None:
    first, second = open_listener("a.cast"), open_listener("b.cast")
    assert give("idle") == (str((state / "b.cast").resolve()), 1.0)
    assert give("waiting:text", state / "a.cast")[1] == 1.0
    assert (first, second) == (["waiting:text"], ["idle"])
    with pytest.raises(SessionGone, match="no such recording"):
        give("idle", state / "c.cast")
    with pytest.raises(ValueError, match="not a kind"):
        give("waiting:nothing")


def test_garbage_and_those_who_say_nothing_do_no_harm(state: Path, open_listener: Callable[[str], list[str]]) -> None:
    marks = open_listener("a.cast")
    (path,) = (state / "recordings").iterdir()
    silent: list[socket.socket] = []
    try:
        _pester(path, silent)
        assert give("idle")[1] == 1.0 and marks == ["idle"]
    finally:
        for connection in silent:
            connection.close()


def _pester(path: Path, silent: list[socket.socket]) -> None:
    for said in [b"", b"{}\n", b"[1]\n", b"\xff\n", b'{"mark": "wating"}\n', b"x" * 2_000_000, b"[" * 4_000 + b"\n"]:
        connection = socket.socket(socket.AF_UNIX)
        silent.append(connection)
        connection.connect(str(path))
        try:
            connection.sendall(said)
        except OSError:  # it hangs up on one that says too much
            assert len(said) > 1_000_000
    for _ in range(20):
        connection = socket.socket(socket.AF_UNIX)
        silent.append(connection)
        connection.connect(str(path))


def test_a_socket_that_nobody_is_at_any_more_is_taken_away(state: Path) -> None:
    (state / "recordings").mkdir()
    with socket.socket(socket.AF_UNIX) as left:  # as by a recorder that is killed
        left.bind(str(state / "recordings" / "1-1"))
    assert len(list((state / "recordings").iterdir())) == 1
    with pytest.raises(SessionGone, match="no recording runs"):
        give("idle")
    assert not list((state / "recordings").iterdir())


def test_a_recorder_that_is_stopped_is_not_waited_for(state: Path) -> None:
    listener = Listener(state / "a.cast", lambda label: 0.0)
    with pytest.raises(TransportError, match="does not answer"):
        give("idle", answer_s=0.05)
    listener.close()


def test_a_recording_that_ends_meanwhile_says_so(state: Path) -> None:
    listener = Listener(state / "a.cast", lambda label: 0.0)
    with ThreadPoolExecutor() as pool:
        marks = pool.submit(give, "idle", answer_s=20.0)
        select.select([listener], [], [])
        listener.close()
        with pytest.raises(TransportError, match="the recording has ended"):
            marks.result()


def test_the_version_before_is_heard(state: Path, open_listener: Callable[[str], list[str]]) -> None:
    """Its requests say no more than what to mark."""
    marks = open_listener("a.cast")
    (path,) = (state / "recordings").iterdir()
    assert ask(path, {"mark": "idle", "file": None})["at"] == 1.0
    with pytest.raises(DaemonRefused, match="unknown request"):
        ask(path, {"do": "dance"})
    assert marks == ["idle"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").touch()
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    with pytest.raises(StoreError, match="socket for marks"):
        Listener(tmp_path / "a.cast", lambda label: 0.0)


# --- keys that mark ---
def test_keys_are_passed_marked_or_refused() -> None:
    wrong = [
        (typed, wanted)
        for typed, wanted in [
            (b"ls\r", Typed(b"ls\r")),
            (b"a\x1dwb", Typed(b"ab", ("waiting",))),
            (b"\x1dk\x1di\x1dq\x1de\x1du", Typed(b"", ("working", "idle", "quota", "ended", "unknown"))),
            (b"\x1d\x1d", Typed(b"\x1d")),
            (b"\x1dz", Typed(b"", (), 1)),
            (b"\x1d\x1b[A", Typed(b"[A", (), 1)),
            (b"\x1b[93;5uw", Typed(b"", ("waiting",))),  # as kitty sends C-]
            (b"\x1b[27;5;93~\x1b[119u", Typed(b"", ("waiting",))),  # as xterm does; w as kitty may
            (b"\x1b[93;5u\x1b[93;5u", Typed(b"\x1b[93;5u")),
            (b"\x1b[97;5u\x1b[A", Typed(b"\x1b[97;5u\x1b[A")),  # C-a, and an arrow
            (b"\x1b[999999u", Typed(b"\x1b[999999u")),
        ]
        if MarkKeys().feed(typed) != wanted
    ]
    assert wrong == []


def test_a_letter_may_come_later_than_its_prefix() -> None:
    keys = MarkKeys(b"\x02")
    assert keys.feed(b"a\x02") == Typed(b"a") and keys.feed(b"wb") == Typed(b"b", ("waiting",))


def test_only_a_key_with_ctrl_can_mark() -> None:
    for key in [b"", b"x", b"\x1b", b"\r", b"\t", b"\x1bOP", b"\x7f", b"\0"]:
        with pytest.raises(ValueError, match="Ctrl"):
            MarkKeys(key)


@given(st.binary(max_size=60))
def test_without_the_prefix_everything_is_passed(data: bytes) -> None:
    data = data.replace(b"\x1d", b"").replace(b"93", b"")
    assert MarkKeys().feed(data) == Typed(data)


@given(st.binary(max_size=60))
def test_no_bytes_raise_and_none_are_made_up(data: bytes) -> None:
    found = MarkKeys().feed(data)
    assert len(found.passed) + len(found.marked) + found.refused <= len(data)
    assert set(found.marked) <= {str(state) for state in LETTERS.values()}
