"""How soon and how often live prompts are told, known and unknown: `python benchmarks/live.py [NAME...] [--at-once N]`.

Plays the scenes of tests/live, each in a real terminal, and looks every 0.3 s.  A row gives the true state, the last
verdict with all installed packs and with none, and the seconds from the moment that the screen went quiet (taken as
the last look that still showed something else) to the first look of each engine that says `waiting`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import define, field
from timing import table

ROOT = Path(__file__).parent.parent
sys.path[0] = str(ROOT / "tests")  # instead of this folder, in which this very file is called live

from live.scene import Scene  # noqa: E402
from live.scenes import SCENES  # noqa: E402
from live.stage import AT_ONCE, Stage, nobody_knows  # noqa: E402

from stallkit import Engine, Snapshot, State, Verdict, judge  # noqa: E402
from stallkit.transports.base import look  # noqa: E402
from stallkit.transports.tmux.pane import TmuxTransport  # noqa: E402

GAP_S = 0.3
LOOK_ON_S = 4.0  # after the last thing that was done to the scene: twice the time in which a prompt is to be told
GIVE_UP_S = 60.0
SOON_S = 2.0
ENGINES = {"known": Engine.default(), "unknown": nobody_knows()}


@define
class Run:
    """All looks at one scene, from its start on, and what both engines made of each."""

    scene: Scene
    started: float
    driven: float | None = None  # when its last step had taken effect
    looks: list[Snapshot] = field(factory=list)
    verdicts: dict[str, list[Verdict]] = field(factory=lambda: {name: [] for name in ENGINES})
    pressed: tuple[str, ...] = ()

    def add(self, seen: Snapshot) -> None:
        history = tuple(self.looks[-1:])
        for name, engine in ENGINES.items():
            self.verdicts[name].append(judge(engine.detect(seen.screen), seen, history))
        self.looks.append(seen)

    @property
    def quiet_from(self) -> int:
        """The first look at the screen as it stayed."""
        last = self.looks[-1].screen.fingerprint
        changes = [at for at, seen in enumerate(self.looks) if seen.screen.fingerprint != last]
        return changes[-1] + 1 if changes else 0

    def told_after(self, engine: str) -> float | None:
        """Seconds from going quiet to the first `waiting` that lasts to the end; None where none does."""
        at = self.quiet_from
        quiet = self._at(at - 1) if at else self.started
        states = [verdict.state for verdict in self.verdicts[engine]]
        if states[-1] is not State.WAITING:
            return None
        first = max((n + 1 for n in range(at, len(states)) if states[n] is not State.WAITING), default=at)
        return self._at(first) - quiet

    def share(self, engine: str) -> float:
        """Of the looks since it was driven there, how many say `waiting`."""
        since = [
            verdict.state is State.WAITING
            for seen, verdict in zip(self.looks, self.verdicts[engine], strict=True)
            if (seen.taken_at or 0.0) > (self.driven or 0.0)
        ]
        return sum(since) / max(1, len(since))

    def _at(self, number: int) -> float:
        taken_at = self.looks[number].taken_at
        assert taken_at is not None
        return taken_at


def play(stage: Stage, run: Run, session: str) -> Run:
    """Drive one scene and look at it all the while."""
    transport = TmuxTransport(session, stage.server.options)
    steps = list(run.scene.steps)
    shows = run.scene.shows
    while True:
        seen = look(transport)
        run.add(seen)
        now = time.monotonic()
        if run.driven is None and shows in seen.screen.text:
            if steps:
                step = steps.pop(0)
                stage.press(session, step)
                shows = step.shows
            else:
                run.driven = now
        if run.driven is not None and now > run.driven + LOOK_ON_S:
            break
        if now > run.started + GIVE_UP_S:
            raise SystemExit(f"{run.scene.name} did not show {shows!r}: {seen.screen.text}")
        time.sleep(GAP_S)
    if run.scene.state is not State.WAITING:
        run.pressed = stage.tempt(transport)
    return run


def row(run: Run) -> list[str]:
    told = {name: run.told_after(name) for name in ENGINES}
    last = {name: verdicts[-1] for name, verdicts in run.verdicts.items()}
    said = [f"{last[name].state} {last[name].certainty}" for name in ENGINES]
    if run.scene.state is State.WAITING:
        said += ["never" if after is None else f"{after:.1f}" for after in told.values()]
    else:
        said += [f"{run.share(name):.0%} of looks" if run.share(name) else "" for name in ENGINES]
    return [run.scene.name, str(run.scene.state), *said, "; ".join(run.pressed[:1])]


def report(runs: list[Run]) -> None:
    table(["scene", "true", "with packs", "without", "told after, s", "without, s", "pressed"], list(map(row, runs)))
    waiting = [run for run in runs if run.scene.state is State.WAITING]
    others = [run for run in runs if run.scene.state is State.WORKING]
    fakes = [run for run in runs if run.scene.fake]
    for name in ENGINES:
        after = [run.told_after(name) for run in waiting]
        soon = sum(seconds is not None and seconds <= SOON_S for seconds in after)
        wrong = sum(run.verdicts[name][-1].state is State.WAITING for run in others)
        print(
            f"{name} prompts: {soon} of {len(waiting)} called waiting within {SOON_S:g} s of going quiet"
            f" ({soon / max(1, len(waiting)):.1%}); {wrong} of {len(others)} at work called waiting at the end"
        )
    pressed = [run.scene.name for run in fakes if run.pressed]
    print(f"keys pressed on {len(fakes)} printed or answered prompts: at {len(pressed)} {pressed or ''}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only scenes whose name contains one of these")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    options = parser.parse_args()
    chosen = [scene for scene in SCENES if not options.names or any(name in scene.name for name in options.names)]
    for scene in chosen:
        if scene.missing:
            print(f"left out: {scene.name}: {scene.missing}", file=sys.stderr)
    able = [scene for scene in chosen if not scene.missing]
    acts = -(-len(able) // options.at_once)
    runs: dict[str, Run] = {}
    with tempfile.TemporaryDirectory(prefix="stallkit-") as folder, contextlib.closing(Stage(Path(folder))) as stage:
        for act in range(acts):
            playing = [(Run(scene, 0.0), f"a{act}n{n}") for n, scene in enumerate(able[act::acts])]
            with ThreadPoolExecutor(len(playing)) as pool:
                played = []
                for run, session in playing:
                    run.started = time.monotonic()
                    stage.start(run.scene, session)
                    played.append(pool.submit(play, stage, run, session))
                runs |= {run.scene.name: run for run in (one.result() for one in played)}
            for _, session in playing:
                stage.end(session)
    report([runs[scene.name] for scene in able])


if __name__ == "__main__":
    main()
