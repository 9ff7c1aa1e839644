"""The short form of the soak part `matching`: every figure holds."""

from __future__ import annotations

from pathlib import Path

from soak.matching import PART
from soak.parts import Run


def test_every_figure_holds(tmp_path: Path) -> None:
    figures = PART.soak(Run(PART.short, tmp_path))
    assert [figure for figure in figures if not figure.holds] == []
