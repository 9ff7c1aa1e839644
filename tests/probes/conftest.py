"""Programs that end with their test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable, Iterator

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests share programs.py

from programs import Running  # needs the line above


@pytest.fixture
def run() -> Iterator[Callable[[list[str]], Running]]:
    """Starts a program on a pseudo-terminal of its own."""
    started: list[Running] = []

    def start(command: list[str]) -> Running:
        started.append(Running(command))
        return started[-1]

    yield start
    for one in started:
        one.transport.close()
