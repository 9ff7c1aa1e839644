"""Real container engines, each started once by the worker whose tests need it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests share machine_room.py

from machine_room import DockerRoom, PodmanRoom, made_or_skipped


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
    with short_folder() as folder:
        room = made_or_skipped(DockerRoom, folder)
        yield room
        room.end()


@pytest.fixture(scope="session")
def podman_room() -> Iterator[PodmanRoom]:
    with short_folder() as folder:
        room = made_or_skipped(PodmanRoom, folder)
        yield room
        room.end()


@pytest.fixture(params=["docker", "podman"])
def room(request: pytest.FixtureRequest) -> DockerRoom | PodmanRoom:
    """Each engine in turn."""
    found = request.getfixturevalue(f"{request.param}_room")
    assert isinstance(found, DockerRoom | PodmanRoom)
    return found
