"""The prompts of the soak part `legitimate`."""

from __future__ import annotations

import pytest
from soak.legitimate_prompts import prompts

pytestmark = pytest.mark.e2e


def test_there_are_as_many_prompts_as_are_promised() -> None:
    found = prompts(everything=True)
    assert len({prompt.name for prompt in found}) == len(found) >= 60
