"""What the tests of runs share: runs that do not outlive their test."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Callable, Iterator

import pytest
from stallkit_sessions import Run

from stallkit import Engine


@pytest.fixture
def start(engine: Engine) -> Iterator[Callable[..., Run]]:
    """Start a run that does not outlive its test."""
    made: list[Run] = []

    def begin(*command: str, **options: Any) -> Run:
        made.append(Run.start(command, **{"engine": engine, **options}))
        return made[-1]

    yield begin
    for one in made:
        with suppress(ZeroDivisionError):  # one whose thread a test broke
            one.stop()
        one._thread.join()
