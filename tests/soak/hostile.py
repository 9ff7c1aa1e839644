"""Live scenes of somebody who writes on the screen, each tried under each policy; and as many real prompts."""

from __future__ import annotations

import multiprocessing
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from typing import Any, Sequence

from terminals import Server, wait_for

from soak.answerable import Answerable, answerable
from soak.hostile_scenes import FAMILIES, all_scenes
from soak.hostile_scenes.scene import Act, Scene
from soak.hostile_scenes.staged import RULES, Result, tried
from soak.parts import Figure, Part, Run
from soak.spoofing import RECORDER, Pane
from soak.trees import end_all, held, tree
from stallkit.core.engine import Engine
from stallkit.packs.registry import installed_engine
from stallkit.press.check import check_session
from stallkit.press.policy_file import PROFILES
from stallkit.transports.tmux.pane import TmuxTransport

POLICIES = ("careful", "daemon")
SENDING = "send"
# Most of a scene's time is waiting between looks.  Processes: a pattern's budget is the CPU time of its whole process.
WORKERS = 12
REAL = "real prompts"
PATIENCE_S = 20.0  # for a real prompt to be answered, on a loaded machine

Job = tuple[int, str, Scene | Answerable]


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
    """`run.size` scenes under each policy, and as many real prompts under the one that may answer them."""
    scenes, real = chosen(run.size), answerable(run.size)
    work: list[tuple[str, Scene | Answerable]] = [(policy, one) for one in scenes for policy in ways(one)]
    work += [("daemon" if one.medium else "careful", one) for one in real]
    random.Random(3).shuffle(work)
    jobs = [(number, policy, one) for number, (policy, one) in enumerate(work)]
    return _figures(results(run, jobs), scenes)


def ways(scene: Scene) -> Sequence[str]:
    """Under which policies it is tried: where text is sent there is none."""
    return (SENDING,) if scene.act is Act.SEND else (*POLICIES, RULES.name) if scene.allows else POLICIES


def results(run: Run, jobs: Sequence[Job]) -> list[Result]:
    """What came of each, worked at by several processes, each with a tmux server of its own."""
    context = multiprocessing.get_context("fork")
    engine = installed_engine()
    given, found = context.SimpleQueue(), context.SimpleQueue()
    folders = [run.folder / f"w{number}" for number in range(min(WORKERS, len(jobs)))]
    servers = []
    for folder in folders:
        folder.mkdir()
        servers.append(Server(folder))
        servers[-1].tmux("start-server", ";", "set-option", "-g", "exit-empty", "off")
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
            with suppress(AssertionError):  # a server without a session outlives that
                server.tmux("kill-server")
    return done


def _work(server: Server, engine: Engine, jobs: Sequence[Job], given: Any, found: Any) -> None:
    while (place := given.get()) is not None:
        number, policy, one = jobs[place]
        name = f"s{number}"
        home = server.socket.parent / name
        try:
            if isinstance(one, Scene):
                found.put(tried(server, one, policy, engine, home, name))
            else:
                found.put(_answered(server, one, policy, engine, name))
        except BaseException as error:  # whatever it is, the others go on
            found.put(Result(getattr(one, "family", REAL), one.name, policy, fault=repr(error)))


def _answered(server: Server, real: Answerable, policy: str, engine: Engine, name: str) -> Result:
    """A real prompt below a recorder, which knows how its program ended: `bytes` is 1 where it took its answer."""
    result = Result(REAL, real.name, policy)
    pane = Pane(name, real, server.socket.parent / f"{name}.record")
    made = ("new-session", "-d", "-P", "-F", "#{pane_pid}", "-s", name, "-x", "80", "-y", "24")
    recorder = (sys.executable, "-I", str(RECORDER), str(pane.record), "0")
    pane.pid = int(server.tmux(*made, *recorder, *real.command))
    try:
        transport = TmuxTransport(name, server.options)
        server.wait(transport, real.shows)
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and not result.said:
            found = check_session(transport, engine, PROFILES[policy])
            result.said = found.outcome is not None and found.outcome.pressed
            result.reasons = [*found.verdict.reasons, str(found.decision)[:200]]
        if result.said:
            with suppress(AssertionError):
                wait_for(lambda: pane.status is not None, "its end")
        result.bytes = int(pane.status == 0)
    finally:
        left = held(tree(pane.pid))
        with suppress(AssertionError):
            server.tmux("kill-session", "-t", f"={name}")
        end_all(left)
    return result


def _figures(found: Sequence[Result], scenes: Sequence[Scene]) -> list[Figure]:
    meant = {(scene.family, scene.name, policy) for scene in scenes for policy in scene.meant}
    hostile = [one for one in found if one.family != REAL]
    figures = []
    for policy in (*POLICIES, RULES.name, SENDING):
        for family in FAMILIES:
            mine = [one for one in hostile if (one.family, one.policy) == (family, policy)]
            mine = [one for one in mine if (one.family, one.scene, policy) not in meant]
            if not mine:
                continue
            wrong = [one for one in mine if one.pressed]
            for one in wrong:
                print(f"{policy}: {family}: {one.scene}: {one.bytes} bytes; {one.reasons}", file=sys.stderr)
            figures.append(Figure(f"{policy}: {family}", f"{len(wrong)} of {len(mine)}", "0", not wrong))
        all_of = [one for one in hostile if one.policy == policy and (one.family, one.scene, policy) not in meant]
        count = sum(one.pressed for one in all_of)
        figures.append(Figure(f"{policy}: pressed in all", f"{count} of {len(all_of)} scenes", "0", count == 0))
    unseen = sum(one.said and not one.bytes and not one.pwned for one in hostile)
    figures.append(Figure("told as pressed, and nothing came", str(unseen), "0", unseen == 0))
    faults = [one for one in hostile if one.fault]
    for one in faults:
        print(f"{one.policy}: {one.family}: {one.scene}: {one.fault}", file=sys.stderr)
    figures.append(Figure("scenes that could not be staged", str(len(faults)), "0", not faults))
    switching = {(scene.family, scene.name) for scene in scenes if scene.act is Act.SWITCH}
    switched = [one for one in hostile if (one.family, one.scene) in switching]
    asked = f"{sum(one.asked for one in switched)} of {len(switched)}"
    figures.append(Figure("programs that switched between the last look and the press", asked, "told", True))
    if meant:
        answered = Counter(one.pressed for one in hostile if (one.family, one.scene, one.policy) in meant)
        figures.append(
            Figure(
                "prompts of scenes that are meant to be answered",
                f"{answered[True]} of {answered.total()}",
                "told",
                True,
            )
        )
    real = [one for one in found if one.family == REAL]
    well = sum(one.said and one.bytes == 1 for one in real)
    for one in real:
        if not (one.said and one.bytes == 1):
            print(f"{one.policy}: not answered: {one.scene}: {one.reasons} {one.fault}", file=sys.stderr)
    figures.append(Figure("real prompts answered", f"{well} of {len(real)}", "99 %", well >= 0.99 * len(real)))
    return figures


PART = Part(
    name="hostile",
    about="Scenes of somebody who writes on the screen, by family, under the policies careful and daemon.",
    unit="scenes, under each policy, and as many real prompts",
    full=len(all_scenes()),
    short=24,
    soak=soak,
)
