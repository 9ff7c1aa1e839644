"""At which size a scene is played: its name says it, so that a scene that goes or comes changes no other's."""

from __future__ import annotations

import zlib
from typing import Iterable

from attrs import evolve

from corpora.shell_prompts.stage import Scene

LINES = ("", "large", "", "large", "", "large", "", "large", "", "large", "narrow")
FULL = ("", "large")  # full-screen programs need the room


def placed(scenes: Iterable[Scene], full: bool = False) -> list[Scene]:
    """Each at one size, unless it names some: 80x24 or 120x35, without `full` one in eleven at 40x15."""
    sizes = FULL if full else LINES
    return [
        scene if scene.sizes != ("",) else evolve(scene, sizes=(sizes[zlib.crc32(scene.id.encode()) % len(sizes)],))
        for scene in scenes
    ]
