"""The short form of the soak part `deaths`: every figure holds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("container engines run on Linux", allow_module_level=True)

from sessions.machine_room import missing
from soak.deaths import PART, ROOMS
from soak.parts import Run

pytestmark = pytest.mark.e2e


def test_every_figure_holds(tmp_path: Path) -> None:
    for kind in ROOMS:
        if why := missing(*kind.needs):
            pytest.skip(why)
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures
    assert not [figure for figure in figures if not figure.holds]
