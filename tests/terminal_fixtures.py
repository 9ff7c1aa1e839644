"""Fixtures for tests against real terminals, of every distribution: the root's conftest.py loads them."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator

import pytest
from terminals import Server

if TYPE_CHECKING:
    from machine_room import DockerRoom, PodmanRoom
    from started import House

    from stallkit import Engine

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / ".cache" / "agents" / "pinned" / "claude" / "node_modules" / ".bin"  # fetched by scripts/test

# A shell starts what runs in its background without Ctrl-C, and that is handed down to every program of a test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So is what nohup does, whose programs are not told that their terminal is gone.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled packs are kept for these tests alone, also those of the processes that they start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STALLKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine of the installed packs."""
    from stallkit import Engine

    return Engine.default()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A private tmux server."""
    made = Server(tmp_path)
    yield made
    made.end()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """Where sessions live that `stallkit start` begins: state directory, monitor and tmux server of the test's own."""
    from started import House  # here: not every test pays for it

    made = House(tmp_path, monkeypatch)
    yield made
    made.end()


@pytest.fixture
def terminal(house: House) -> Iterator[Server]:
    """A tmux server of its own to type `stallkit` in, beside the one of the house."""
    folder = house.folder / "s"
    folder.mkdir()
    made = Server(folder)
    yield made
    made.end()


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """With a session `a` that exited with 3, and one that lives; for those who only look."""
    from ended_session import LAST
    from started import House

    with pytest.MonkeyPatch.context() as patch:
        made = House(tmp_path_factory.mktemp("dead"), patch)
        made.begin("keeper", "cat")
        made.begin("a", *LAST)
        made.end_of("a")
        yield made
        made.end()


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A `Stage` of corpora/agents with a real agent, as the test set-up fetched it, and its scripted model."""
    if not (PROGRAMS / "claude").exists():
        pytest.skip("scripts/test has not fetched it")
    monkeypatch.syspath_prepend(str(ROOT / "corpora" / "agents"))
    made = importlib.import_module("sending_stage").Stage("claude", [PROGRAMS])
    yield made
    made.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and {"docker_room", "podman_room", "room"} & set(item.fixturenames):
            item.add_marker(pytest.mark.e2e)


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a short path: podman's attach sockets, 80 characters below it, have 107 bytes for all of theirs."""
    folder = Path(tempfile.mkdtemp(prefix="sk-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def docker_room() -> Iterator[DockerRoom]:
    from machine_room import DockerRoom, made_or_skipped

    with short_folder() as folder:
        room = made_or_skipped(DockerRoom, folder)
        yield room
        room.end()


@pytest.fixture(scope="session")
def podman_room() -> Iterator[PodmanRoom]:
    from machine_room import PodmanRoom, made_or_skipped

    with short_folder() as folder:
        room = made_or_skipped(PodmanRoom, folder)
        yield room
        room.end()


@pytest.fixture(params=["docker", "podman"])
def room(request: pytest.FixtureRequest) -> DockerRoom | PodmanRoom:
    """Each container runtime in turn."""
    found: DockerRoom | PodmanRoom = request.getfixturevalue(f"{request.param}_room")
    return found


@pytest.fixture(scope="session")
def stallkit_command() -> str:
    """The path of the installed command."""
    return str(Path(sys.executable).parent / "stallkit")


def pytest_report_header() -> str:
    import stallkit

    expected = os.environ.get("STALLKIT_INSTALLED")
    origin = Path(stallkit.__file__).resolve()
    assert expected is None or origin.is_relative_to(Path(expected).resolve()), f"stallkit comes from {origin}"
    return f"stallkit from {'the installed wheel' if expected else 'the checkout'}"
