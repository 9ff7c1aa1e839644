"""The short form of the soak part `reloads`: every figure holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from proxied import need_proxies
from soak.parts import Run
from soak.reloads import PART

pytestmark = pytest.mark.e2e


def test_every_figure_holds(tmp_path: Path) -> None:
    need_proxies()
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures and not [figure for figure in figures if not figure.holds]
