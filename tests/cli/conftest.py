"""What tests of the commands share."""

from __future__ import annotations

from typing import Iterator

import pytest
from ended_session import LAST
from started import House


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """With a session `a` that exited with 3, and one that lives; for those who only look."""
    with pytest.MonkeyPatch.context() as patch:
        made = House(tmp_path_factory.mktemp("dead"), patch)
        made.begin("keeper", "cat")
        made.begin("a", *LAST)
        made.end_of("a")
        yield made
        made.end()
