"""A room to ask in."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests share askroom.py

from askroom import AskRoom, Person  # needs the line above
from started import BACKGROUND, House, of_folder
from terminals import Server, wait_for


@pytest.fixture
def ask_room(server: Server, tmp_path: Path) -> AskRoom:
    return AskRoom(server, tmp_path)


@pytest.fixture
def person(ask_room: AskRoom) -> Iterator[list[Person]]:
    """Who attached; all leave at the end."""
    there: list[Person] = []
    yield there
    for one in there:
        one.leaves()


@pytest.fixture
def runs(house: House) -> Iterator[House]:
    """Where runs go on, which end with the test."""
    yield house
    for pid in of_folder(BACKGROUND, house.state):
        os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not of_folder(BACKGROUND, house.state), "the background processes to end")
