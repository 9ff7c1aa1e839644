"""The short form of the soak part `crowd`: every figure holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.crowd import PART
from soak.parts import Run

pytestmark = pytest.mark.e2e


def test_every_figure_holds(tmp_path: Path) -> None:
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures
    # On a busy machine the time is no figure of ours; the long form has it.
    assert not [
        figure for figure in figures if not figure.holds and figure.name.split()[0] not in ("seconds", "healthz")
    ]
