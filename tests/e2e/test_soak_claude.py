"""The short form of the soak part `claude`, with the version that the test set-up fetched: every figure holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.claude import PART, PINNED
from soak.parts import Run

pytestmark = pytest.mark.e2e


@pytest.mark.skipif(not PINNED.exists(), reason="scripts/test has not fetched it")
def test_every_figure_holds(tmp_path: Path) -> None:
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures
    assert not [figure for figure in figures if not figure.holds]
