"""The short form of the soak part `placements`: every figure holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.parts import Run
from soak.placements import PART

pytestmark = pytest.mark.e2e


def test_every_figure_holds(tmp_path: Path) -> None:
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures
    assert not [figure for figure in figures if not figure.holds]
