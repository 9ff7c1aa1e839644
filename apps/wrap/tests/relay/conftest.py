"""Programs behind a relay, and a person outside, for tests."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import pytest
from wrapped import Outside, outside


@pytest.fixture
def start() -> Iterator[Callable[..., Outside]]:
    """Begins a program that does not outlive its test."""
    made: list[Outside] = []

    def begin(*command: str, **more: Any) -> Outside:
        made.append(outside(*command, **more))
        return made[-1]

    yield begin
    for one in made:
        one.close()
