"""The short form of the soak part `legitimate`: every figure holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.legitimate import PART
from soak.legitimate_prompts import prompts
from soak.parts import Run

pytestmark = pytest.mark.e2e


def test_every_figure_holds(tmp_path: Path) -> None:
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures
    assert not [figure for figure in figures if not figure.holds]


def test_there_are_as_many_prompts_as_are_promised() -> None:
    found = prompts(everything=True)
    assert len({prompt.name for prompt in found}) == len(found) >= 60
