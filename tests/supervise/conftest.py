"""What the supervisor's tests share."""

from __future__ import annotations

from typing import Iterator

import pytest
from started import House

from stallkit.transports.base import Options
from stallkit.transports.tmux.pane import TmuxTransport


@pytest.fixture
def pane(house: House) -> Iterator[TmuxTransport]:
    """The pane of a session `a`."""
    made = TmuxTransport("a", Options(tmux_socket_path=str(house.socket)))
    yield made
    made.close()
