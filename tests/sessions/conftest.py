"""Real container engines, each started once by the worker whose tests need it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests share machine_room.py

from machine_room import DockerRoom, PodmanRoom, made_or_skipped


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and {"docker_room", "podman_room", "room"} & set(item.fixturenames):
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def docker_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerRoom]:
    room = made_or_skipped(DockerRoom, tmp_path_factory.mktemp("d"))
    yield room
    room.end()


@pytest.fixture(scope="session")
def podman_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PodmanRoom]:
    room = made_or_skipped(PodmanRoom, tmp_path_factory.mktemp("p"))
    yield room
    room.end()


@pytest.fixture(params=["docker", "podman"])
def room(request: pytest.FixtureRequest) -> DockerRoom | PodmanRoom:
    """Each engine in turn."""
    found = request.getfixturevalue(f"{request.param}_room")
    assert isinstance(found, DockerRoom | PodmanRoom)
    return found
