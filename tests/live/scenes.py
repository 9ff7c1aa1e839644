"""All live scenes."""

from __future__ import annotations

from live.asking import ASKING
from live.relayed import RELAYED
from live.scene import Scene
from live.working import ENDED, FAKES, WORKING

SCENES: list[Scene] = [*ASKING, *WORKING, *FAKES, *ENDED, *RELAYED]
