"""The scenes of the soak part `hostile`: one of each family, and what its judge calls wrong."""

from __future__ import annotations

import pytest
from soak.hostile import PART, chosen
from soak.hostile_scenes import FAMILIES, all_scenes
from soak.hostile_scenes.scene import POLICIES

pytestmark = pytest.mark.e2e


def test_the_short_form_has_a_scene_of_every_family() -> None:
    assert {scene.family for scene in chosen(PART.short)} == set(FAMILIES)


def test_scenes_are_told_apart_and_those_that_a_ground_allows_say_why() -> None:
    scenes = all_scenes()
    assert len(FAMILIES) >= 18
    assert len({(scene.family, scene.name) for scene in scenes}) == len(scenes) >= 300
    assert sum(not (scene.may or scene.picks) for scene in scenes) >= 300
    assert [scene.name for scene in scenes if bool(scene.may or scene.picks) != bool(scene.because)] == []
    assert {policy for scene in scenes for policy in (*scene.may, *scene.picks)} <= set(POLICIES)


def test_keys_that_no_ground_allows_are_wrong() -> None:
    asks = next(scene for scene in all_scenes() if scene.name == "German: butler")
    right, wrong = b"j\n", b"y\n"
    assert asks.wrong("rules", [right], []) is None
    assert asks.wrong("rules", [], []) is None
    assert asks.wrong("rules", [wrong], []) == "b'y\\n' came, where b'j\\n' may"
    assert asks.wrong("careful", [right], []) == "b'j\\n' came, where nothing may"
    assert asks.wrong("rules", [right, b"\r"], []) == "keys came to the next prompt: [b'\\r']"
    menu = next(scene for scene in all_scenes() if scene.picks)
    wanted = menu.picks["rules"]
    assert menu.wrong("rules", [b"\x1b[B\r"], [wanted]) is None
    assert menu.wrong("rules", [b"\x1b[B\r"], ["No, exit"]) == "chose 'No, exit'"
    assert menu.wrong("careful", [b"\x1b[B"], []) == "b'\\x1b[B' came, where nothing may"
