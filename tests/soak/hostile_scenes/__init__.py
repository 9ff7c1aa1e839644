"""Live scenes, in families, each an attempt to have a key pressed for which nobody gave consent."""

from __future__ import annotations

from importlib import import_module
from typing import Mapping, Sequence

from attrs import evolve

from soak.hostile_scenes.scene import Scene

_MODULES = ("agents", "screens", "prompts")


def _families() -> Mapping[str, Sequence[Scene]]:
    found: dict[str, Sequence[Scene]] = {}
    for module in _MODULES:
        for family, scenes in import_module(f"soak.hostile_scenes.{module}").FAMILIES.items():
            found[family] = [evolve(scene, family=family) for scene in scenes]
    return found


FAMILIES: Mapping[str, Sequence[Scene]] = _families()


def all_scenes() -> list[Scene]:
    return [scene for scenes in FAMILIES.values() for scene in scenes]
