"""What the supervisor's tests share."""

from __future__ import annotations

import gc
import socket
import threading
from pathlib import Path
from typing import Callable, Iterator

import pytest
from stallkit_supervisor.store import Store
from started import House

from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport


@pytest.fixture
def pane(house: House) -> Iterator[TmuxTransport]:
    """The pane of a session `a`."""
    made = TmuxTransport("a", Options(tmux_socket_path=str(house.socket)))
    yield made
    made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store is, once it is opened."""
    return tmp_path / "state" / "watch.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    made = Store(path)
    yield made
    made.close()


@pytest.fixture
def threads() -> Callable[[], set[str]]:
    """The names of stallkit's threads that the test started and that live."""
    before = {*threading.enumerate()}
    return lambda: {one.name for one in {*threading.enumerate()} - before if one.name.startswith("stallkit ")}


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No state, no systemd and no proxy but the test's own; what `serve` froze may be collected again."""
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STALLKIT_STATE_DIR", str(tmp_path / "state"))
    yield
    gc.unfreeze()


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """systemd, as far as a service sees it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind(str(tmp_path / "notify"))
        bound.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield bound
