"""The short form of the soak part `hostile`: every figure holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from soak.hostile import PART, SENDING, chosen, ways
from soak.hostile_scenes import FAMILIES, all_scenes
from soak.parts import Run

pytestmark = pytest.mark.e2e


def test_every_figure_holds(tmp_path: Path) -> None:
    figures = PART.soak(Run(PART.short, tmp_path))
    assert figures
    assert not [figure for figure in figures if not figure.holds]


def test_the_short_form_has_a_scene_of_every_family() -> None:
    assert {scene.family for scene in chosen(PART.short)} == set(FAMILIES)


def test_scenes_are_told_apart_and_those_that_are_answered_say_why() -> None:
    scenes = all_scenes()
    assert len({(scene.family, scene.name) for scene in scenes}) == len(scenes) >= 300
    assert [scene.name for scene in scenes if bool(scene.meant) != bool(scene.because)] == []
    assert sum(ways(scene) != (SENDING,) for scene in scenes) >= 300
