"""One monitor for each state directory, found and asked through files in it, wherever it is and whatever lies there."""

from __future__ import annotations

import os
import signal
import socket
import threading

import pytest
from stallkit_sessions import monitor_client as post
from started import House, alive
from terminals import wait_for

from stallkit import daemon
from stallkit.errors import StoreError

pytestmark = pytest.mark.e2e


def kept(house: House) -> None:
    """With a session in the register, which has a monitor stay."""
    house.register.claim(house.session("a"), (os.getpid(), 1))


def test_one_is_started_and_answers(house: House) -> None:
    assert not post.held(house.state) and not post.ask()
    kept(house)
    post.ensure()
    [pid] = house.monitors
    assert post.held(house.state)
    assert post.ask()
    post.ensure()
    assert house.monitors == [pid]
    assert (house.state / "warden.sock").stat().st_mode & 0o077 == 0


def test_a_relative_state_directory(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(house.folder)
    monkeypatch.setenv("STALLKIT_STATE_DIR", "state")
    kept(house)
    post.ensure()
    assert len(house.monitors) == 1
    assert post.ask()


def test_it_ends_when_told_whoever_waits_for_an_answer_and_whatever_the_shell_ignores(house: House) -> None:
    kept(house)
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            post.ensure()
        finally:
            signal.signal(signal.SIGINT, before)
        [pid] = house.monitors
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(house.state / post.SOCKET))
            os.kill(pid, number)
            wait_for(lambda pid=pid: not alive(pid), "its end")
        assert not post.held(house.state)


def test_one_of_the_version_before_counts_as_one_that_does_not_answer(house: House) -> None:
    """It takes any line for the one request that it knows, and says "settled"."""
    house.state.mkdir()
    lock = daemon.lock(house.state / post.LOCK)
    assert lock is not None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(house.state / post.SOCKET))
        server.listen()

        def settle() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rwb") as lines:
                lines.readline()
                lines.write(b"settled\n")

        thread = threading.Thread(target=settle)
        thread.start()
        assert post.held(house.state) and not post.ask()
        thread.join()
    os.close(lock)


def test_where_none_can_be_started_it_says_why(house: House) -> None:
    house.state.write_text("a file")
    with pytest.raises(StoreError, match="is not a directory"):
        post.ensure()
    assert not post.ask()
    house.state.unlink()
    (house.state / post.SOCKET).mkdir(parents=True)
    with pytest.raises(StoreError, match="only commands look at sessions"):
        post.ensure()
