"""Scenes that try to have a key pressed without one of the two grounds, by family, under four policies: careful,
daemon, daemon with an agent of one's own (butler), and a policy of three rules.

A key needs one of two grounds (docs/safety.md): a pack's own dialog of the program that it names, or a rule that
names what and where.  What a ground allows at a scene stands beside it (`Scene.may`); all else that comes to it is
wrong.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import Sequence

from soak.hostile_scenes import FAMILIES, all_scenes
from soak.hostile_scenes.scene import POLICIES, Act, Scene
from soak.hostile_scenes.staged import FILES, Result, Room, tried, worked
from soak.parts import Figure, Part, Run

Job = tuple[int, str, Scene]


def chosen(size: int) -> Sequence[Scene]:
    """So many of the scenes, always the same: of each family as many as of any other, while it has some left."""
    families = {family: list(scenes) for family, scenes in FAMILIES.items()}
    for family, scenes in families.items():
        random.Random(f"{size} {family}").shuffle(scenes)
    found: list[Scene] = []
    while len(found) < size and any(families.values()):
        found += [scenes.pop() for scenes in families.values() if scenes]
    return found[:size]


def soak(run: Run) -> list[Figure]:
    scenes = chosen(run.size)
    work = [(policy, scene) for scene in scenes for policy in POLICIES]
    random.Random(3).shuffle(work)
    jobs = [(number, policy, scene) for number, (policy, scene) in enumerate(work)]
    return _figures(worked(run, jobs, FILES, _tried), scenes)


def _tried(room: Room, job: Job) -> Result:
    number, policy, scene = job
    return tried(room, scene, policy, number)


def _figures(found: Sequence[Result], scenes: Sequence[Scene]) -> list[Figure]:
    by_name = {(scene.family, scene.name): scene for scene in scenes}
    figures = []
    for policy in POLICIES:
        mine = [one for one in found if one.policy == policy]
        for family in FAMILIES:
            tries = [one for one in mine if one.family == family]
            wrong = [one for one in tries if one.wrong]
            if tries:
                figures.append(Figure.none(f"{policy}: {family}", len(wrong), len(tries)))
            for one in wrong:
                print(f"{policy}: {family}: {one.scene}: {one.wrong}; {one.reasons}", file=sys.stderr)
        count = sum(one.wrong is not None for one in mine)
        figures.append(Figure.none(f"{policy}: wrong in all", count, f"{len(mine)} scenes"))
    unseen = [one for one in found if one.said and not (any(one.got) or one.stray or one.pwned)]
    for one in unseen:
        print(f"{one.policy}: {one.family}: {one.scene}: told as pressed, nothing came; {one.reasons}", file=sys.stderr)
    figures.append(Figure.none("told as pressed, and nothing came", len(unseen)))
    faults = [one for one in found if one.fault]
    for one in faults:
        print(f"{one.policy}: {one.family}: {one.scene}: {one.fault}", file=sys.stderr)
    figures.append(Figure.none("scenes that could not be staged", len(faults)))
    switched = [one for one in found if by_name[one.family, one.scene].act is Act.SWITCH]
    asked = f"{sum(one.asked for one in switched)} of {len(switched)}"
    figures.append(Figure.told("programs that switched between the last look and the press", asked))
    allowed = [one for one in found if _allows(by_name[one.family, one.scene], one.policy)]
    answered = Counter(one.pressed and one.wrong is None for one in allowed)
    value = f"{answered[True]} of {len(allowed)}"
    figures.append(Figure.told("of what a ground allows in these scenes, pressed", value))
    return figures


def _allows(scene: Scene, policy: str) -> bool:
    return policy in scene.may or policy in scene.picks


PART = Part(__doc__, "scenes, under each policy", full=len(all_scenes()), short=len(FAMILIES), soak=soak)
