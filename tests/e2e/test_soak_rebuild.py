"""The short form of the soak part `rebuild`: every figure holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine_room import missing
from soak.parts import Run
from soak.rebuild import PART

pytestmark = pytest.mark.e2e


def test_every_figure_holds(tmp_path: Path) -> None:
    if why := missing("bwrap"):
        pytest.skip(why)
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures
    assert not [figure for figure in figures if not figure.holds]
