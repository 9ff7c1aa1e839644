"""A room to ask in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that tests share askroom.py

from askroom import AskRoom, Person  # needs the line above
from terminals import Server


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
