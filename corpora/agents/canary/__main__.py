"""Drives the newest releases of the coding agents through their states, and says how each source tells them.

Each agent (npm) is installed below .cache/agents and driven in tmux against scripted model servers on loopback.  At
each state the truth is compared with the verdict, with what the screen alone says, and with each signal; a watcher
looks once a second, and the time until its verdict says the state is taken.  What differs from the run before is said;
screens that a person should look at are written as todo-*.txt below .cache/canary/screens.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[0] = str(Path(__file__).parents[1])  # corpora/agents, whose modules these are

import others  # noqa: E402  # needs the line above
from rich.console import Console  # noqa: E402

from canary.install import install, version  # noqa: E402
from canary.points import Point, changes  # noqa: E402
from canary.report import as_object, show  # noqa: E402
from canary.stages import Diary  # noqa: E402
from canary.tour import AGENTS, BRIEF, WRAPPERS, Models, program_of, tour  # noqa: E402
from stallkit.packs.registry import installed_engine  # noqa: E402

CACHE = ROOT / ".cache"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/canary", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*AGENTS, *WRAPPERS]
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"of {', '.join(names)}; all unless given")
    parser.add_argument("--installed", action="store_true", help="as they are installed, not the newest")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.add_argument("--held", action="store_true", help="list also the third that nothing is fitted to")
    parser.add_argument("--last", action="store_true", help="drive nothing, show the last run")
    parser.add_argument("--programs", type=Path, default=CACHE / "agents", metavar="DIR", help="their folder")
    parser.add_argument("--kept", type=Path, default=CACHE / "canary", metavar="DIR", help="where runs are kept")
    parser.add_argument("--jobs", type=int, default=2, help="so many agents at a time (2)")
    given = parser.parse_args()
    chosen = given.agents or names
    if unknown := set(chosen) - {*names, BRIEF}:
        parser.error(f"there is no agent {', '.join(sorted(unknown))}")
    kept = given.kept / "last.json"
    before = [Point.of(point) for point in json.loads(kept.read_text())["points"]] if kept.exists() else []
    if given.last:
        points, news = [point for point in before if point.agent in chosen], []
    else:
        if not given.installed:
            for agent in sorted({program_of(name) for name in chosen}):
                install(agent, given.programs)
        points = _drive(chosen, given.jobs, given.programs.absolute(), given.kept)
        news = changes(before, points)
        rest = [point for point in before if point.agent not in {point.agent for point in points}]
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(as_object([*rest, *points], news), ensure_ascii=False, indent=1))
    if given.json:
        print(json.dumps(as_object(points, news), ensure_ascii=False))
    else:
        show(Console(width=None if sys.stdout.isatty() else 220), points, news, given.held)
    return 0


def _drive(chosen: list[str], jobs: int, programs: Path, kept: Path) -> list[Point]:
    engine, models = installed_engine(), Models()
    diaries: dict[str, Diary] = {}
    lock = threading.Lock()

    def told(point: Point) -> None:
        if not point.held_back:
            mark, why = ("LOOK ", f"; {'; '.join(point.reasons)}") if point.wants_a_look else ("ok   ", "")
            said = f"{mark}{point.agent}, {point.name}: {point.state} / {point.verdict}{why}"
            print(said, file=sys.stderr, flush=True)

    def diary(name: str) -> Diary:
        with lock:
            if name not in diaries:
                folder = kept / "screens" / name.replace(" ", "-").replace(",", "")
                diaries[name] = Diary(name, version(program_of(name), programs) or "", folder, engine, told)
            return diaries[name]

    def play(name: str) -> None:
        if version(program_of(name), programs) is None:
            print(f"{name}: it is not installed", file=sys.stderr)
            return
        try:
            tour(name, diary, programs, models)
        except Exception as error:  # the next agent can still succeed
            print(f"{name}: failed: {error!r}", file=sys.stderr, flush=True)

    others.tmux("start-server")
    try:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(play, chosen))
    finally:
        others.tmux("kill-server")
    return [point for name in chosen if name in diaries for point in diaries[name].points]


if __name__ == "__main__":
    sys.exit(main())
