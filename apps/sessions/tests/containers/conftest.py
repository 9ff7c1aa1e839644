"""Names for containers, which are gone after the test."""

from __future__ import annotations

from typing import Iterator

import pytest
from machine_room import DockerRoom, PodmanRoom, Room


@pytest.fixture
def container(room: Room, request: pytest.FixtureRequest) -> Iterator[str]:
    """A name for a container of either engine."""
    yield from _named(room, request)


@pytest.fixture
def of_docker(docker_room: DockerRoom, request: pytest.FixtureRequest) -> Iterator[str]:
    yield from _named(docker_room, request)


@pytest.fixture
def of_podman(podman_room: PodmanRoom, request: pytest.FixtureRequest) -> Iterator[str]:
    yield from _named(podman_room, request)


def _named(room: Room, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"stallkit-{abs(hash(request.node.name))}"
    yield name
    room.discard(name)
