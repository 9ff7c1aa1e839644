"""A bus and hosts for the tests of the fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Callable, Iterator

import pytest
from fleets import SAMPLE, Bus, FleetHost


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Bus]:
    """A nats-server without users."""
    made = Bus(tmp_path / "bus")
    yield made
    made.kill()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Bus]:
    """A nats-server with the sample's users and rights."""
    made = Bus(tmp_path / "bus", SAMPLE.read_text())
    yield made
    made.kill()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[..., FleetHost]]:
    """Makes hosts, whose processes and tmux servers end with the test."""
    made: list[FleetHost] = []

    def make(name: str, bus: Bus | None = None) -> FleetHost:
        made.append(FleetHost(tmp_path, name, bus))
        return made[-1]

    yield make
    for one in made:
        one.end()
