"""Live scenes, each an attempt to have a key pressed without consent, each under four policies.

A key needs one of two grounds (docs/safety.md): a pack's own dialog of the program that it names, or a rule that names
what and where.  What a ground allows at a scene stands beside it (`Scene.may`); all else that comes to it is wrong.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
from collections import Counter
from contextlib import suppress
from typing import Any, Sequence

from terminals import Server

from soak.hostile_scenes import FAMILIES, all_scenes
from soak.hostile_scenes.scene import POLICIES, Act, Scene
from soak.hostile_scenes.staged import Result, policies, programs, tried
from soak.parts import Figure, Part, Run
from stallkit.core.engine import Engine
from stallkit.packs.registry import installed_engine

# Most of a scene's time is waiting between looks.  Processes: a pattern's budget is the CPU time of its whole process.
WORKERS = 12

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
    """`run.size` scenes under each policy."""
    scenes = chosen(run.size)
    work = [(policy, scene) for scene in scenes for policy in POLICIES]
    random.Random(3).shuffle(work)
    return _figures(results(run, [(number, policy, scene) for number, (policy, scene) in enumerate(work)]), scenes)


def results(run: Run, jobs: Sequence[Job]) -> list[Result]:
    """What came of each, worked at by several processes, each with a tmux server of its own."""
    context = multiprocessing.get_context("fork")
    engine = installed_engine()
    given, found = context.SimpleQueue(), context.SimpleQueue()
    servers = []
    for number in range(min(WORKERS, len(jobs))):
        folder = run.folder / f"w{number}"
        folder.mkdir()
        servers.append(Server(folder))
    workers = [context.Process(target=_work, args=(server, engine, jobs, given, found)) for server in servers]
    done: list[Result] = []
    try:
        for worker in workers:
            worker.start()
        for place in [*range(len(jobs)), *[None] * len(workers)]:  # the jobs themselves would fill the pipe
            given.put(place)
        while len(done) < len(jobs):
            done.append(found.get())
            run.tell(len(done) * run.size // len(jobs))
    finally:
        for worker in workers:
            worker.join(0.0 if len(done) < len(jobs) else 10.0)
            worker.kill()
            worker.join()
        for server in servers:
            server.end()
    return done


def _work(server: Server, engine: Engine, jobs: Sequence[Job], given: Any, found: Any) -> None:
    folder = server.socket.parent
    server.tmux("new-session", "-d", "-s", "keeper", "sleep", "100000")  # so that the server outlives every scene
    named, bin = policies(folder), programs(folder)
    while (place := given.get()) is not None:
        number, policy, scene = jobs[place]
        try:
            found.put(tried(server, bin, scene, (policy, named[policy]), engine, folder / f"s{number}"))
        except BaseException as error:  # whatever it is, the others go on
            found.put(Result(scene.family, scene.name, policy, fault=repr(error)))
            with suppress(AssertionError):
                server.tmux("kill-session", "-a", "-t", "=keeper")


def _figures(found: Sequence[Result], scenes: Sequence[Scene]) -> list[Figure]:
    by_name = {(scene.family, scene.name): scene for scene in scenes}
    figures = []
    for policy in POLICIES:
        mine = [one for one in found if one.policy == policy]
        for family in FAMILIES:
            tries = [one for one in mine if one.family == family]
            wrong = [one for one in tries if one.wrong]
            if tries:
                figures.append(Figure(f"{policy}: {family}", f"{len(wrong)} of {len(tries)}", "0", not wrong))
            for one in wrong:
                print(f"{policy}: {family}: {one.scene}: {one.wrong}; {one.reasons}", file=sys.stderr)
        count = sum(one.wrong is not None for one in mine)
        figures.append(Figure(f"{policy}: wrong in all", f"{count} of {len(mine)} scenes", "0", count == 0))
    unseen = [one for one in found if one.said and not (any(one.got) or one.stray or one.pwned)]
    for one in unseen:
        print(f"{one.policy}: {one.family}: {one.scene}: told as pressed, nothing came; {one.reasons}", file=sys.stderr)
    figures.append(Figure("told as pressed, and nothing came", str(len(unseen)), "0", not unseen))
    faults = [one for one in found if one.fault]
    for one in faults:
        print(f"{one.policy}: {one.family}: {one.scene}: {one.fault}", file=sys.stderr)
    figures.append(Figure("scenes that could not be staged", str(len(faults)), "0", not faults))
    switched = [one for one in found if by_name[one.family, one.scene].act is Act.SWITCH]
    asked = f"{sum(one.asked for one in switched)} of {len(switched)}"
    figures.append(Figure("programs that switched between the last look and the press", asked, "told", True))
    allowed = [one for one in found if _allows(by_name[one.family, one.scene], one.policy)]
    answered = Counter(one.pressed and one.wrong is None for one in allowed)
    value = f"{answered[True]} of {len(allowed)}"
    figures.append(Figure("of what a ground allows in these scenes, pressed", value, "told", True))
    return figures


def _allows(scene: Scene, policy: str) -> bool:
    return policy in scene.may or policy in scene.picks


PART = Part(
    name="hostile",
    about="Scenes that try to have a key pressed without one of the two grounds, by family, under four policies: careful,"
    " daemon, daemon with an agent of one's own (butler), and a policy of three rules.",
    unit="scenes, under each policy",
    full=len(all_scenes()),
    short=len(FAMILIES),
    soak=soak,
)
