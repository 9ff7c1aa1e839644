"""The short form of the soak part `deaths`: every figure holds."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("container engines run on Linux", allow_module_level=True)

from machine_room import missing
from soak.deaths import PART, ROOMS
from soak.parts import Run

pytestmark = pytest.mark.e2e


def test_every_figure_holds() -> None:
    for kind in ROOMS:
        if why := missing(*kind.needs):
            pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="sk-", ignore_cleanup_errors=True) as folder:  # podman needs short paths
        figures = PART.soak(Run(PART.short, Path(folder)))
    assert figures
    assert not [figure for figure in figures if not figure.holds]
